UPDATE runs SET run_dir = ?2 WHERE run_id = ?1;
