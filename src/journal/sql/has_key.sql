SELECT 1 FROM events WHERE run_id = ?1 AND idempotency_key = ?2;
