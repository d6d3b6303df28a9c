-- What the handoff has stored that is not what its digest says, or whose columns are not what it says itself.
SELECT 'the head of round ' || bundle_id
FROM rounds
WHERE sha256(head) <> sha256
   OR bundle_id IS NOT snapshot_text(head, 'bundle_id')
   OR generated_at IS NOT snapshot_text(head, 'generated_at')
   OR mock <> snapshot_is_true(head, 'mock')
   OR nomination_count <> (SELECT count(*) FROM nominations WHERE nominations.bundle_id = rounds.bundle_id)
UNION ALL
SELECT 'nomination ' || position || ' of round ' || bundle_id
FROM nominations
WHERE sha256(body) <> sha256 OR token_text(body, 'id') IS NOT nomination_id
UNION ALL
SELECT 'the judgment of ' || nomination_id || ' at attempt ' || attempt || ' of round ' || bundle_id
FROM judgments
WHERE NOT judgment_is(body, name, junk, worthiness)
UNION ALL
SELECT 'the angle of ' || nomination_id || ' at attempt ' || attempt || ' of pending report ' || pending_number
FROM angles
WHERE NOT angle_is(body, podcast, x_article)
UNION ALL
SELECT 'the pending report ' || pending_number || ' of round ' || bundle_id
FROM pending_reports
WHERE sha256(body) <> sha256
   OR bundle_id IS NOT snapshot_text(body, 'bundle_id')
   OR generated_at IS NOT snapshot_text(body, 'generated_at')
   OR run_ref IS NOT snapshot_text(body, 'run_ref')
   OR mock <> snapshot_is_true(body, 'mock')
   OR input_count <> (SELECT count(*) FROM angle_inputs
                      WHERE angle_inputs.pending_number = pending_reports.pending_number)
UNION ALL
SELECT 'angle input ' || position || ' of pending report ' || pending_number
FROM angle_inputs
WHERE sha256(body) <> sha256
LIMIT :most;
