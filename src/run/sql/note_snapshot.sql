UPDATE runs
SET status = ?2, task = ?3, started_at = ?4, status_started_at = ?5, finished_at = ?6
WHERE run_id = ?1;
