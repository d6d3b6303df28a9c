-- A topic of the queue, where it is not there yet.
INSERT INTO queue (normalized_name, name, domain)
SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM queue WHERE normalized_name = ?1);
