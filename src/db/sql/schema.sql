-- The tables and triggers of the file.
SELECT type, name, tbl_name, coalesce(sql, '')
FROM sqlite_schema
WHERE type IN ('table', 'trigger');
