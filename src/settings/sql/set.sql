UPDATE settings SET value = ?2 WHERE key = ?1
