-- Shadow evidence that contradicts itself, its run or its journal: one line for each run.
WITH kept AS (
    SELECT run_id,
           count(*) AS records, min(record_number) AS first, max(record_number) AS last,
           sum(outcome = 'match') AS matches, sum(outcome = 'mismatch') AS mismatches,
           sum(outcome = 'lag') AS lags, sum(outcome = 'error') AS errors,
           sum(outcome NOT IN ('match', 'mismatch', 'lag', 'error') OR (outcome = 'error') <> (category IS NOT NULL)
               OR (outcome = 'match' AND (shadow_digest <> projected_digest OR differing_fields <> '[]'))
               OR NOT json_valid(differing_fields)) AS odd,
           sum(event_digest IS NOT NULL
               AND event_digest IS NOT (SELECT events.event_digest FROM events
                                        WHERE events.run_id = shadow_records.run_id
                                          AND events.sequence = shadow_records.sequence)) AS elsewhere
    FROM shadow_records
    GROUP BY run_id
)
SELECT 'run ' || run_id || ': ' ||
       CASE
           WHEN NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = evidence.run_id) THEN 'the store does not have it'
           WHEN comparisons <> evidence.matches + evidence.mismatches + evidence.lags + evidence.errors
                OR min(evidence.matches, evidence.mismatches, evidence.lags, evidence.errors) < 0
               THEN 'the counts do not add up'
           WHEN comparisons > 0 AND last IS NOT comparisons OR first < 1 OR records <> last - first + 1
               THEN 'the kept records are not the last ones'
           WHEN kept.matches > evidence.matches OR kept.mismatches > evidence.mismatches
                OR kept.lags > evidence.lags OR kept.errors > evidence.errors
               THEN 'the kept records contradict the counts'
           WHEN first = 1 AND records <> comparisons THEN 'the kept records contradict the counts'
           WHEN (told_status IS NOT NULL) + (refused_sequence IS NOT NULL) + (journal_fault IS NOT NULL) > 1
                OR (told_status IS NOT NULL AND NOT EXISTS (SELECT 1 FROM event_statuses WHERE status = told_status))
                OR (refused_sequence IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM events
                                    WHERE events.run_id = evidence.run_id AND events.sequence = refused_sequence))
               THEN 'what the journal told last is not valid'
           WHEN odd > 0 THEN 'a kept record contradicts itself'
           WHEN elsewhere > 0 THEN 'a kept record names an event that the journal does not have'
       END AS fault
FROM shadow_evidence AS evidence LEFT JOIN kept USING (run_id)
WHERE fault IS NOT NULL
UNION ALL
SELECT DISTINCT 'run ' || run_id || ': a record without evidence'
FROM shadow_records
WHERE NOT EXISTS (SELECT 1 FROM shadow_evidence WHERE shadow_evidence.run_id = shadow_records.run_id)
LIMIT :most;
