DELETE FROM quarantine WHERE run_id = :run_id;
