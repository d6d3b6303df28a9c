DELETE FROM checkpoints
WHERE NOT EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = checkpoints.sha256)
  AND NOT EXISTS (SELECT 1 FROM imported_files
                  WHERE imported_files.sha256 = checkpoints.sha256 AND imported_files.body IS NULL);
