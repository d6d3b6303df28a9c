SELECT line FROM events WHERE run_id = ?1 AND sequence > ?2 ORDER BY sequence LIMIT ?3;
