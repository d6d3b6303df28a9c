-- Keeps that a pending report was found stale, as for rounds.
UPDATE pending_reports SET expired_at = coalesce(expired_at, ?2) WHERE pending_number = ?1;
