SELECT key, value, lowest, highest, meaning FROM settings ORDER BY key
