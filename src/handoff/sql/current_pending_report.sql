-- The current pending report, where there is one.
SELECT pending_number, bundle_id, generated_at, run_ref, mock, input_count, body, sha256,
       expired_at IS NOT NULL AS expired
FROM pending_reports
WHERE superseded_at IS NULL;
