-- The latest checkpoint event of a whole journal: where it is, what it names, and the rule that its payload breaks. What a
-- payload that breaks one names may have any type, so it is left out.
SELECT sequence,
       CASE WHEN fault IS NULL THEN line ->> '$.payload.sha256' END,
       fault
FROM (SELECT sequence, line, checkpoint_fault(line, :max_bytes) AS fault
      FROM events
      WHERE run_id = :run_id AND line ->> '$.event_type' = 'run.snapshot.checkpointed'
      ORDER BY sequence DESC
      LIMIT 1);
