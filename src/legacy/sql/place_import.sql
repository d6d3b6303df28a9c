INSERT INTO imports (run_id) VALUES (:run_id);
