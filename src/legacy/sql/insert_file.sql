INSERT INTO imported_files (run_id, path, mode, sha256, body) VALUES (:run_id, :path, :mode, :sha256, :body);
