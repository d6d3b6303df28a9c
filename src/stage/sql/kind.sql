SELECT 'stage' FROM stages WHERE pipeline = ?1 AND name = ?2
UNION ALL
SELECT 'marker' FROM markers WHERE pipeline = ?1 AND name = ?2
