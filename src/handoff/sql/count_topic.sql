-- One count a (name, run_ref).
INSERT INTO queue_counts (normalized_name, run_ref, surfaced_at)
SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM queue_counts WHERE normalized_name = ?1 AND run_ref = ?2);
