BEGIN;
DELETE FROM events WHERE run_id = :run_id;
DELETE FROM recoveries WHERE run_id = :run_id;
DELETE FROM imported_files WHERE run_id = :run_id;
DELETE FROM quarantine WHERE run_id = :run_id;
DELETE FROM imports WHERE run_id = :run_id;
DELETE FROM checkpoints
WHERE NOT EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = checkpoints.sha256)
  AND NOT EXISTS (SELECT 1 FROM imported_files WHERE imported_files.sha256 = checkpoints.sha256);
DELETE FROM runs WHERE run_id = :run_id;
COMMIT;
