SELECT key, value, lowest, highest FROM settings;
