INSERT INTO nominations (bundle_id, position, nomination_id, body, sha256) VALUES (?1, ?2, ?3, ?4, ?5);
