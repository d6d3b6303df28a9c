-- The run that a whole journal is of, as its last line says.
SELECT line ->> '$.run_id'
FROM events
WHERE run_id = :run_id
ORDER BY sequence DESC
LIMIT 1;
