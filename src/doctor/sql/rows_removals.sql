-- Removals that tell of no journal that a run can have had.
SELECT 'the removal of run ' || run_id || ': last_sequence and last_digest are not a head'
FROM removals
WHERE NOT is_run_id(run_id) OR last_sequence < 0 OR (last_sequence = 0) <> (last_digest IS NULL)
   OR length(last_digest) <> 64 OR last_digest GLOB '*[^0-9a-f]*'
LIMIT :most;
