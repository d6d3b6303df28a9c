UPDATE runs SET journaled_at = ?2 WHERE run_id = ?1 AND journaled_at IS NULL;
