-- The newest receipt that comes after the checkpoint at :sequence.
SELECT after_sequence, sha256, receipt
FROM recoveries
WHERE run_id = :run_id AND after_sequence >= :sequence
ORDER BY after_sequence DESC
LIMIT 1;
