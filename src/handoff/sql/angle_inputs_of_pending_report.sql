SELECT nomination_id, body, sha256 FROM angle_inputs WHERE pending_number = ?1 ORDER BY position;
