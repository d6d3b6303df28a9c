-- A round by its bundle's id, superseded or not.
SELECT bundle_id, generated_at, mock, nomination_count, head, sha256, expired_at IS NOT NULL AS expired, 1 AS may_be_current
FROM rounds
WHERE bundle_id = ?1;
