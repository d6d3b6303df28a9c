-- Every lock, and whether its run is there.
SELECT run_id, EXISTS (SELECT 1 FROM runs WHERE runs.run_id = locks.run_id)
FROM locks
ORDER BY acquired_at, workspace;
