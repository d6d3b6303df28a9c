INSERT INTO angle_inputs (pending_number, position, nomination_id, body, sha256) VALUES (?1, ?2, ?3, ?4, ?5);
