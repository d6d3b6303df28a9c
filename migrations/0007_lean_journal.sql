-- The journal again, with less work for each event; and what an import lists, likewise.
--
-- Reason: an append is most of what a write and an import cost, and most of that went into asking the same line the same
-- things again. The rules, their words and the stored rows stay as they were. New are the column is_json, so that whether
-- the line is JSON is asked once and not for each column, and how a rule is asked: the last event is looked up once, and
-- what only a line with an escape can break is asked of such a line only.
-- A column's definition cannot be altered, so the table is made anew and its rows are copied as they are, without triggers.
-- Runs on SQLite 3.40 with no function of legbook's own.

-- Without this the views and triggers of other tables that name events would follow the old table.
PRAGMA legacy_alter_table = ON;
ALTER TABLE events RENAME TO events_before;
PRAGMA legacy_alter_table = OFF;

-- The canonical line is what is stored; every other envelope key is derived from it, so that they cannot disagree.
-- json_extract cuts a string at U+0000; only idempotency_key may hold one, and then shows its JSON spelling instead.
-- run_id and sequence are kept (STORED), so that a spoiled line can still be told whose it was.
CREATE TABLE events (
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

INSERT INTO events (event_number, line, journal_bytes)
SELECT event_number, line, journal_bytes FROM events_before ORDER BY event_number;
-- Its indexes and triggers go with it.
DROP TABLE events_before;

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
