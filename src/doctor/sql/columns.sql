-- Each column of each table of the schema: its kind, whether it needs a value, whether it names the row, whether it is derived.
SELECT tables.name, columns.name, columns.type, columns."notnull" OR columns.pk, columns.pk > 0, columns.hidden <> 0
FROM sqlite_schema AS tables, pragma_table_xinfo(tables.name) AS columns
WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite_%'
ORDER BY tables.name, columns.pk, columns.cid;
