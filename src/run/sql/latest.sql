SELECT run_id, created_at, run_dir, workspace, journaled_at, status, task, started_at, status_started_at, finished_at,
       run_number
FROM runs ORDER BY run_number DESC LIMIT 1;
