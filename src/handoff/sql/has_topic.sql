SELECT EXISTS (SELECT 1 FROM queue WHERE normalized_name = ?1);
