SELECT event_digest(line) FROM events WHERE run_id = :run_id AND sequence = :sequence;
