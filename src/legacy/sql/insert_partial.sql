INSERT INTO quarantine (run_id, name, whole_lines, at_end, kept_at, sha256, byte_size, bytes)
VALUES (:run_id, :name, :whole_lines, :at_end, :now, :sha256, length(:bytes), :bytes);
