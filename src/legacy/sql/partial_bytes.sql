SELECT bytes FROM quarantine WHERE run_id = :run_id AND name = :name;
