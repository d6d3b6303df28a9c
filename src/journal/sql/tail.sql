SELECT sequence, event_digest, journal_bytes, line FROM events WHERE run_id = ?1 ORDER BY sequence DESC LIMIT 1;
