SELECT EXISTS (SELECT 1 FROM judgments WHERE bundle_id = ?1);
