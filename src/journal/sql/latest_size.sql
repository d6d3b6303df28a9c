-- The size of a run's latest checkpoint, whatever else is wrong with the journal.
SELECT length(CAST(body AS BLOB))
FROM checkpoints
WHERE sha256 = (SELECT checkpoint_sha256 FROM events
                WHERE run_id = :run_id AND checkpoint_sha256 IS NOT NULL
                ORDER BY sequence DESC
                LIMIT 1);
