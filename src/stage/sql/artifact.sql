SELECT sha256, artifact FROM stages WHERE pipeline = ?1 AND name = ?2
UNION ALL
SELECT sha256, artifact FROM markers WHERE pipeline = ?1 AND name = ?2
