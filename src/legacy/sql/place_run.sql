INSERT INTO runs (run_id) VALUES (:run_id);
