-- The column of a run's row that does not say what the run's last snapshot says.
WITH last AS (
    SELECT coalesce((SELECT receipt FROM recoveries
                     WHERE run_id = :run_id AND after_sequence >= :sequence AND recoveries.sha256 = sha256(receipt)
                     ORDER BY after_sequence DESC, recovery_number DESC
                     LIMIT 1),
                    (SELECT body FROM checkpoints WHERE sha256 = :sha256)) AS body
)
SELECT CASE
           WHEN status IS NOT snapshot_text(body, 'status') THEN 'status'
           WHEN task IS NOT snapshot_text(body, 'task') THEN 'task'
           WHEN started_at IS NOT snapshot_text(body, 'started_at') THEN 'started_at'
           WHEN status_started_at IS NOT snapshot_text(body, 'status_started_at') THEN 'status_started_at'
           WHEN finished_at IS NOT snapshot_text(body, 'finished_at') THEN 'finished_at'
       END
FROM runs, last
WHERE run_id = :run_id;
