INSERT INTO checkpoints (sha256, byte_size, body)
SELECT ?1, length(?2), ?2
WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE sha256 = ?1);
