-- Everything in the schema but statistics (ANALYZE), which are an operator's own.
SELECT name, type, tbl_name, coalesce(sql, '')
FROM sqlite_schema
WHERE name NOT IN ('sqlite_stat1', 'sqlite_stat4')
ORDER BY name, type;
