-- The first line of a journal that breaks a rule of the chain, and the rule.
--
-- Only the line is asked: event_fault computes its digests anew, link_holds compares it with the one before. What stands
-- beside the line in the row orders the lines and nothing more.
WITH journal AS (
    SELECT row_number() OVER in_order AS place, line, lag(line) OVER in_order AS line_before,
           event_number, sequence
    FROM events
    WHERE run_id = :run_id
    WINDOW in_order AS (ORDER BY sequence, event_number)
),
keyed AS (
    SELECT *, row_number() OVER (PARTITION BY CASE WHEN json_valid(line) THEN line -> '$.idempotency_key' END
                                 ORDER BY sequence, event_number) AS uses_of_key
    FROM journal
)
SELECT place,
       CASE
           WHEN event_fault(line) IS NOT NULL THEN event_fault(line)
           WHEN line ->> '$.sequence' <> place THEN 'the sequence is not ' || place
           WHEN NOT link_holds(line_before, line) THEN 'previous_digest is not the event_digest before it'
           WHEN place > 1 AND line ->> '$.run_id' <> line_before ->> '$.run_id'
               THEN 'the run_id is not that of the lines before it'
           WHEN uses_of_key > 1 THEN 'the idempotency_key stands in an earlier line'
       END AS fault
FROM keyed
WHERE fault IS NOT NULL
ORDER BY place
LIMIT 1;
