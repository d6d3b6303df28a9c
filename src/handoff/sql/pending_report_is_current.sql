SELECT EXISTS (SELECT 1 FROM pending_reports WHERE pending_number = ?1 AND superseded_at IS NULL);
