DELETE FROM stages
WHERE pipeline = ?1 AND position = (SELECT max(position) FROM stages WHERE pipeline = ?1)
