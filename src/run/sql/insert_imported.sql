INSERT INTO runs (run_id, created_at) VALUES (?1, ?2);
