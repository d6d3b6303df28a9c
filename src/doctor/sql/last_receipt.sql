-- The fault of the receipt that is a run's last snapshot, whose latest checkpoint is at :sequence; null: it has none.
-- No row: no receipt came after that checkpoint.
SELECT CASE
           WHEN after_sequence <> (SELECT max(sequence) FROM events WHERE run_id = :run_id)
               THEN 'it was not made at the end of the journal'
           ELSE receipt_fault(receipt, sha256, byte_size, recovered_at, owner_pid, prior_status,
                              (SELECT body FROM checkpoints WHERE sha256 = :sha256))
       END
FROM recoveries
WHERE run_id = :run_id AND after_sequence >= :sequence
ORDER BY after_sequence DESC, recovery_number DESC
LIMIT 1;
