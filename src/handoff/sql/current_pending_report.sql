-- The current pending report, if there is one, and whether it may be: its round is current and no later report exists.
SELECT pending_number, bundle_id, generated_at, run_ref, mock, input_count, body, sha256,
       expired_at IS NOT NULL AS expired,
       EXISTS (SELECT 1 FROM rounds
               WHERE rounds.bundle_id = pending_reports.bundle_id AND rounds.superseded_at IS NULL)
       AND pending_number = (SELECT max(pending_number) FROM pending_reports) AS may_be_current
FROM pending_reports
WHERE superseded_at IS NULL;
