UPDATE runs SET run_dir = ?2, workspace = ?3 WHERE run_id = ?1;
