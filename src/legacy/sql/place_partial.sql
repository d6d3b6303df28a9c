INSERT INTO quarantine (run_id, whole_lines, at_end) VALUES (:run_id, :whole_lines, 1);
