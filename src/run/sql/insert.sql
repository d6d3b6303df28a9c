INSERT INTO runs (run_id, created_at, run_dir, workspace) VALUES (?1, ?2, ?3, ?4);
