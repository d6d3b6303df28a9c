SELECT 1 FROM events WHERE run_id = ?1 AND (event_type = 'run.snapshot.checkpointed') = 0 LIMIT 1;
