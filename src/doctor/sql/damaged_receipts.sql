-- Receipts that are not what their row says, or of a run that is not there.
SELECT run_id, recovery_number, fault
FROM (SELECT run_id, recovery_number,
             CASE
                 WHEN NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = recoveries.run_id)
                     THEN 'there is no such run'
                 WHEN sha256(receipt) <> sha256 THEN 'its bytes have another digest'
                 WHEN byte_size <> length(CAST(receipt AS BLOB)) THEN 'its byte_size is not the number of its bytes'
                 WHEN snapshot_fault(receipt) IS NOT NULL THEN snapshot_fault(receipt)
                 WHEN recovered_at IS NOT snapshot_text(receipt, 'failure', 'recovered_at')
                     THEN 'its recovered_at is not the one in its bytes'
                 WHEN prior_status IS NOT snapshot_text(receipt, 'failure', 'prior_status')
                     THEN 'its prior_status is not the one in its bytes'
                 WHEN owner_pid IS NOT snapshot_integer(receipt, 'failure', 'owner_pid')
                     THEN 'its owner_pid is not the one in its bytes'
             END AS fault
      FROM recoveries)
WHERE fault IS NOT NULL
ORDER BY recovery_number
LIMIT :most;
