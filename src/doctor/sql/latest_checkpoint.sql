-- The latest checkpoint event of a whole journal: where it is, what it names, and the rule that its payload breaks.
SELECT sequence,
       line ->> '$.payload.sha256',
       checkpoint_fault(line, :max_bytes)
FROM events
WHERE run_id = :run_id AND line ->> '$.event_type' = 'run.snapshot.checkpointed'
ORDER BY sequence DESC
LIMIT 1;
