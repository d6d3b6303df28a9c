UPDATE locks SET last_write_at = :last_write_at WHERE run_id = :run_id
