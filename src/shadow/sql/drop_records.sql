DELETE FROM shadow_records WHERE run_id = ?1 AND record_number <= ?2;
