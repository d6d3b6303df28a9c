SELECT after_sequence, sha256, receipt
FROM recoveries
WHERE run_id = ?1 AND after_sequence > 0
ORDER BY after_sequence DESC
LIMIT 1;
