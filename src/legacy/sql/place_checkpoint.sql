INSERT INTO checkpoints (sha256, byte_size, body) VALUES (:sha256, length(:body), :body);
