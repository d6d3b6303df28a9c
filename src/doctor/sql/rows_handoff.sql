-- Rows of the handoff that contradict each other. No body is read.
SELECT 'round ' || bundle_id || ' is current, and a later round exists'
FROM rounds
WHERE superseded_at IS NULL AND round_number < (SELECT max(round_number) FROM rounds)
UNION ALL
SELECT 'pending report ' || pending_number || ' is current, and a later one exists'
FROM pending_reports
WHERE superseded_at IS NULL AND pending_number < (SELECT max(pending_number) FROM pending_reports)
UNION ALL
SELECT 'pending report ' || pending_number || ' is current, and its round is not'
FROM pending_reports
WHERE superseded_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM rounds
                  WHERE rounds.bundle_id = pending_reports.bundle_id AND rounds.superseded_at IS NULL)
UNION ALL
SELECT 'pending report ' || pending_number || ' and its round differ in mock'
FROM pending_reports JOIN rounds USING (bundle_id)
WHERE pending_reports.mock <> rounds.mock
UNION ALL
SELECT 'pending report ' || pending_number || ' is of a round without judgments'
FROM pending_reports
WHERE NOT EXISTS (SELECT 1 FROM judgments WHERE judgments.bundle_id = pending_reports.bundle_id)
UNION ALL
SELECT 'round ' || bundle_id || ': mock, nomination_count or nothing_solid is out of range'
FROM rounds
WHERE mock NOT IN (0, 1) OR nomination_count < 1 OR round_number < 1
   OR nothing_solid NOT BETWEEN 1 AND (SELECT coalesce(max(attempt), 0) FROM judgments
                                       WHERE judgments.bundle_id = rounds.bundle_id)
UNION ALL
SELECT 'pending report ' || pending_number || ': mock, input_count or run_ref is out of range'
FROM pending_reports
WHERE mock NOT IN (0, 1) OR input_count < 1 OR run_ref = '' OR pending_number < 1
UNION ALL
SELECT 'nomination ' || nomination_id || ' of round ' || bundle_id || ': its position is out of range'
FROM nominations JOIN rounds USING (bundle_id)
WHERE position NOT BETWEEN 1 AND nomination_count OR nomination_number < 1
UNION ALL
SELECT 'angle input ' || nomination_id || ' of pending report ' || pending_number || ': its position is out of range'
FROM angle_inputs JOIN pending_reports USING (pending_number)
WHERE position NOT BETWEEN 1 AND input_count
UNION ALL
SELECT 'angle input ' || nomination_id || ' of pending report ' || pending_number || ': its round has no such nomination'
FROM angle_inputs JOIN pending_reports USING (pending_number)
WHERE NOT EXISTS (SELECT 1 FROM nominations
                  WHERE nominations.bundle_id = pending_reports.bundle_id
                    AND nominations.nomination_id = angle_inputs.nomination_id)
UNION ALL
SELECT 'the judgments of round ' || bundle_id || ' are not numbered 1, 2, and so on'
FROM judgments
GROUP BY bundle_id
HAVING min(attempt) <> 1 OR max(attempt) <> count(DISTINCT attempt)
UNION ALL
SELECT 'the angles of pending report ' || pending_number || ' are not numbered 1, 2, and so on'
FROM angles
GROUP BY pending_number
HAVING min(attempt) <> 1 OR max(attempt) <> count(DISTINCT attempt)
UNION ALL
SELECT 'a judgment of round ' || bundle_id || ': junk or worthiness is out of range'
FROM judgments
WHERE junk NOT IN (0, 1) OR worthiness NOT BETWEEN 0 AND 100
UNION ALL
SELECT 'topic ' || name || ': its key is not its normalized name'
FROM queue
WHERE normalized_name IS NOT normalized_name(name)
UNION ALL
SELECT 'topic ' || name || ' was surfaced by no run'
FROM queue
WHERE NOT EXISTS (SELECT 1 FROM queue_counts WHERE queue_counts.normalized_name = queue.normalized_name)
UNION ALL
SELECT 'topic ' || normalized_name || ' was counted for ' || run_ref || ', and no report has this run_ref'
FROM queue_counts
WHERE NOT EXISTS (SELECT 1 FROM pending_reports WHERE pending_reports.run_ref = queue_counts.run_ref)
LIMIT :most;
