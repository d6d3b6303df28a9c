SELECT body FROM imported_files WHERE run_id = ?1 AND path = 'events/shadow-comparison.json';
