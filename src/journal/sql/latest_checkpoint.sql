SELECT sequence, checkpoint_sha256, paired_event_type
FROM events
WHERE run_id = ?1 AND (event_type = 'run.snapshot.checkpointed') = 1 AND sequence <= ?2
ORDER BY sequence DESC
LIMIT 1;
