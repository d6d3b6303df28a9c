SELECT max(value) FILTER (WHERE key = 'max-journal-events'),
       max(value) FILTER (WHERE key = 'max-journal-bytes'),
       max(value) FILTER (WHERE key = 'max-checkpoint-bytes')
FROM settings;
