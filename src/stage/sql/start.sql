INSERT INTO pipelines (name, run_date, schema_version, begun_at) VALUES (?1, ?2, ?3, ?4)
