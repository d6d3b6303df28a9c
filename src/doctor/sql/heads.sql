-- The head of every journal: its last sequence and the digest of its last event, computed anew.
SELECT run_id, max(sequence), event_digest(line)
FROM events
WHERE run_id IS NOT NULL AND sequence IS NOT NULL
GROUP BY run_id;
