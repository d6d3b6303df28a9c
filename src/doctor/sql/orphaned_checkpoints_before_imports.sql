-- Checkpoints that no event names, in a store that knows no imports yet (schema version 4 and before).
SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0)
FROM checkpoints
WHERE NOT EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = checkpoints.sha256);
