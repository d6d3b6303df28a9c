-- The queue: what is not covered first, then the latest.
SELECT queue.name, queue.normalized_name, queue.domain, queue.covered_at,
       count(queue_counts.run_ref) AS surface_count,
       min(queue_counts.surfaced_at) AS first_surfaced,
       max(queue_counts.surfaced_at) AS last_surfaced
FROM queue
LEFT JOIN queue_counts USING (normalized_name)
GROUP BY queue.normalized_name
ORDER BY queue.covered_at IS NOT NULL, last_surfaced DESC, queue.normalized_name;
