INSERT INTO checkpoints (sha256, byte_size, body) VALUES (?1, length(?2), ?2);
