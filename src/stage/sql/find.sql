SELECT 'stage' AS kind, rowid AS artifact_row, sha256 FROM stages WHERE pipeline = ?1 AND name = ?2
UNION ALL
SELECT 'marker', rowid, sha256 FROM markers WHERE pipeline = ?1 AND name = ?2
