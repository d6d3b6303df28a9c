SELECT outcome, category, sequence, event_digest, shadow_digest, projected_digest, differing_fields, recorded_at, diagnostic
FROM shadow_records WHERE run_id = ?1 ORDER BY record_number;
