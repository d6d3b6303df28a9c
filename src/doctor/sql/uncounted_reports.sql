-- Reports that were finalized and that name topics, none of which the queue counts under their run_ref.
SELECT pending_number
FROM pending_reports
WHERE finalized_at IS NOT NULL AND mock = 0
  AND NOT EXISTS (SELECT 1 FROM queue_counts WHERE queue_counts.run_ref = pending_reports.run_ref)
  AND names_topics(body)
ORDER BY pending_number
LIMIT :most;
