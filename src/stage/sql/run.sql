SELECT run_date, schema_version, begun_at FROM pipelines WHERE name = ?1
