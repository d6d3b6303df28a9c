INSERT INTO judgments (bundle_id, attempt, nomination_id, name, junk, worthiness, body, judged_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);
