-- Keeps that a round was found stale: a clock that goes back must not make it fresh.
UPDATE rounds SET expired_at = coalesce(expired_at, ?2) WHERE bundle_id = ?1;
