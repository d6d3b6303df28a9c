DELETE FROM imported_files WHERE run_id = :run_id;
