SELECT name, whole_lines, at_end, sha256 FROM quarantine WHERE run_id = :run_id ORDER BY name;
