INSERT INTO queue_counts (normalized_name, run_ref, surfaced_at) VALUES (?1, ?2, ?3);
