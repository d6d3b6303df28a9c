-- The current round, if there is one, and whether it may be: no later round exists.
SELECT bundle_id, generated_at, mock, nomination_count, head, sha256, expired_at IS NOT NULL AS expired,
       round_number = (SELECT max(round_number) FROM rounds) AS may_be_current
FROM rounds
WHERE superseded_at IS NULL;
