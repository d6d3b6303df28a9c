INSERT INTO shadow_records (run_id, record_number, outcome, category, sequence, event_digest, shadow_digest,
                            projected_digest, differing_fields, recorded_at, diagnostic)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11);
