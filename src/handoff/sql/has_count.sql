SELECT EXISTS (SELECT 1 FROM queue_counts WHERE normalized_name = ?1 AND run_ref = ?2);
