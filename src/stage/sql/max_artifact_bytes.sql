SELECT value FROM settings WHERE key = 'max-artifact-bytes'
