INSERT INTO imports (run_id, imported_at) VALUES (:run_id, :now);
