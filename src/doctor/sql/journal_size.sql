-- Events and bytes of a journal, newlines counted; no line is parsed.
SELECT count(*), coalesce(sum(length(CAST(line AS BLOB)) + 1), 0)
FROM events
WHERE run_id = :run_id;
