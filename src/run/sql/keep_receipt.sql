INSERT INTO recoveries (run_id, after_sequence, recovered_at, owner_pid, prior_status, sha256, byte_size, receipt)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, length(?7), ?7);
