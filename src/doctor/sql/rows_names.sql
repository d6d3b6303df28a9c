-- Rows under a name that legbook cannot read, so that no command reaches them.
SELECT 'run ' || run_number || ': its run_id is not valid' FROM runs WHERE NOT is_run_id(run_id)
UNION ALL
SELECT 'round ' || round_number || ': its bundle_id is not valid'
FROM rounds
WHERE NOT is_bundle_id(bundle_id)
UNION ALL
SELECT 'run ' || run_number || ': its run directory or workspace is not an absolute path'
FROM runs
WHERE run_dir NOT GLOB '/*' OR workspace NOT GLOB '/*'
LIMIT :most;
