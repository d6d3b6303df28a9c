-- What status says of the current pending report.
SELECT generated_at, run_ref, expired_at IS NOT NULL AS expired, finalized_at
FROM pending_reports
WHERE superseded_at IS NULL;
