INSERT INTO queue (normalized_name, name, domain) VALUES (?1, ?2, ?3);
