UPDATE pending_reports SET finalized_at = ?2 WHERE pending_number = ?1 AND finalized_at IS NULL;
