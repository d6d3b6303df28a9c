-- Runs that have not ended, as their rows say, and that nobody holds. A run that was imported and never resumed has no
-- directory of its own, and is history.
SELECT run_id
FROM runs
WHERE run_dir IS NOT NULL
  AND coalesce(finished_at, '') = ''
  AND status IN ('started', 'planning', 'dispatching', 'result-processing', 'synthesizing', 'handoff',
                 'artifact-collection', 'running')
  AND NOT EXISTS (SELECT 1 FROM locks WHERE locks.run_id = runs.run_id)
  AND NOT EXISTS (SELECT 1 FROM removals WHERE removals.run_id = runs.run_id)
ORDER BY run_number DESC
LIMIT :most;
