-- Imported runs: what a legacy run directory holds beside its journal and its checkpoints.
--
-- Reason: the export of an import must be the same tree, byte for byte, modes included. The journal's lines are in events
-- and the snapshots in checkpoints; what would be lost without these tables is run.json as it was (or that there was none),
-- the evidence file, checkpoints that no event names, partial lines, which directories there were, and modes.
-- These rows are replaced when the directory is imported again; nothing else changes them. Paths are a closed set, so that
-- an export writes nowhere but into its own directory whatever somebody put here.
-- Runs on SQLite 3.40 with no function of legbook's own.

CREATE TABLE imports (
    -- Runs that were imported from a legacy directory.
    run_id      TEXT PRIMARY KEY,
    imported_at TEXT NOT NULL,                 -- when the directory was last taken in and something of it was new
    replacing   INTEGER NOT NULL DEFAULT 0     -- 1: within the transaction of an import that replaces the files
) STRICT, WITHOUT ROWID;

CREATE TRIGGER imports_insert BEFORE INSERT ON imports BEGIN
    SELECT RAISE(ABORT, 'imports: this run is on the list')
        WHERE EXISTS (SELECT 1 FROM imports WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'imports: there is no such run')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'imports: this run is being removed')
        WHERE EXISTS (SELECT 1 FROM removals WHERE run_id = NEW.run_id);
END;
CREATE TRIGGER imports_update BEFORE UPDATE ON imports BEGIN
    SELECT RAISE(ABORT, 'imports: only imported_at and replacing change')
        WHERE NEW.run_id IS NOT OLD.run_id OR NEW.replacing NOT IN (0, 1);
END;
CREATE TRIGGER imports_delete BEFORE DELETE ON imports BEGIN
    SELECT RAISE(ABORT, 'imports: an imported run stays one, unless retention removes it and its files are gone')
        WHERE NOT EXISTS (SELECT 1 FROM removals WHERE run_id = OLD.run_id)
           OR EXISTS (SELECT 1 FROM imported_files WHERE run_id = OLD.run_id)
           OR EXISTS (SELECT 1 FROM quarantine WHERE run_id = OLD.run_id);
END;

CREATE TABLE imported_files (
    -- The files and directories of an imported tree. A journal, or a checkpoint that an event names, is only listed if its
    -- mode is not 0600.
    run_id TEXT NOT NULL,
    path   TEXT NOT NULL,                      -- relative to the run directory; '.' is that itself
    mode   INTEGER NOT NULL,                   -- permission bits
    sha256 TEXT,                               -- null: a directory, or the journal
    body   BLOB,                               -- null: the bytes are in checkpoints, under sha256, or there are none
    PRIMARY KEY (run_id, path)
) STRICT, WITHOUT ROWID;

-- For which checkpoints an imported run keeps.
CREATE INDEX imported_files_by_checkpoint ON imported_files (sha256) WHERE sha256 IS NOT NULL AND body IS NULL;

CREATE TRIGGER imported_files_insert BEFORE INSERT ON imported_files BEGIN
    SELECT RAISE(ABORT, 'imported_files: this file is listed')
        WHERE EXISTS (SELECT 1 FROM imported_files WHERE run_id = NEW.run_id AND path = NEW.path);
    SELECT RAISE(ABORT, 'imported_files: the run was not imported')
        WHERE NOT EXISTS (SELECT 1 FROM imports WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'imported_files: a mode has permission bits only')
        WHERE NEW.mode NOT BETWEEN 0 AND 511;
    SELECT RAISE(ABORT, 'imported_files: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'imported_files: a legacy run directory has no such file')
        WHERE CASE
                  WHEN NEW.path IN ('.', 'events', 'events/lifecycle.jsonl', 'events/recovery-checkpoints',
                                    'events/quarantine')
                      THEN NEW.sha256 IS NOT NULL OR NEW.body IS NOT NULL
                  WHEN NEW.path IN ('run.json', 'events/shadow-comparison.json')
                      THEN NEW.sha256 IS NULL OR NEW.body IS NULL
                  WHEN NEW.path = 'events/recovery-checkpoints/' || NEW.sha256 || '.json' THEN NEW.body IS NOT NULL
                  ELSE NOT EXISTS (SELECT 1 FROM quarantine
                                   WHERE run_id = NEW.run_id AND 'events/quarantine/' || name = NEW.path)
                       OR NEW.sha256 IS NOT NULL OR NEW.body IS NOT NULL
              END;
    SELECT RAISE(ABORT, 'imported_files: the checkpoint is not stored')
        WHERE NEW.sha256 IS NOT NULL AND NEW.body IS NULL
          AND NOT EXISTS (SELECT 1 FROM checkpoints WHERE sha256 = NEW.sha256);
END;
CREATE TRIGGER imported_files_update BEFORE UPDATE ON imported_files BEGIN
    SELECT RAISE(ABORT, 'imported_files: a row is replaced, never changed');
END;

CREATE TRIGGER imported_files_delete BEFORE DELETE ON imported_files BEGIN
    SELECT RAISE(ABORT, 'imported_files: a file goes only with its run, or if an import replaces it')
        WHERE NOT EXISTS (SELECT 1 FROM removals WHERE run_id = OLD.run_id)
          AND NOT EXISTS (SELECT 1 FROM imports WHERE run_id = OLD.run_id AND replacing = 1);
END;

CREATE TABLE quarantine (
    -- Partial lines: bytes without a newline at the end of an imported journal, cut off there by a crash.
    run_id      TEXT NOT NULL,
    name        TEXT NOT NULL,                 -- lifecycle-partial-<whole lines>-<sha256>.bin, maybe -1, -2, … before .bin
    whole_lines INTEGER NOT NULL,              -- how many whole lines stood before it
    at_end      INTEGER NOT NULL,              -- 1: it stood in the journal; 0: in a quarantine file
    kept_at     TEXT NOT NULL,
    sha256      TEXT NOT NULL,
    byte_size   INTEGER NOT NULL,
    bytes       BLOB NOT NULL,
    PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER quarantine_insert BEFORE INSERT ON quarantine BEGIN
    SELECT RAISE(ABORT, 'quarantine: this line is kept')
        WHERE EXISTS (SELECT 1 FROM quarantine WHERE run_id = NEW.run_id AND name = NEW.name);
    SELECT RAISE(ABORT, 'quarantine: the run was not imported')
        WHERE NOT EXISTS (SELECT 1 FROM imports WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'quarantine: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'quarantine: byte_size must be the number of the bytes')
        WHERE NEW.byte_size IS NOT length(NEW.bytes);
    SELECT RAISE(ABORT, 'quarantine: a count of lines is not below 0') WHERE NEW.whole_lines < 0;
    SELECT RAISE(ABORT, 'quarantine: at_end is 0 or 1') WHERE NEW.at_end NOT IN (0, 1);
    SELECT RAISE(ABORT, 'quarantine: one partial line at most stands at the end of a journal')
        WHERE NEW.at_end = 1 AND EXISTS (SELECT 1 FROM quarantine WHERE run_id = NEW.run_id AND at_end = 1);
    SELECT RAISE(ABORT, 'quarantine: the name is made of the count of lines and the digest')
        WHERE substr(NEW.name, 1, length(printf('lifecycle-partial-%06d-', NEW.whole_lines)) + 64)
              <> printf('lifecycle-partial-%06d-', NEW.whole_lines) || NEW.sha256
           OR substr(NEW.name, length(printf('lifecycle-partial-%06d-', NEW.whole_lines)) + 65) NOT GLOB '*.bin'
           OR rtrim(ltrim(replace(substr(NEW.name, length(printf('lifecycle-partial-%06d-', NEW.whole_lines)) + 65),
                                  '.bin', ''), '-'), '0123456789') <> ''
           OR length(CAST(NEW.name AS BLOB)) <> length(NEW.name) OR length(NEW.name) > 200;
END;
CREATE TRIGGER quarantine_update BEFORE UPDATE ON quarantine BEGIN
    SELECT RAISE(ABORT, 'quarantine: a kept line never changes');
END;

CREATE TRIGGER quarantine_delete BEFORE DELETE ON quarantine BEGIN
    SELECT RAISE(ABORT, 'quarantine: a kept line goes only with its run, or if an import replaces it')
        WHERE NOT EXISTS (SELECT 1 FROM removals WHERE run_id = OLD.run_id)
          AND NOT EXISTS (SELECT 1 FROM imports WHERE run_id = OLD.run_id AND replacing = 1);
END;

CREATE TRIGGER runs_delete_imported BEFORE DELETE ON runs BEGIN
    SELECT RAISE(ABORT, 'runs: an imported run is deleted after what was kept of it')
        WHERE EXISTS (SELECT 1 FROM imports WHERE run_id = OLD.run_id);
END;
CREATE TRIGGER checkpoints_delete_imported BEFORE DELETE ON checkpoints BEGIN
    SELECT RAISE(ABORT, 'checkpoints: an imported run keeps this checkpoint')
        WHERE EXISTS (SELECT 1 FROM imported_files WHERE sha256 = OLD.sha256 AND body IS NULL);
END;
