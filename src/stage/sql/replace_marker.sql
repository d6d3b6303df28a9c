UPDATE markers SET saved_at = ?3, sha256 = ?4, byte_size = ?5, artifact = zeroblob(?5)
WHERE pipeline = ?1 AND name = ?2
