-- Modes of imported files that are not permission bits alone: an export must not set them.
SELECT printf('the imported file %s of run %s has the mode %s, and only the bits 0777 are allowed', path, run_id,
              CASE WHEN typeof(mode) = 'integer' THEN printf('%04o', mode) ELSE quote(mode) END)
FROM imported_files
WHERE typeof(mode) <> 'integer' OR mode NOT BETWEEN 0 AND 511
LIMIT :most;
