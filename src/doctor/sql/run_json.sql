-- What the bytes of run.json are to a run whose latest checkpoint, at :sequence, is valid.
--
-- The last snapshot is that checkpoint's bytes, or those of a receipt that came after it.
WITH checkpoint AS (
    SELECT body FROM checkpoints WHERE sha256 = :sha256
),
after AS (
    SELECT CAST(receipt AS BLOB) AS body
    FROM recoveries
    WHERE run_id = :run_id AND after_sequence >= :sequence
    ORDER BY after_sequence DESC, recovery_number DESC
    LIMIT 1
)
SELECT CASE
           WHEN matches_receipt((SELECT body FROM checkpoint), :run_json) THEN 'receipt'
           WHEN :run_json = coalesce((SELECT body FROM after), (SELECT body FROM checkpoint)) THEN 'last snapshot'
           WHEN EXISTS (SELECT 1 FROM events
                        WHERE run_id = :run_id AND line ->> '$.event_type' = 'run.snapshot.checkpointed'
                          AND line ->> '$.payload.sha256' = sha256(:run_json)) THEN 'behind'
           WHEN EXISTS (SELECT 1 FROM recoveries
                        WHERE run_id = :run_id AND after_sequence > 0 AND recoveries.sha256 = sha256(receipt)
                          AND CAST(receipt AS BLOB) = :run_json) THEN 'behind'
           ELSE 'unknown'
       END;
