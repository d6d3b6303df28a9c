INSERT INTO runs (run_id, created_at, journaled_at) VALUES (?1, ?2, ?3);
