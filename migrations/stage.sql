-- Stages: the run of each pipeline, the artifacts of its completed stages in order, its markers.
--
-- Reason: a pipeline resumes at the first stage that is not completed, so what is completed must always be a prefix that
-- can be trusted, whoever writes: each name once, positions without a gap, removed from the end only. As in 0001 each rule
-- is a trigger, and holds in a plain sqlite3 shell with foreign keys and CHECK off and with REPLACE.
-- Not held here, because SQL cannot: that sha256 is the SHA-256 of the artifact, and that the artifact is JSON in its one
-- form. Saving sees to it, loading checks the digest.
-- Runs on SQLite 3.40 with no function of legbook's own.

CREATE TABLE pipelines (
    -- The current run of each pipeline. Deleting a row deletes its stages and markers.
    name           TEXT PRIMARY KEY,
    run_date       TEXT NOT NULL,              -- the UTC day on which the run began
    schema_version INTEGER NOT NULL,           -- of the artifacts' shape; begin migrates
    begun_at       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE stages (
    -- Completed stages with their artifacts. The artifact is the last column, so that the others are read without it.
    pipeline  TEXT NOT NULL,
    position  INTEGER NOT NULL,                -- in the order of completion, from 1
    name      TEXT NOT NULL,
    saved_at  TEXT NOT NULL,
    sha256    TEXT NOT NULL,
    byte_size INTEGER NOT NULL,
    artifact  BLOB NOT NULL,                   -- JSON, without a newline at the end
    UNIQUE (pipeline, position),
    UNIQUE (pipeline, name)
) STRICT;

CREATE TABLE markers (
    -- Artifacts that are saved beside the stages and complete no stage.
    pipeline  TEXT NOT NULL,
    name      TEXT NOT NULL,
    saved_at  TEXT NOT NULL,
    sha256    TEXT NOT NULL,
    byte_size INTEGER NOT NULL,
    artifact  BLOB NOT NULL,
    UNIQUE (pipeline, name)
) STRICT;

-- -------- Pipelines

CREATE TRIGGER pipelines_insert BEFORE INSERT ON pipelines BEGIN
    SELECT RAISE(ABORT, 'pipelines: this pipeline is in a run')
        WHERE EXISTS (SELECT 1 FROM pipelines WHERE name = NEW.name);
    SELECT RAISE(ABORT, 'pipelines: a pipeline name is 1 to 128 of A-Z a-z 0-9 . _ -, with no - in front')
        WHERE length(NEW.name) NOT BETWEEN 1 AND 128 OR NEW.name GLOB '*[^A-Za-z0-9._-]*' OR NEW.name GLOB '-*'
           OR length(CAST(NEW.name AS BLOB)) <> length(NEW.name);
    -- A day that the calendar does not have comes back as another one.
    SELECT RAISE(ABORT, 'pipelines: run_date is a day, YYYY-MM-DD')
        WHERE date(NEW.run_date, '+0 days') IS NOT NEW.run_date;
    SELECT RAISE(ABORT, 'pipelines: schema_version is 1 or more') WHERE NEW.schema_version < 1;
END;
CREATE TRIGGER pipelines_update BEFORE UPDATE ON pipelines BEGIN
    SELECT RAISE(ABORT, 'pipelines: only the schema_version of a run changes')
        WHERE NEW.name IS NOT OLD.name OR NEW.run_date IS NOT OLD.run_date OR NEW.begun_at IS NOT OLD.begun_at;
    SELECT RAISE(ABORT, 'pipelines: schema_version is 1 or more') WHERE NEW.schema_version < 1;
    SELECT RAISE(ABORT, 'pipelines: a run of version 1 goes to 2 without its stage fetch')
        WHERE OLD.schema_version = 1 AND NEW.schema_version > 1
          AND EXISTS (SELECT 1 FROM stages WHERE pipeline = OLD.name AND name = 'fetch');
END;
CREATE TRIGGER pipelines_delete AFTER DELETE ON pipelines BEGIN
    DELETE FROM stages WHERE pipeline = OLD.name;
    DELETE FROM markers WHERE pipeline = OLD.name;
END;

-- -------- Stages

CREATE TRIGGER stages_insert BEFORE INSERT ON stages BEGIN
    SELECT RAISE(ABORT, 'stages: the pipeline is in no run')
        WHERE NOT EXISTS (SELECT 1 FROM pipelines WHERE name = NEW.pipeline);
    SELECT RAISE(ABORT, 'stages: a stage is completed once a run')
        WHERE EXISTS (SELECT 1 FROM stages WHERE pipeline = NEW.pipeline AND name = NEW.name)
           OR EXISTS (SELECT 1 FROM stages WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'stages: a marker of the run has this name')
        WHERE EXISTS (SELECT 1 FROM markers WHERE pipeline = NEW.pipeline AND name = NEW.name);
    SELECT RAISE(ABORT, 'stages: a stage name is [a-z0-9][a-z0-9_-]*, at most 250 characters, and not manifest')
        WHERE NEW.name NOT GLOB '[a-z0-9]*' OR NEW.name GLOB '*[^a-z0-9_-]*' OR length(NEW.name) > 250
           OR NEW.name = 'manifest' OR length(CAST(NEW.name AS BLOB)) <> length(NEW.name);
    SELECT RAISE(ABORT, 'stages: position must be exactly one more than the run''s last')
        WHERE NEW.position IS NOT 1 + coalesce((SELECT max(position) FROM stages WHERE pipeline = NEW.pipeline), 0);
    SELECT RAISE(ABORT, 'stages: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'stages: byte_size must be the size of the artifact')
        WHERE NEW.byte_size IS NOT length(NEW.artifact);
    SELECT RAISE(ABORT, 'stages: larger than max-artifact-bytes')
        WHERE NEW.byte_size > (SELECT value FROM settings WHERE key = 'max-artifact-bytes');
END;
CREATE TRIGGER stages_insert_number AFTER INSERT ON stages BEGIN
    SELECT RAISE(ABORT, 'stages: a row number below 1') WHERE NEW.rowid < 1;
END;
CREATE TRIGGER stages_update BEFORE UPDATE ON stages BEGIN
    SELECT RAISE(ABORT, 'stages: a completed stage keeps its pipeline, its position and its name')
        WHERE NEW.rowid IS NOT OLD.rowid OR NEW.pipeline IS NOT OLD.pipeline OR NEW.position IS NOT OLD.position
           OR NEW.name IS NOT OLD.name;
    SELECT RAISE(ABORT, 'stages: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'stages: byte_size must be the size of the artifact')
        WHERE NEW.byte_size IS NOT length(NEW.artifact);
    SELECT RAISE(ABORT, 'stages: larger than max-artifact-bytes')
        WHERE NEW.byte_size > (SELECT value FROM settings WHERE key = 'max-artifact-bytes');
END;
-- Later stages derive from earlier ones. When the whole run goes, its pipelines row has gone first.
CREATE TRIGGER stages_delete BEFORE DELETE ON stages BEGIN
    SELECT RAISE(ABORT, 'stages: only the last stage of a run is deleted; to clear a run delete its pipelines row')
        WHERE EXISTS (SELECT 1 FROM stages WHERE pipeline = OLD.pipeline AND position > OLD.position)
          AND EXISTS (SELECT 1 FROM pipelines WHERE name = OLD.pipeline);
END;

-- -------- Markers

CREATE TRIGGER markers_insert BEFORE INSERT ON markers BEGIN
    SELECT RAISE(ABORT, 'markers: the pipeline is in no run')
        WHERE NOT EXISTS (SELECT 1 FROM pipelines WHERE name = NEW.pipeline);
    SELECT RAISE(ABORT, 'markers: the run has this marker')
        WHERE EXISTS (SELECT 1 FROM markers WHERE pipeline = NEW.pipeline AND name = NEW.name)
           OR EXISTS (SELECT 1 FROM markers WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'markers: a completed stage of the run has this name')
        WHERE EXISTS (SELECT 1 FROM stages WHERE pipeline = NEW.pipeline AND name = NEW.name);
    SELECT RAISE(ABORT, 'markers: a stage name is [a-z0-9][a-z0-9_-]*, at most 250 characters, and not manifest')
        WHERE NEW.name NOT GLOB '[a-z0-9]*' OR NEW.name GLOB '*[^a-z0-9_-]*' OR length(NEW.name) > 250
           OR NEW.name = 'manifest' OR length(CAST(NEW.name AS BLOB)) <> length(NEW.name);
    SELECT RAISE(ABORT, 'markers: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'markers: byte_size must be the size of the artifact')
        WHERE NEW.byte_size IS NOT length(NEW.artifact);
    SELECT RAISE(ABORT, 'markers: larger than max-artifact-bytes')
        WHERE NEW.byte_size > (SELECT value FROM settings WHERE key = 'max-artifact-bytes');
END;
CREATE TRIGGER markers_insert_number AFTER INSERT ON markers BEGIN
    SELECT RAISE(ABORT, 'markers: a row number below 1') WHERE NEW.rowid < 1;
END;
CREATE TRIGGER markers_update BEFORE UPDATE ON markers BEGIN
    SELECT RAISE(ABORT, 'markers: a marker keeps its pipeline and its name')
        WHERE NEW.rowid IS NOT OLD.rowid OR NEW.pipeline IS NOT OLD.pipeline OR NEW.name IS NOT OLD.name;
    SELECT RAISE(ABORT, 'markers: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'markers: byte_size must be the size of the artifact')
        WHERE NEW.byte_size IS NOT length(NEW.artifact);
    SELECT RAISE(ABORT, 'markers: larger than max-artifact-bytes')
        WHERE NEW.byte_size > (SELECT value FROM settings WHERE key = 'max-artifact-bytes');
END;

-- -------- For people

CREATE VIEW stage_progress AS
-- Each pipeline's run: its stages in order, then its markers; one row that says so where nothing is saved yet.
SELECT pipelines.name AS pipeline,
       pipelines.run_date,
       coalesce(saved.position || '. ', '') || coalesce(saved.name, '') AS stage,
       coalesce(saved.kind, 'nothing saved yet') AS state,
       CASE WHEN saved.byte_size IS NULL THEN ''
            WHEN saved.byte_size < 1024 THEN saved.byte_size || ' B'
            WHEN saved.byte_size < 1048576 THEN printf('%.1f KiB', saved.byte_size / 1024.0)
            ELSE printf('%.1f MiB', saved.byte_size / 1048576.0) END AS size,
       strftime('%Y-%m-%d %H:%M:%S UTC', coalesce(saved.saved_at, pipelines.begun_at)) AS since
FROM pipelines
LEFT JOIN (SELECT pipeline, position, name, 'completed' AS kind, byte_size, saved_at FROM stages
           UNION ALL
           SELECT pipeline, NULL, name, 'marker', byte_size, saved_at FROM markers) AS saved
       ON saved.pipeline = pipelines.name
ORDER BY pipelines.name, saved.position IS NULL, saved.position, saved.name;
