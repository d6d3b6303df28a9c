SELECT value, lowest, highest FROM settings WHERE key = :key;
