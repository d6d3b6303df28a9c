-- The journal, line by line. The sequence is the row's own, so that it can be compared with the line's.
SELECT sequence, line FROM events WHERE run_id = :run_id ORDER BY sequence;
