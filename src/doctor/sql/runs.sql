-- The newest runs. A run has a journal where it was activated or has events, whatever its row says.
SELECT run_id,
       run_dir,
       journaled_at IS NOT NULL OR EXISTS (SELECT 1 FROM events WHERE events.run_id = runs.run_id)
FROM runs
ORDER BY run_number DESC
LIMIT :most;
