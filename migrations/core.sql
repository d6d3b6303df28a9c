-- The core: runs, their events, checkpoints, receipts and locks, the bounds, and the reference tables.
--
-- Reason: the journal must hold its own rules whoever writes to it. In a plain sqlite3 shell foreign keys are off,
-- CHECK can be switched off, and REPLACE deletes rows without firing DELETE triggers; so each rule here is a trigger,
-- and each BEFORE INSERT refuses a key that exists. A row number is a key too: REPLACE on it would delete another row,
-- so a table either has none (WITHOUT ROWID) or guards it; and where the order of rows means something, each number is
-- exactly one more than the highest, so that nobody can use up the numbers. A BEFORE trigger sees -1 where no number was
-- given, which is why the numbers themselves are checked AFTER. length and GLOB stop at U+0000, so a text's length is
-- also taken in bytes.
-- Not held here, because SQL cannot: that a digest is the SHA-256 of its bytes, that a text is well-formed UTF-8, that a
-- snapshot is JSON. Append checks these before and doctor after. Nor can triggers stop who drops them or writes into the
-- file past SQLite's tables.
-- Runs on SQLite 3.40 with no function of legbook's own.

-- -------- The store itself

CREATE TABLE store (
    -- The identity of this store, one row; heads that are kept outside are matched to it by store_id.
    id         INTEGER PRIMARY KEY,
    store_id   TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

CREATE TRIGGER store_insert BEFORE INSERT ON store BEGIN
    SELECT RAISE(ABORT, 'store: the identity is written once') WHERE EXISTS (SELECT 1 FROM store);
END;
CREATE TRIGGER store_update BEFORE UPDATE ON store BEGIN
    SELECT RAISE(ABORT, 'store: the identity never changes while the store has a home')
        WHERE EXISTS (SELECT 1 FROM home) OR NEW.id IS NOT OLD.id OR NEW.created_at IS NOT OLD.created_at;
END;
CREATE TRIGGER store_delete BEFORE DELETE ON store BEGIN
    SELECT RAISE(ABORT, 'store: the identity is never removed');
END;

CREATE TABLE home (
    -- The file that is the store, one row; a file elsewhere with the same store_id is a copy.
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    path   BLOB NOT NULL,                      -- the bytes of the absolute path; CAST(path AS TEXT) shows it
    device INTEGER NOT NULL,
    inode  INTEGER NOT NULL
) STRICT;

CREATE TRIGGER home_insert BEFORE INSERT ON home BEGIN
    SELECT RAISE(ABORT, 'home: a store has one home, with an absolute path')
        WHERE EXISTS (SELECT 1 FROM home) OR NEW.id IS NOT 1 OR substr(NEW.path, 1, 1) IS NOT CAST('/' AS BLOB);
END;
CREATE TRIGGER home_update BEFORE UPDATE ON home BEGIN
    SELECT RAISE(ABORT, 'home: a home is noted anew, not changed');
END;

CREATE TABLE settings (
    -- The bounds. A value may not leave the range from lowest to highest.
    key     TEXT PRIMARY KEY,
    value   INTEGER NOT NULL,
    lowest  INTEGER NOT NULL,
    highest INTEGER NOT NULL,
    meaning TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO settings (key, value, lowest, highest, meaning) VALUES
    ('max-journal-events',   2048,      8,     10000000,  'events that one run''s journal may hold'),
    ('max-journal-bytes',    8388608,   65536, 536870912, 'bytes of one run''s journal, newlines counted'),
    ('max-checkpoint-bytes', 16777216,  1024,  536870912, 'bytes of one snapshot'),
    ('max-artifact-bytes',   268435456, 1024,  536870912, 'bytes of one stage artifact'),
    ('max-silence-seconds',  86400,     60,    31622400,  'seconds an unjudged owner may be silent');

CREATE TRIGGER settings_insert BEFORE INSERT ON settings BEGIN
    SELECT RAISE(ABORT, 'settings: there are exactly these; change one with UPDATE');
END;
CREATE TRIGGER settings_delete BEFORE DELETE ON settings BEGIN
    SELECT RAISE(ABORT, 'settings: a bound is never removed');
END;

-- -------- Reference tables: the closed registry of events

CREATE TABLE event_types (
    -- The event types that a journal may hold: a closed registry.
    event_type TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE event_payload_keys (
    -- The payload keys that each event type allows.
    event_type TEXT NOT NULL REFERENCES event_types,
    key        TEXT NOT NULL,
    PRIMARY KEY (event_type, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE event_statuses (
    -- The run status that each event type tells. payload_status null: the type alone decides.
    event_type     TEXT NOT NULL REFERENCES event_types,
    payload_status TEXT,
    status         TEXT NOT NULL,
    UNIQUE (event_type, payload_status)
) STRICT;

CREATE TABLE status_events (
    -- The event type that a change to each status writes.
    status     TEXT PRIMARY KEY,
    event_type TEXT NOT NULL REFERENCES event_types
) STRICT, WITHOUT ROWID;

INSERT INTO event_types (event_type) VALUES
    ('run.created'),
    ('run.planning.started'), ('run.planning.completed'), ('run.planning.failed'),
    ('run.dispatch.requested'), ('run.dispatch.observed'), ('run.dispatch.completed'), ('run.dispatch.failed'),
    ('run.synthesis.started'), ('run.synthesis.completed'), ('run.synthesis.failed'),
    ('run.paused'), ('run.resumed'),
    ('approval.requested'), ('approval.granted'), ('approval.rejected'), ('approval.held'), ('approval.consumed'),
    ('run.recovery.started'), ('run.recovery.completed'),
    ('run.completed'), ('run.failed'), ('run.interrupted'),
    ('run.snapshot.checkpointed');

INSERT INTO event_payload_keys (event_type, key) VALUES
    ('run.created', 'status'),
    ('run.planning.started', 'detail'), ('run.planning.completed', 'detail'), ('run.planning.failed', 'detail'),
    ('run.dispatch.requested', 'seat'), ('run.dispatch.requested', 'attempt'), ('run.dispatch.requested', 'detail'),
    ('run.dispatch.observed', 'seat'), ('run.dispatch.observed', 'attempt'), ('run.dispatch.observed', 'detail'),
    ('run.dispatch.completed', 'seat'), ('run.dispatch.completed', 'attempt'), ('run.dispatch.completed', 'detail'),
    ('run.dispatch.failed', 'seat'), ('run.dispatch.failed', 'attempt'), ('run.dispatch.failed', 'detail'),
    ('run.synthesis.started', 'detail'), ('run.synthesis.completed', 'detail'), ('run.synthesis.failed', 'detail'),
    ('run.paused', 'approval_id'), ('run.paused', 'reason'),
    ('run.resumed', 'approval_id'),
    ('approval.requested', 'approval_id'), ('approval.requested', 'source'),
    ('approval.requested', 'contract_fingerprint'),
    ('approval.granted', 'approval_id'), ('approval.granted', 'decided_at'), ('approval.granted', 'decision_state'),
    ('approval.rejected', 'approval_id'), ('approval.rejected', 'decided_at'), ('approval.rejected', 'decision_state'),
    ('approval.held', 'approval_id'), ('approval.held', 'decided_at'), ('approval.held', 'decision_state'),
    ('approval.consumed', 'approval_id'), ('approval.consumed', 'consuming_run_id'),
    ('run.recovery.started', 'detail'), ('run.recovery.completed', 'detail'),
    ('run.completed', 'status'), ('run.completed', 'detail'),
    ('run.failed', 'status'), ('run.failed', 'detail'),
    ('run.interrupted', 'status'), ('run.interrupted', 'detail'),
    ('run.snapshot.checkpointed', 'path'), ('run.snapshot.checkpointed', 'sha256'),
    ('run.snapshot.checkpointed', 'media_type'), ('run.snapshot.checkpointed', 'byte_size'),
    ('run.snapshot.checkpointed', 'privacy_class'), ('run.snapshot.checkpointed', 'paired_event_type');

INSERT INTO event_statuses (event_type, payload_status, status) VALUES
    ('run.planning.started', NULL, 'planning'),
    ('run.dispatch.requested', NULL, 'dispatching'),
    ('run.dispatch.completed', NULL, 'result-processing'),
    ('run.synthesis.started', NULL, 'synthesizing'),
    ('run.synthesis.completed', NULL, 'handoff'),
    ('run.created', 'started', 'started'),
    ('run.completed', 'ok', 'ok'),
    ('run.failed', 'failed', 'failed'),
    ('run.failed', 'timeout', 'timeout'),
    ('run.interrupted', 'canceled', 'canceled');

INSERT INTO status_events (status, event_type) VALUES
    ('started', 'run.created'),
    ('planning', 'run.planning.started'),
    ('dispatching', 'run.dispatch.requested'),
    ('result-processing', 'run.dispatch.completed'),
    ('synthesizing', 'run.synthesis.started'),
    ('handoff', 'run.synthesis.completed'),
    ('ok', 'run.completed'),
    ('failed', 'run.failed'),
    ('canceled', 'run.interrupted'),
    ('timeout', 'run.failed');

CREATE TRIGGER event_types_insert BEFORE INSERT ON event_types BEGIN
    SELECT RAISE(ABORT, 'event_types: the registry is closed');
END;
CREATE TRIGGER event_types_update BEFORE UPDATE ON event_types BEGIN
    SELECT RAISE(ABORT, 'event_types: the registry is closed');
END;
CREATE TRIGGER event_types_delete BEFORE DELETE ON event_types BEGIN
    SELECT RAISE(ABORT, 'event_types: the registry is closed');
END;
CREATE TRIGGER event_payload_keys_insert BEFORE INSERT ON event_payload_keys BEGIN
    SELECT RAISE(ABORT, 'event_payload_keys: the registry is closed');
END;
CREATE TRIGGER event_payload_keys_update BEFORE UPDATE ON event_payload_keys BEGIN
    SELECT RAISE(ABORT, 'event_payload_keys: the registry is closed');
END;
CREATE TRIGGER event_payload_keys_delete BEFORE DELETE ON event_payload_keys BEGIN
    SELECT RAISE(ABORT, 'event_payload_keys: the registry is closed');
END;
CREATE TRIGGER event_statuses_insert BEFORE INSERT ON event_statuses BEGIN
    SELECT RAISE(ABORT, 'event_statuses: the registry is closed');
END;
CREATE TRIGGER event_statuses_update BEFORE UPDATE ON event_statuses BEGIN
    SELECT RAISE(ABORT, 'event_statuses: the registry is closed');
END;
CREATE TRIGGER event_statuses_delete BEFORE DELETE ON event_statuses BEGIN
    SELECT RAISE(ABORT, 'event_statuses: the registry is closed');
END;
CREATE TRIGGER status_events_insert BEFORE INSERT ON status_events BEGIN
    SELECT RAISE(ABORT, 'status_events: the registry is closed');
END;
CREATE TRIGGER status_events_update BEFORE UPDATE ON status_events BEGIN
    SELECT RAISE(ABORT, 'status_events: the registry is closed');
END;
CREATE TRIGGER status_events_delete BEFORE DELETE ON status_events BEGIN
    SELECT RAISE(ABORT, 'status_events: the registry is closed');
END;

-- -------- Runs

CREATE TABLE runs (
    -- The runs of this store, one row each, in the order in which they were made.
    run_number        INTEGER PRIMARY KEY,     -- the order in which runs were made; the highest is `latest`
    run_id            TEXT NOT NULL UNIQUE,
    created_at        TEXT NOT NULL,
    run_dir           TEXT,                    -- absolute; null: the run has no directory of its own
    workspace         TEXT,                    -- absolute, links resolved; whose lock the run takes
    journaled_at      TEXT,                    -- activation: null until the run has a journal
    -- What legbook read of the last snapshot that it wrote, for people; no rule depends on these.
    status            TEXT,
    task              TEXT,
    started_at        TEXT,
    status_started_at TEXT,
    finished_at       TEXT
) STRICT;

CREATE TABLE removals (
    -- Runs that retention removes or has removed, with the head of their journal. A row here permits the deletion of the
    -- run's other rows. It stays, so that a missing run is known to be removed on purpose.
    run_id        TEXT PRIMARY KEY,
    removed_at    TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,            -- 0: there was no event
    last_digest   TEXT                         -- null: there was no event
) STRICT, WITHOUT ROWID;

CREATE TRIGGER runs_insert BEFORE INSERT ON runs BEGIN
    SELECT RAISE(ABORT, 'runs: this run exists')
        WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id OR run_number = NEW.run_number);
    SELECT RAISE(ABORT, 'runs: this run was removed by retention')
        WHERE EXISTS (SELECT 1 FROM removals WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'runs: a run id is 1 to 128 of A-Z a-z 0-9 . _ -')
        WHERE length(NEW.run_id) NOT BETWEEN 1 AND 128 OR NEW.run_id GLOB '*[^A-Za-z0-9._-]*'
           OR NEW.run_id GLOB '-*' OR NEW.run_id IN ('.', '..', 'latest')
           OR length(CAST(NEW.run_id AS BLOB)) <> length(NEW.run_id);
END;
CREATE TRIGGER runs_insert_number AFTER INSERT ON runs BEGIN
    SELECT RAISE(ABORT, 'runs: run_number must be one more than the highest')
        WHERE NEW.run_number <> 1 + coalesce((SELECT max(run_number) FROM runs
                                              WHERE run_number <> NEW.run_number), 0);
END;
CREATE TRIGGER runs_update BEFORE UPDATE ON runs BEGIN
    SELECT RAISE(ABORT, 'runs: a run''s identity never changes')
        WHERE NEW.run_number IS NOT OLD.run_number OR NEW.run_id IS NOT OLD.run_id
           OR NEW.created_at IS NOT OLD.created_at;
    SELECT RAISE(ABORT, 'runs: a run with a directory keeps one')
        WHERE OLD.run_dir IS NOT NULL AND NEW.run_dir IS NULL;
    SELECT RAISE(ABORT, 'runs: a journal once active stays active')
        WHERE OLD.journaled_at IS NOT NULL AND NEW.journaled_at IS NOT OLD.journaled_at;
END;
CREATE TRIGGER runs_delete BEFORE DELETE ON runs BEGIN
    SELECT RAISE(ABORT, 'runs: only a run that retention removes may be deleted, after its events and receipts')
        WHERE NOT EXISTS (SELECT 1 FROM removals WHERE run_id = OLD.run_id)
           OR EXISTS (SELECT 1 FROM events WHERE run_id = OLD.run_id)
           OR EXISTS (SELECT 1 FROM recoveries WHERE run_id = OLD.run_id)
           OR EXISTS (SELECT 1 FROM locks WHERE run_id = OLD.run_id);
END;

CREATE TRIGGER removals_insert BEFORE INSERT ON removals BEGIN
    SELECT RAISE(ABORT, 'removals: this run is on the list')
        WHERE EXISTS (SELECT 1 FROM removals WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'removals: there is no such run')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'removals: the run is locked')
        WHERE EXISTS (SELECT 1 FROM locks WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'removals: last_sequence and last_digest must be the head of the journal')
        WHERE NEW.last_sequence IS NOT coalesce((SELECT max(sequence) FROM events WHERE run_id = NEW.run_id), 0)
           OR NEW.last_digest IS NOT (SELECT event_digest FROM events
                                      WHERE run_id = NEW.run_id AND sequence = NEW.last_sequence);
END;
CREATE TRIGGER removals_update BEFORE UPDATE ON removals BEGIN
    SELECT RAISE(ABORT, 'removals: a removal never changes');
END;
-- A removal that was begun by mistake is taken back as long as nothing of the run is gone.
CREATE TRIGGER removals_delete BEFORE DELETE ON removals BEGIN
    SELECT RAISE(ABORT, 'removals: a removal is never forgotten, unless the run is still whole')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = OLD.run_id)
           OR OLD.last_sequence IS NOT (SELECT count(*) FROM events WHERE run_id = OLD.run_id);
END;

-- -------- Checkpoints: snapshots by their SHA-256, shared by runs

CREATE TABLE checkpoints (
    -- Snapshots of runs, keyed by their SHA-256 and shared by all runs. A snapshot never changes.
    sha256    TEXT PRIMARY KEY,
    byte_size INTEGER NOT NULL,
    body      BLOB NOT NULL                    -- the bytes of run.json as they are
) STRICT;

CREATE TRIGGER checkpoints_insert BEFORE INSERT ON checkpoints BEGIN
    SELECT RAISE(ABORT, 'checkpoints: this digest is stored')
        WHERE EXISTS (SELECT 1 FROM checkpoints WHERE sha256 = NEW.sha256)
           OR EXISTS (SELECT 1 FROM checkpoints WHERE rowid = NEW.rowid);
    SELECT RAISE(ABORT, 'checkpoints: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'checkpoints: byte_size must be the size of the body')
        WHERE NEW.byte_size IS NOT length(NEW.body);
    SELECT RAISE(ABORT, 'checkpoints: larger than max-checkpoint-bytes')
        WHERE NEW.byte_size > (SELECT value FROM settings WHERE key = 'max-checkpoint-bytes');
END;
CREATE TRIGGER checkpoints_insert_number AFTER INSERT ON checkpoints BEGIN
    SELECT RAISE(ABORT, 'checkpoints: a row number below 1') WHERE NEW.rowid < 1;
END;
CREATE TRIGGER checkpoints_update BEFORE UPDATE ON checkpoints BEGIN
    SELECT RAISE(ABORT, 'checkpoints: a checkpoint never changes');
END;
CREATE TRIGGER checkpoints_delete BEFORE DELETE ON checkpoints BEGIN
    SELECT RAISE(ABORT, 'checkpoints: an event names this checkpoint')
        WHERE EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = OLD.sha256);
    SELECT RAISE(ABORT, 'checkpoints: one is deleted only while retention removes a run')
        WHERE NOT EXISTS (SELECT 1 FROM removals JOIN runs USING (run_id));
END;

-- -------- Events: the hash chain

CREATE TABLE events (
    -- The journal: each event of each run, a hash chain that is only appended to.
    -- The canonical line is stored. Every other envelope key is derived from it, so that the two cannot disagree.
    -- json_extract cuts a string at U+0000. Only idempotency_key may hold one; it then shows its JSON spelling.
    -- run_id and sequence are STORED, so that the run of a damaged line is still known.
    event_number      INTEGER PRIMARY KEY,
    line              TEXT NOT NULL,           -- canonical JSON, without its newline
    journal_bytes     INTEGER NOT NULL,        -- bytes of this run's journal up to and with this line, newlines counted
    is_json           INTEGER GENERATED ALWAYS AS (json_valid(line)) VIRTUAL,
    run_id            TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.run_id') END) STORED,
    sequence          INTEGER GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.sequence') END) STORED,
    schema            TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.schema') END) VIRTUAL,
    schema_version    INTEGER GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.schema_version') END) VIRTUAL,
    event_id          TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.event_id') END) VIRTUAL,
    event_type        TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.event_type') END) VIRTUAL,
    recorded_at       TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.recorded_at') END) VIRTUAL,
    idempotency_key   TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN
        CASE WHEN line GLOB '*\u0000*' AND instr(line -> '$.idempotency_key', '\u0000') THEN line -> '$.idempotency_key'
             ELSE json_extract(line, '$.idempotency_key') END END) VIRTUAL,
    request_digest    TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.request_digest') END) VIRTUAL,
    previous_digest   TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.previous_digest') END) VIRTUAL,
    event_digest      TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN json_extract(line, '$.event_digest') END) VIRTUAL,
    payload           TEXT GENERATED ALWAYS AS (CASE WHEN is_json THEN line -> '$.payload' END) VIRTUAL,
    -- Only a checkpoint event has these two.
    checkpoint_sha256 TEXT GENERATED ALWAYS AS (CASE event_type WHEN 'run.snapshot.checkpointed'
        THEN json_extract(line, '$.payload.sha256') END) VIRTUAL,
    paired_event_type TEXT GENERATED ALWAYS AS (CASE event_type WHEN 'run.snapshot.checkpointed'
        THEN json_extract(line, '$.payload.paired_event_type') END) VIRTUAL
) STRICT;

CREATE UNIQUE INDEX events_by_sequence ON events (run_id, sequence);
CREATE UNIQUE INDEX events_by_key ON events (run_id, idempotency_key);
-- For the latest checkpoint of a run, and for whether it has an event that is none.
CREATE INDEX events_by_kind ON events (run_id, event_type = 'run.snapshot.checkpointed', sequence);
-- For who names a checkpoint.
CREATE INDEX events_of_checkpoint ON events (checkpoint_sha256, run_id) WHERE checkpoint_sha256 IS NOT NULL;

-- What legbook's own write path appends is known whole without walking its JSON: a checkpoint event is spelled anew by
-- its own trigger, and a status event's payload is its status word. Every other payload is walked here.
CREATE TRIGGER events_insert_payload BEFORE INSERT ON events
WHEN NEW.event_type <> 'run.snapshot.checkpointed'
    AND NOT EXISTS (SELECT 1 FROM event_statuses
                    WHERE event_type = NEW.event_type
                      AND (NEW.payload = '{"detail":"' || status || '"}'
                           OR NEW.payload = '{"detail":"' || status || '","status":"' || status || '"}')) BEGIN
    SELECT RAISE(ABORT, 'events: the payload is not an object with keys of its type only')
        WHERE (json_type(NEW.line, '$.payload') <> 'object'
               OR EXISTS (SELECT 1 FROM json_each(NEW.payload) AS entry
                          WHERE NOT EXISTS (SELECT 1 FROM event_payload_keys AS allowed
                                            WHERE allowed.event_type = NEW.event_type AND allowed.key = entry.key)));
    -- Spelled anew as well: anything but null, a 64-bit integer in its shortest form and a text is left out, a repeated
    -- key comes once, a key out of order comes elsewhere, an escaped key comes plain.
    SELECT RAISE(ABORT, 'events: a payload is flat: sorted keys, each once, with null, integers and texts')
        WHERE NEW.payload IS NOT (
            SELECT '{' || coalesce(group_concat(member, ','), '') || '}'
            FROM (SELECT '"' || key || '":' || CASE type
                             WHEN 'null' THEN 'null'
                             WHEN 'integer' THEN value
                             WHEN 'text' THEN NEW.payload -> ('$."' || key || '"')
                         END AS member
                  FROM json_each(NEW.payload) GROUP BY key ORDER BY key));
    SELECT RAISE(ABORT, 'events: a text in a payload is at most 512 characters')
        WHERE EXISTS (SELECT 1 FROM json_each(replace(replace(NEW.payload, '\\', '.'), '\u0000', '.'))
                      WHERE type = 'text' AND length(value) > 512);
END;
-- Made after its sister: of two triggers the one made last fires first.
CREATE TRIGGER events_insert BEFORE INSERT ON events BEGIN
    SELECT RAISE(ABORT, 'events: a line with its newline is at most 16384 bytes')
        WHERE length(CAST(NEW.line AS BLOB)) > 16383;
    SELECT RAISE(ABORT, 'events: the line is not JSON') WHERE NOT NEW.is_json;
    -- Where no number is given it is -1 here, and no row has that.
    SELECT RAISE(ABORT, 'events: this row exists')
        WHERE NEW.event_number <> -1 AND EXISTS (SELECT 1 FROM events WHERE event_number = NEW.event_number);
    -- The whole envelope spelled anew: twelve keys, each once, in order, no white space, nothing before or behind. A value
    -- that json_extract changes (an escape, a real, a text cut at U+0000) or that is missing comes out different.
    SELECT RAISE(ABORT, 'events: the line is not the canonical envelope brigade.run_event.v1')
        WHERE NEW.line IS NOT
            '{"event_digest":"' || NEW.event_digest || '","event_id":"' || NEW.event_id
            || '","event_type":"' || NEW.event_type || '","idempotency_key":'
            || CASE WHEN NEW.line GLOB '*\*' THEN NEW.line -> '$.idempotency_key' ELSE '"' || NEW.idempotency_key || '"' END
            || ',"payload":' || NEW.payload
            || ',"previous_digest":' || coalesce('"' || NEW.previous_digest || '"', 'null')
            || ',"recorded_at":"' || NEW.recorded_at || '","request_digest":"' || NEW.request_digest
            || '","run_id":"' || NEW.run_id
            || '","schema":"brigade.run_event.v1","schema_version":1,"sequence":' || NEW.sequence || '}';
    -- Key and payload keep their spelling above, so their escapes are looked at here: \\ \" \b \f \n \r \t are taken out,
    -- and what is left may only be a control character without a short form. LIMIT: so that they are taken out once.
    SELECT RAISE(ABORT, 'events: an escape that canonical JSON does not use')
        WHERE CASE WHEN NEW.line GLOB '*\*' THEN EXISTS (
            SELECT 1 FROM (SELECT replace(replace(replace(replace(replace(replace(replace(NEW.line,
                '\\', '.'), '\"', '.'), '\b', '.'), '\f', '.'), '\n', '.'), '\r', '.'), '\t', '.') AS rest LIMIT 1)
            WHERE rest GLOB '*\[^u]*' OR rest GLOB '*\u[^0]*' OR rest GLOB '*\u0[^0]*' OR rest GLOB '*\u00[^01]*'
               OR rest GLOB '*\u00?[^0-9a-f]*' OR rest GLOB '*\u000[89acd]*') END;
    SELECT RAISE(ABORT, 'events: there is no such run')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'events: this run is being removed')
        WHERE EXISTS (SELECT 1 FROM removals WHERE run_id = NEW.run_id);
    -- The last event is looked up once; a canonical line begins with its digest.
    SELECT CASE
        WHEN NEW.sequence <> 1 + coalesce(last.sequence, 0)
            THEN RAISE(ABORT, 'events: sequence must be exactly one more than the run''s last')
        WHEN NEW.previous_digest IS NOT substr(last.line, 18, 64) OR (NEW.previous_digest IS NULL) <> (NEW.sequence = 1)
            THEN RAISE(ABORT, 'events: previous_digest must be the last event_digest, null at sequence 1')
        WHEN NEW.journal_bytes IS NOT length(CAST(NEW.line AS BLOB)) + 1 + coalesce(last.journal_bytes, 0)
            THEN RAISE(ABORT, 'events: journal_bytes must be the bytes of the journal with this line and its newline')
        END
        FROM runs LEFT JOIN events AS last
            ON last.run_id = NEW.run_id AND last.sequence = (SELECT max(sequence) FROM events WHERE run_id = NEW.run_id)
        WHERE runs.run_id = NEW.run_id;
    SELECT RAISE(ABORT, 'events: a digest is 64 lower-case hex characters')
        WHERE length(NEW.event_digest) <> 64 OR NEW.event_digest GLOB '*[^0-9a-f]*'
           OR length(NEW.request_digest) <> 64 OR NEW.request_digest GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'events: event_id is run_id-sequence-first 12 of event_digest')
        WHERE NEW.event_id <> NEW.run_id || '-' || printf('%06d', NEW.sequence) || '-' || substr(NEW.event_digest, 1, 12);
    -- A day that the calendar does not have comes back as another one.
    SELECT RAISE(ABORT, 'events: recorded_at is YYYY-MM-DDTHH:MM:SS.ffffffZ')
        WHERE NEW.recorded_at NOT GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z'
           OR datetime(substr(NEW.recorded_at, 1, 19), '+0 days') IS NOT replace(substr(NEW.recorded_at, 1, 19), 'T', ' ');
    -- Characters are counted with \\ and U+0000 as one plain character each, because length stops at U+0000. Without an
    -- escape the envelope above has shown a text.
    SELECT RAISE(ABORT, 'events: an idempotency key is a text of 1 to 128 characters')
        WHERE CASE
                  WHEN NEW.line NOT GLOB '*\*' THEN length(NEW.idempotency_key) NOT BETWEEN 1 AND 128
                  ELSE json_type(NEW.line, '$.idempotency_key') <> 'text'
                       OR length(replace(replace(NEW.line -> '$.idempotency_key', '\\', '.'), '\u0000', '.') ->> '$')
                          NOT BETWEEN 1 AND 128
              END;
    SELECT RAISE(ABORT, 'events: the run has an event with this idempotency key')
        WHERE EXISTS (SELECT 1 FROM events WHERE run_id = NEW.run_id AND idempotency_key = NEW.idempotency_key);
    SELECT RAISE(ABORT, 'events: the event type is not registered')
        WHERE NOT EXISTS (SELECT 1 FROM event_types WHERE event_type = NEW.event_type);
    SELECT RAISE(ABORT, 'events: the journal would cross max-journal-events')
        WHERE NEW.sequence > (SELECT value FROM settings WHERE key = 'max-journal-events');
    SELECT RAISE(ABORT, 'events: the journal would cross max-journal-bytes')
        WHERE NEW.journal_bytes > (SELECT value FROM settings WHERE key = 'max-journal-bytes');
END;
-- The payload begins with byte_size; CAST reads a number as far as it goes.
CREATE TRIGGER events_insert_checkpoint BEFORE INSERT ON events
WHEN NEW.event_type = 'run.snapshot.checkpointed' BEGIN
    SELECT RAISE(ABORT, 'events: a checkpoint event has exactly its six keys with their fixed values')
        WHERE NEW.payload IS NOT
            '{"byte_size":' || CAST(substr(NEW.payload, 14) AS INTEGER)
            || ',"media_type":"application/vnd.brigade.run+json","paired_event_type":'
            || coalesce('"' || NEW.paired_event_type || '"', 'null')
            || ',"path":"events/recovery-checkpoints/' || NEW.checkpoint_sha256
            || '.json","privacy_class":"private","sha256":"' || NEW.checkpoint_sha256 || '"}';
    -- The event types of event_statuses, by its index, are those of status_events.
    SELECT RAISE(ABORT, 'events: paired_event_type is null or the event type of a status')
        WHERE NEW.paired_event_type IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM event_statuses WHERE event_type = NEW.paired_event_type);
    SELECT RAISE(ABORT, 'events: the checkpoint is not stored with that size')
        WHERE NOT EXISTS (SELECT 1 FROM checkpoints WHERE sha256 = NEW.checkpoint_sha256
                          AND byte_size = CAST(substr(NEW.payload, 14) AS INTEGER));
END;
CREATE TRIGGER events_insert_number AFTER INSERT ON events BEGIN
    SELECT RAISE(ABORT, 'events: event_number must be one more than the highest')
        WHERE NEW.event_number <> 1 + coalesce((SELECT max(event_number) FROM events
                                                WHERE event_number <> NEW.event_number), 0);
END;
CREATE TRIGGER events_update BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events: the journal is append-only');
END;
CREATE TRIGGER events_delete BEFORE DELETE ON events BEGIN
    SELECT RAISE(ABORT, 'events: the journal is append-only')
        WHERE NOT EXISTS (SELECT 1 FROM removals WHERE run_id = OLD.run_id);
END;

-- A bound may not be moved below what a journal holds already: recovery would refuse that journal.
CREATE TRIGGER settings_update BEFORE UPDATE ON settings BEGIN
    SELECT RAISE(ABORT, 'settings: only the value of a bound changes')
        WHERE NEW.key IS NOT OLD.key OR NEW.lowest IS NOT OLD.lowest OR NEW.highest IS NOT OLD.highest
           OR NEW.meaning IS NOT OLD.meaning;
    SELECT RAISE(ABORT, 'settings: the value is outside what this bound allows')
        WHERE NEW.value NOT BETWEEN OLD.lowest AND OLD.highest;
    SELECT RAISE(ABORT, 'settings: a journal or checkpoint holds more than that already')
        WHERE NEW.value < OLD.value AND CASE NEW.key
            WHEN 'max-journal-events' THEN EXISTS (SELECT 1 FROM events WHERE sequence > NEW.value)
            WHEN 'max-journal-bytes' THEN EXISTS (SELECT 1 FROM events WHERE journal_bytes > NEW.value)
            WHEN 'max-checkpoint-bytes' THEN EXISTS (SELECT 1 FROM checkpoints WHERE byte_size > NEW.value)
            ELSE 0 END;
END;

-- -------- Recoveries: the receipts

CREATE TABLE recoveries (
    -- Receipts: the last snapshot of each run that recovery ended, with what was known of its dead owner.
    recovery_number INTEGER PRIMARY KEY,
    run_id          TEXT NOT NULL,
    after_sequence  INTEGER NOT NULL,          -- the journal's last sequence when it was made; 0: no journal
    recovered_at    TEXT NOT NULL,
    owner_pid       INTEGER,                   -- the dead owner's
    prior_status    TEXT,
    sha256          TEXT NOT NULL,
    byte_size       INTEGER NOT NULL,
    receipt         BLOB NOT NULL              -- the bytes of run.json as recovery wrote them
) STRICT;

CREATE INDEX recoveries_by_run ON recoveries (run_id, after_sequence);

CREATE TRIGGER recoveries_insert BEFORE INSERT ON recoveries BEGIN
    SELECT RAISE(ABORT, 'recoveries: this row exists')
        WHERE EXISTS (SELECT 1 FROM recoveries WHERE recovery_number = NEW.recovery_number);
    SELECT RAISE(ABORT, 'recoveries: there is no such run')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'recoveries: this run is being removed')
        WHERE EXISTS (SELECT 1 FROM removals WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'recoveries: after_sequence must be the run''s last sequence')
        WHERE NEW.after_sequence IS NOT coalesce((SELECT max(sequence) FROM events WHERE run_id = NEW.run_id), 0);
    SELECT RAISE(ABORT, 'recoveries: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'recoveries: byte_size must be the size of the receipt')
        WHERE NEW.byte_size IS NOT length(NEW.receipt);
    SELECT RAISE(ABORT, 'recoveries: the run has a receipt at this sequence')
        WHERE NEW.after_sequence > 0 AND EXISTS (SELECT 1 FROM recoveries
            WHERE run_id = NEW.run_id AND after_sequence = NEW.after_sequence);
    SELECT RAISE(ABORT, 'recoveries: a receipt is stored under the claim of a recovery')
        WHERE NOT EXISTS (SELECT 1 FROM locks WHERE run_id = NEW.run_id AND claim_id IS NOT NULL)
          AND NOT EXISTS (SELECT 1 FROM imports WHERE run_id = NEW.run_id);
    -- Looked at as text, because JSON functions refuse a NaN. A line break is never inside a string, so the indentation
    -- tells how deep a key is. src/receipt.rs has the rule whole.
    SELECT RAISE(ABORT, 'recoveries: a receipt has status failed, phase stale-lock-recovery and what its row says')
        WHERE EXISTS (
            SELECT 1
            FROM (SELECT CAST(NEW.receipt AS TEXT) AS said, char(10) || '  "' AS top, char(10) || '    "' AS deep LIMIT 1)
            WHERE instr(said, top || 'status": "failed"') = 0
               OR instr(said, top || 'failure_phase": "stale-lock-recovery"') = 0
               OR instr(said, top || 'finished_at": "' || NEW.recovered_at || '"') = 0
               OR instr(said, top || 'status_started_at": "' || NEW.recovered_at || '"') = 0
               OR instr(said, top || 'failure": {') = 0
               OR instr(said, deep || 'phase": "stale-lock-recovery"') = 0
               OR instr(said, deep || 'recovered_at": "' || NEW.recovered_at || '"') = 0
               OR instr(said, deep || 'owner_pid": ' || coalesce(NEW.owner_pid, '')) = 0
               OR instr(said, deep || 'prior_status": "') = 0);
    SELECT RAISE(ABORT, 'recoveries: the latest checkpoint has ended the run')
        WHERE EXISTS (
            SELECT 1
            FROM (SELECT CAST(body AS TEXT) AS said
                  FROM checkpoints
                  WHERE sha256 = (SELECT checkpoint_sha256 FROM events
                                  WHERE run_id = NEW.run_id AND checkpoint_sha256 IS NOT NULL
                                  ORDER BY sequence DESC
                                  LIMIT 1))
            WHERE CASE WHEN json_valid(said) THEN
                json_type(said, '$.status') = 'text' AND json_extract(said, '$.status') NOT IN
                    ('', 'started', 'planning', 'dispatching', 'result-processing', 'synthesizing', 'handoff',
                     'artifact-collection', 'running')
                OR json_type(said, '$.finished_at') = 'text' AND json_extract(said, '$.finished_at') <> '' END);
END;
CREATE TRIGGER recoveries_insert_number AFTER INSERT ON recoveries BEGIN
    SELECT RAISE(ABORT, 'recoveries: recovery_number must be one more than the highest')
        WHERE NEW.recovery_number <> 1 + coalesce((SELECT max(recovery_number) FROM recoveries
                                                   WHERE recovery_number <> NEW.recovery_number), 0);
END;
CREATE TRIGGER recoveries_update BEFORE UPDATE ON recoveries BEGIN
    SELECT RAISE(ABORT, 'recoveries: a receipt never changes');
END;
CREATE TRIGGER recoveries_delete BEFORE DELETE ON recoveries BEGIN
    SELECT RAISE(ABORT, 'recoveries: a receipt is never removed')
        WHERE NOT EXISTS (SELECT 1 FROM removals WHERE run_id = OLD.run_id);
END;

-- -------- Locks: one a workspace

CREATE TABLE locks (
    -- Who holds which workspace: one row for each lock.
    workspace           TEXT PRIMARY KEY,      -- absolute, links resolved
    run_id              TEXT NOT NULL,
    token_sha256        TEXT NOT NULL,         -- the token itself is kept by its owner alone
    acquired_at         TEXT NOT NULL,
    -- The owner, whole: what tells it from a stranger with the same pid.
    pid                 INTEGER,
    start_time          TEXT,
    boot_id             TEXT,
    machine_id          TEXT,
    host_name           TEXT,
    pid_namespace       TEXT,
    -- A lease keeps the lock live without any process for so long after the last write: at most 366 days.
    lease_seconds       INTEGER,
    last_write_at       TEXT NOT NULL,
    -- A recoverer's claim: while it stands no write is accepted.
    claim_id            TEXT,
    claimed_at          TEXT,
    claim_pid           INTEGER,
    claim_start_time    TEXT,
    claim_boot_id       TEXT,
    claim_machine_id    TEXT,
    claim_host_name     TEXT,
    claim_pid_namespace TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX locks_by_run ON locks (run_id);

CREATE TRIGGER locks_insert BEFORE INSERT ON locks BEGIN
    SELECT RAISE(ABORT, 'locks: this workspace is locked')
        WHERE EXISTS (SELECT 1 FROM locks WHERE workspace = NEW.workspace);
    SELECT RAISE(ABORT, 'locks: there is no such run')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'locks: this run is being removed')
        WHERE EXISTS (SELECT 1 FROM removals WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'locks: the run holds the lock of another workspace')
        WHERE EXISTS (SELECT 1 FROM locks WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'locks: token_sha256 is 64 lower-case hex characters')
        WHERE length(NEW.token_sha256) <> 64 OR length(CAST(NEW.token_sha256 AS BLOB)) <> 64
           OR NEW.token_sha256 GLOB '*[^0-9a-f]*';
    SELECT RAISE(ABORT, 'locks: a lease is 1 to 31622400 seconds (366 days)')
        WHERE NEW.lease_seconds NOT BETWEEN 1 AND 31622400;
    SELECT RAISE(ABORT, 'locks: an owner has a pid')
        WHERE NEW.pid IS NULL OR NEW.pid NOT BETWEEN 1 AND 4294967295;
    SELECT RAISE(ABORT, 'locks: a time is ISO 8601')
        WHERE NEW.acquired_at NOT GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*'
           OR NEW.last_write_at NOT GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*';
    SELECT RAISE(ABORT, 'locks: a new lock has no claim')
        WHERE coalesce(NEW.claim_id, NEW.claimed_at, NEW.claim_pid) IS NOT NULL;
END;
CREATE TRIGGER locks_update BEFORE UPDATE ON locks BEGIN
    SELECT RAISE(ABORT, 'locks: workspace, run, token and acquired_at of a lock never change')
        WHERE NEW.workspace IS NOT OLD.workspace OR NEW.run_id IS NOT OLD.run_id
           OR NEW.token_sha256 IS NOT OLD.token_sha256 OR NEW.acquired_at IS NOT OLD.acquired_at;
    SELECT RAISE(ABORT, 'locks: a lease is 1 to 31622400 seconds (366 days)')
        WHERE NEW.lease_seconds NOT BETWEEN 1 AND 31622400;
    SELECT RAISE(ABORT, 'locks: an owner has a pid')
        WHERE NEW.pid IS NULL OR NEW.pid NOT BETWEEN 1 AND 4294967295;
    SELECT RAISE(ABORT, 'locks: a time is ISO 8601')
        WHERE NEW.last_write_at NOT GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*'
           OR NEW.claimed_at NOT GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*';
    SELECT RAISE(ABORT, 'locks: a claim has an id, a time and a pid, or there is none')
        WHERE (NEW.claim_id IS NULL) <> (NEW.claimed_at IS NULL) OR (NEW.claim_id IS NULL) <> (NEW.claim_pid IS NULL)
           OR NEW.claim_pid NOT BETWEEN 1 AND 4294967295;
    SELECT RAISE(ABORT, 'locks: while a claim stands the owner does not change')
        WHERE OLD.claim_id IS NOT NULL AND NEW.claim_id IS NOT NULL
          AND (NEW.pid IS NOT OLD.pid OR NEW.start_time IS NOT OLD.start_time OR NEW.boot_id IS NOT OLD.boot_id
               OR NEW.machine_id IS NOT OLD.machine_id OR NEW.host_name IS NOT OLD.host_name
               OR NEW.pid_namespace IS NOT OLD.pid_namespace OR NEW.last_write_at IS NOT OLD.last_write_at);
END;
