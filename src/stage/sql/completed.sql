SELECT name, position FROM stages WHERE pipeline = ?1 ORDER BY position
