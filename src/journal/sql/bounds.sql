SELECT max(value) FILTER (WHERE key = 'max-journal-events') AS max_journal_events,
       max(value) FILTER (WHERE key = 'max-journal-bytes') AS max_journal_bytes,
       max(value) FILTER (WHERE key = 'max-checkpoint-bytes') AS max_checkpoint_bytes
FROM settings;
