INSERT INTO pending_reports (bundle_id, generated_at, run_ref, mock, input_count, body, sha256)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
