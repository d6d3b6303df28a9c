INSERT INTO events (run_id, sequence, line) VALUES (:run_id, :sequence, :line);
