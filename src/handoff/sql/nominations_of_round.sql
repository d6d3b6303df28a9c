SELECT nomination_id, body, sha256 FROM nominations WHERE bundle_id = ?1 ORDER BY position;
