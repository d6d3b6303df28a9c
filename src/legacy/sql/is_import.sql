SELECT EXISTS (SELECT 1 FROM imports WHERE run_id = :run_id);
