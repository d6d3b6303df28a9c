UPDATE pending_reports SET finalized_at = coalesce(finalized_at, ?2) WHERE pending_number = ?1;
