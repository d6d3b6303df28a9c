-- The run.json that an imported run came with; null: it had none. No row: the run was not imported.
SELECT (SELECT CAST(body AS BLOB) FROM imported_files WHERE run_id = :run_id AND path = 'run.json')
FROM imports
WHERE run_id = :run_id;
