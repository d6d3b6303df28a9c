SELECT nomination_id FROM nominations WHERE bundle_id = ?1;
