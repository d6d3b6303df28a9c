-- The column of a run's row that does not say what the run's last snapshot says.
WITH last AS (
    SELECT coalesce((SELECT receipt FROM recoveries
                     WHERE run_id = :run_id AND after_sequence >= :sequence
                     ORDER BY after_sequence DESC, recovery_number DESC
                     LIMIT 1),
                    (SELECT body FROM checkpoints WHERE sha256 = :sha256)) AS body
)
SELECT snapshot_differs(body, 'status', status, 'task', task, 'started_at', started_at,
                        'status_started_at', status_started_at, 'finished_at', finished_at)
FROM runs, last
WHERE run_id = :run_id;
