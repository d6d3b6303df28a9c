-- The current round, where there is one.
SELECT bundle_id, generated_at, mock, nomination_count, head, sha256, expired_at IS NOT NULL AS expired
FROM rounds
WHERE superseded_at IS NULL;
