-- Whether the latest checkpoint accounts for the end of its journal: no event follows, or exactly one, of the paired type,
-- that tells the status of its snapshot (seed recovery-checkpoints.txt, Coverage semantics).
WITH latest AS (
    SELECT sequence, line ->> '$.payload.paired_event_type' AS paired
    FROM events
    WHERE run_id = :run_id AND line ->> '$.event_type' = 'run.snapshot.checkpointed'
    ORDER BY sequence DESC
    LIMIT 1
),
tail AS (
    SELECT events.line, latest.paired
    FROM latest
    JOIN events ON events.run_id = :run_id AND events.sequence > latest.sequence
    LIMIT 2
)
SELECT CASE
           WHEN NOT EXISTS (SELECT 1 FROM latest) THEN 0
           WHEN (SELECT count(*) FROM tail) = 0 THEN 1
           WHEN (SELECT count(*) FROM tail) = 1
               THEN (SELECT line ->> '$.event_type' IS paired AND event_status(line) IS :status
                            AND event_status(line) IS NOT NULL
                     FROM tail)
           ELSE 0
       END;
