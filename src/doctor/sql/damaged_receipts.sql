-- Receipts that break the rule of a receipt, or of a run that is not there.
SELECT run_id, recovery_number, fault
FROM (SELECT run_id, recovery_number,
             CASE
                 WHEN NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = recoveries.run_id)
                     THEN 'there is no such run'
                 WHEN after_sequence < 0
                      OR (after_sequence > 0 AND NOT EXISTS (SELECT 1 FROM events
                                                             WHERE events.run_id = recoveries.run_id
                                                               AND events.sequence = after_sequence))
                     THEN 'the journal has no event of its after_sequence'
                 ELSE receipt_fault(receipt, sha256, byte_size, recovered_at, owner_pid, prior_status,
                                    (SELECT body FROM checkpoints
                                     WHERE checkpoints.sha256 = (SELECT checkpoint_sha256 FROM events
                                                                 WHERE events.run_id = recoveries.run_id
                                                                   AND events.sequence <= after_sequence
                                                                   AND checkpoint_sha256 IS NOT NULL
                                                                 ORDER BY events.sequence DESC
                                                                 LIMIT 1)))
             END AS fault
      FROM recoveries)
WHERE fault IS NOT NULL
ORDER BY recovery_number
LIMIT :most;
