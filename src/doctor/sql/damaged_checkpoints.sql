-- Checkpoints whose bytes are not those of their digest, and digests that an event names and nothing is stored under.
SELECT sha256,
       (SELECT min(run_id) FROM events WHERE checkpoint_sha256 = checkpoints.sha256),
       CASE WHEN sha256(body) <> sha256 THEN 'its bytes have another digest (collision-mismatch)'
            ELSE 'its byte_size is not the number of its bytes' END
FROM checkpoints
WHERE sha256(body) <> sha256 OR byte_size <> length(CAST(body AS BLOB))
UNION ALL
SELECT checkpoint_sha256, min(run_id), 'the store does not hold it'
FROM events
WHERE checkpoint_sha256 IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE checkpoints.sha256 = events.checkpoint_sha256)
GROUP BY checkpoint_sha256
ORDER BY 1
LIMIT :most;
