SELECT key, value, lowest, highest, meaning FROM settings WHERE key = ?1
