DELETE FROM runs;
DELETE FROM events;
DELETE FROM checkpoints;
DELETE FROM locks;
DELETE FROM imports;
DELETE FROM imported_files;
DELETE FROM quarantine;
