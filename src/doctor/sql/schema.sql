-- Everything in the schema that SQLite did not make itself. Statistics (ANALYZE) are an operator's own.
SELECT name, type, tbl_name, coalesce(sql, '')
FROM sqlite_schema
WHERE name NOT LIKE 'sqlite\_autoindex\_%' ESCAPE '\' AND name NOT IN ('sqlite_stat1', 'sqlite_stat4')
ORDER BY name, type;
