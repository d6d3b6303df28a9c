DELETE FROM shadow_evidence WHERE run_id = ?1;
