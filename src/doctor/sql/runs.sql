-- The runs to judge: the newest, and each other one that is locked or whose row says that it has not ended. A run has a
-- journal where it was activated or has events, whatever its row says.
SELECT run_id,
       run_dir,
       journaled_at IS NOT NULL OR EXISTS (SELECT 1 FROM events WHERE events.run_id = runs.run_id)
FROM runs
WHERE run_number IN (SELECT run_number FROM runs ORDER BY run_number DESC LIMIT :most)
   OR EXISTS (SELECT 1 FROM locks WHERE locks.run_id = runs.run_id)
   OR (coalesce(finished_at, '') = ''
       AND status IN ('started', 'planning', 'dispatching', 'result-processing', 'synthesizing', 'handoff',
                      'artifact-collection', 'running'))
ORDER BY run_number DESC;
