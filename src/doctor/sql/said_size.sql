-- The size that a checkpoint event says, or that of the bytes where those are more.
SELECT max(CAST(line ->> '$.payload.byte_size' AS INTEGER),
           coalesce((SELECT length(CAST(body AS BLOB)) FROM checkpoints WHERE sha256 = line ->> '$.payload.sha256'), 0))
FROM events
WHERE run_id = :run_id AND sequence = :sequence;
