-- Rows of imports, imported files and partial lines that contradict each other. No body is read.
SELECT 'run ' || run_id || ' was imported, and the store does not have it'
FROM imports
WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run_id = imports.run_id)
UNION ALL
SELECT 'an import of run ' || run_id || ' did not finish replacing its files'
FROM imports
WHERE replacing <> 0
UNION ALL
SELECT 'the imported file ' || path || ' is of run ' || run_id || ', which was not imported'
FROM imported_files
WHERE NOT EXISTS (SELECT 1 FROM imports WHERE imports.run_id = imported_files.run_id)
UNION ALL
SELECT 'the partial line ' || name || ' is of run ' || run_id || ', which was not imported'
FROM quarantine
WHERE NOT EXISTS (SELECT 1 FROM imports WHERE imports.run_id = quarantine.run_id)
UNION ALL
SELECT 'the imported file ' || path || ' of run ' || run_id || ': a legacy run directory has no such file'
FROM imported_files
WHERE CASE
          WHEN path IN ('.', 'events', 'events/lifecycle.jsonl', 'events/recovery-checkpoints', 'events/quarantine')
              THEN sha256 IS NOT NULL OR body IS NOT NULL
          WHEN path IN ('run.json', 'events/shadow-comparison.json') THEN sha256 IS NULL OR body IS NULL
          WHEN path = 'events/recovery-checkpoints/' || sha256 || '.json' THEN body IS NOT NULL
          ELSE NOT EXISTS (SELECT 1 FROM quarantine
                           WHERE quarantine.run_id = imported_files.run_id
                             AND 'events/quarantine/' || quarantine.name = imported_files.path)
               OR sha256 IS NOT NULL OR body IS NOT NULL
      END
UNION ALL
SELECT 'the imported file ' || path || ' of run ' || run_id || ': its checkpoint is missing'
FROM imported_files
WHERE sha256 IS NOT NULL AND body IS NULL
  AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE checkpoints.sha256 = imported_files.sha256)
UNION ALL
SELECT 'run ' || run_id || ' has ' || count(*) || ' partial lines at the end of its journal'
FROM quarantine
WHERE at_end = 1
GROUP BY run_id
HAVING count(*) > 1
UNION ALL
SELECT 'the partial line ' || name || ' of run ' || run_id || ': at_end, whole_lines or its name is not valid'
FROM quarantine
WHERE at_end NOT IN (0, 1) OR whole_lines < 0
   OR substr(name, 1, length(printf('lifecycle-partial-%06d-', whole_lines)) + 64)
      <> printf('lifecycle-partial-%06d-', whole_lines) || sha256
LIMIT :most;
