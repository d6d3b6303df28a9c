-- The newest receipt that comes after the checkpoint at :sequence.
SELECT after_sequence, sha256, byte_size, recovered_at, owner_pid, prior_status, CAST(receipt AS BLOB)
FROM recoveries
WHERE run_id = :run_id AND after_sequence >= :sequence
ORDER BY after_sequence DESC
LIMIT 1;
