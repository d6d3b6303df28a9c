UPDATE pending_reports SET superseded_at = ?1 WHERE superseded_at IS NULL;
