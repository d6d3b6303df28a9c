-- What was imported and is not what its digest says: files, and partial lines.
SELECT 'the imported file ' || path || ' of run ' || run_id
FROM imported_files
WHERE body IS NOT NULL AND sha256(body) IS NOT sha256
UNION ALL
SELECT 'the partial line ' || name || ' of run ' || run_id
FROM quarantine
WHERE sha256(bytes) <> sha256 OR byte_size <> length(CAST(bytes AS BLOB))
LIMIT :most;
