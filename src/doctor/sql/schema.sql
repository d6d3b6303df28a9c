-- Everything in the schema, what other programs and ANALYZE made too.
SELECT name, type, tbl_name, coalesce(sql, '')
FROM sqlite_schema
ORDER BY name, type;
