-- The first event of a whole journal whose row says something else beside the line than the line itself.
SELECT place
FROM (SELECT line, run_id, sequence, journal_bytes,
             row_number() OVER in_order AS place,
             sum(length(CAST(line AS BLOB)) + 1) OVER in_order AS bytes_so_far
      FROM events
      WHERE run_id = :run_id
      WINDOW in_order AS (ORDER BY sequence, event_number))
WHERE run_id <> line ->> '$.run_id' OR sequence <> place OR journal_bytes <> bytes_so_far
ORDER BY place
LIMIT 1;
