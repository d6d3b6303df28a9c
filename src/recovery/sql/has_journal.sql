-- Whether the run has a journal: it was activated, or there are events, whatever its row says.
SELECT journaled_at IS NOT NULL OR EXISTS (SELECT 1 FROM events WHERE events.run_id = runs.run_id)
FROM runs
WHERE run_id = :run_id;
