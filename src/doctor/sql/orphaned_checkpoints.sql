-- Checkpoints that no event names, and whether retention may take them: only a removed run leaves some behind.
SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0), EXISTS (SELECT 1 FROM removals)
FROM checkpoints
WHERE NOT EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = checkpoints.sha256);
