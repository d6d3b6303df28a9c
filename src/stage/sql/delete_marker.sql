DELETE FROM markers WHERE pipeline = ?1 AND name = ?2
