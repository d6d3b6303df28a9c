-- Events whose run is not there.
SELECT count(*), min(event_number)
FROM events
WHERE run_id IS NULL OR NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = events.run_id);
