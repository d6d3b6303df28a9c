INSERT INTO imported_files (run_id, path, body) VALUES (:run_id, 'run.json', :body);
