INSERT INTO markers (pipeline, name, saved_at, sha256, byte_size, artifact)
VALUES (?1, ?2, ?3, ?4, 0, x'')
