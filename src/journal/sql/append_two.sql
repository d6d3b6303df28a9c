INSERT INTO events (line, journal_bytes) VALUES (?1, ?2), (?3, ?4);
