SELECT path, mode, sha256 FROM imported_files WHERE run_id = :run_id ORDER BY path;
