SELECT kind, name, byte_size, sha256, saved_at
FROM (SELECT 'stage' AS kind, position, name, byte_size, sha256, saved_at FROM stages WHERE pipeline = ?1
      UNION ALL
      SELECT 'marker', NULL, name, byte_size, sha256, saved_at FROM markers WHERE pipeline = ?1)
ORDER BY position IS NULL, position, name
