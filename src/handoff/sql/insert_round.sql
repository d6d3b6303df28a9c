INSERT INTO rounds (bundle_id, generated_at, mock, nomination_count, head, sha256, stored_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
