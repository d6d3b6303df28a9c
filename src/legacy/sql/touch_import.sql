UPDATE imports SET imported_at = :now WHERE run_id = :run_id;
