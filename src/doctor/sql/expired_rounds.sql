-- The current round, where its host has taken longer than the protocol allows and the report was never given.
SELECT rounds.bundle_id
FROM rounds
LEFT JOIN pending_reports AS pending
    ON pending.bundle_id = rounds.bundle_id AND pending.superseded_at IS NULL
WHERE rounds.superseded_at IS NULL
  AND pending.finalized_at IS NULL
  AND (coalesce(pending.expired_at, CASE WHEN pending.pending_number IS NULL THEN rounds.expired_at END) IS NOT NULL
       OR unixepoch(coalesce(pending.generated_at, rounds.generated_at)) + :ttl < unixepoch(:now));
