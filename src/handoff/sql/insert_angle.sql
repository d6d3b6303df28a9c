INSERT INTO angles (pending_number, attempt, nomination_id, podcast, x_article, body, given_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7);
