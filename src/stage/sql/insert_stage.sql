INSERT INTO stages (pipeline, position, name, saved_at, sha256, byte_size, artifact)
VALUES (?1, 1 + coalesce((SELECT max(position) FROM stages WHERE pipeline = ?1), 0), ?2, ?3, ?4, 0, x'')
