-- The handoff: rounds, nominations, judgments, pending reports with their angle inputs, angles, and the topic queue.
--
-- Reason: three legs of one protocol are three processes, maybe at once, with a host between them. What makes them one
-- round must hold whoever writes: one current round a store, judgments only for ids that the round has, a pending report
-- only for the current round that was judged, one queue count a (name, run_ref). As in the core each rule is a trigger,
-- and each BEFORE INSERT refuses a key that exists. A round's state is no column: it is what these rows say.
-- Runs on SQLite 3.40 with no function of legbook's own.

-- -------- Rounds: what one leg 1 stored

CREATE TABLE rounds (
    -- Handoff rounds: what leg 1 stored. One round at most is current.
    -- The columns beside head repeat what head says. A reader refuses a row if they differ.
    round_number     INTEGER PRIMARY KEY,
    bundle_id        TEXT NOT NULL UNIQUE,
    generated_at     TEXT NOT NULL,            -- the stamp from which the age counts
    mock             INTEGER NOT NULL,         -- 1: made from fixtures
    nomination_count INTEGER NOT NULL,         -- the nominations that were stored with it
    head             TEXT NOT NULL,            -- the bundle without its nominations, JSON as tokens
    sha256           TEXT NOT NULL,            -- of head
    stored_at        TEXT NOT NULL,
    expired_at       TEXT,                     -- when a leg found it stale; stale for good, whatever a clock says later
    nothing_solid    INTEGER,                  -- the latest attempt at judging of which the engine said: nothing solid
    superseded_at    TEXT                      -- null: the current round
) STRICT;

CREATE UNIQUE INDEX rounds_current ON rounds (superseded_at IS NULL) WHERE superseded_at IS NULL;

CREATE TRIGGER rounds_insert BEFORE INSERT ON rounds BEGIN
    SELECT RAISE(ABORT, 'rounds: this round exists')
        WHERE EXISTS (SELECT 1 FROM rounds WHERE bundle_id = NEW.bundle_id OR round_number = NEW.round_number);
    SELECT RAISE(ABORT, 'rounds: a store has one current round; supersede it first')
        WHERE EXISTS (SELECT 1 FROM rounds WHERE superseded_at IS NULL);
    SELECT RAISE(ABORT, 'rounds: a new round is current, fresh and not judged')
        WHERE NEW.superseded_at IS NOT NULL OR NEW.expired_at IS NOT NULL OR NEW.nothing_solid IS NOT NULL;
    SELECT RAISE(ABORT, 'rounds: a bundle id is 1 to 64 of A-Z a-z 0-9 . _ -')
        WHERE length(NEW.bundle_id) NOT BETWEEN 1 AND 64 OR NEW.bundle_id GLOB '*[^A-Za-z0-9._-]*'
           OR length(CAST(NEW.bundle_id AS BLOB)) <> length(NEW.bundle_id);
    SELECT RAISE(ABORT, 'rounds: mock is 0 or 1') WHERE NEW.mock NOT IN (0, 1);
    SELECT RAISE(ABORT, 'rounds: a round has nominations') WHERE NEW.nomination_count < 1;
    SELECT RAISE(ABORT, 'rounds: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
END;
-- The highest number is the latest round: nobody may use the numbers up.
CREATE TRIGGER rounds_insert_number AFTER INSERT ON rounds BEGIN
    SELECT RAISE(ABORT, 'rounds: round_number must be one more than the highest')
        WHERE NEW.round_number <> 1 + coalesce((SELECT max(round_number) FROM rounds
                                                WHERE round_number <> NEW.round_number), 0);
END;
CREATE TRIGGER rounds_update BEFORE UPDATE ON rounds BEGIN
    SELECT RAISE(ABORT, 'rounds: a round never changes; it expires once and is superseded once')
        WHERE NEW.round_number IS NOT OLD.round_number OR NEW.bundle_id IS NOT OLD.bundle_id
           OR NEW.generated_at IS NOT OLD.generated_at OR NEW.mock IS NOT OLD.mock
           OR NEW.nomination_count IS NOT OLD.nomination_count OR NEW.head IS NOT OLD.head
           OR NEW.sha256 IS NOT OLD.sha256 OR NEW.stored_at IS NOT OLD.stored_at
           OR (OLD.expired_at IS NOT NULL AND NEW.expired_at IS NOT OLD.expired_at)
           OR (OLD.superseded_at IS NOT NULL AND NEW.superseded_at IS NOT OLD.superseded_at);
    SELECT RAISE(ABORT, 'rounds: nothing_solid is the latest attempt at judging the current round')
        WHERE NEW.nothing_solid IS NOT OLD.nothing_solid
          AND (OLD.superseded_at IS NOT NULL
               OR NEW.nothing_solid IS NOT (SELECT max(attempt) FROM judgments WHERE bundle_id = OLD.bundle_id)
               OR NEW.nothing_solid IS NULL);
END;
CREATE TRIGGER rounds_delete BEFORE DELETE ON rounds BEGIN
    SELECT RAISE(ABORT, 'rounds: a round is history and never deleted');
END;

-- -------- Nominations: the pool of a round

CREATE TABLE nominations (
    -- The pool of topics of each round.
    nomination_number INTEGER PRIMARY KEY,
    bundle_id         TEXT NOT NULL REFERENCES rounds (bundle_id),
    position          INTEGER NOT NULL,        -- 1, 2, … in pool order
    nomination_id     TEXT NOT NULL,           -- n1, n2, …
    body              TEXT NOT NULL,           -- the row with its id, JSON as tokens
    sha256            TEXT NOT NULL,           -- of body
    UNIQUE (bundle_id, position),
    UNIQUE (bundle_id, nomination_id)
) STRICT;

CREATE TRIGGER nominations_insert BEFORE INSERT ON nominations BEGIN
    SELECT RAISE(ABORT, 'nominations: this nomination exists')
        WHERE EXISTS (SELECT 1 FROM nominations WHERE nomination_number = NEW.nomination_number)
           OR EXISTS (SELECT 1 FROM nominations WHERE bundle_id = NEW.bundle_id AND position = NEW.position)
           OR EXISTS (SELECT 1 FROM nominations
                      WHERE bundle_id = NEW.bundle_id AND nomination_id = NEW.nomination_id);
    SELECT RAISE(ABORT, 'nominations: only the current round takes nominations, as many as it counts')
        WHERE NOT EXISTS (SELECT 1 FROM rounds WHERE bundle_id = NEW.bundle_id AND superseded_at IS NULL
                          AND NEW.position BETWEEN 1 AND nomination_count);
    SELECT RAISE(ABORT, 'nominations: an id is 1 to 64 of A-Z a-z 0-9 . _ -')
        WHERE length(NEW.nomination_id) NOT BETWEEN 1 AND 64 OR NEW.nomination_id GLOB '*[^A-Za-z0-9._-]*'
           OR length(CAST(NEW.nomination_id AS BLOB)) <> length(NEW.nomination_id);
    SELECT RAISE(ABORT, 'nominations: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER nominations_insert_number AFTER INSERT ON nominations WHEN NEW.nomination_number < 1 BEGIN
    SELECT RAISE(ABORT, 'nominations: nomination_number starts at 1');
END;
CREATE TRIGGER nominations_update BEFORE UPDATE ON nominations BEGIN
    SELECT RAISE(ABORT, 'nominations: a nomination never changes');
END;
CREATE TRIGGER nominations_delete BEFORE DELETE ON nominations BEGIN
    SELECT RAISE(ABORT, 'nominations: a nomination is history and never deleted');
END;

-- -------- Judgments: what the host said

CREATE TABLE judgments (
    -- What the host said of each nomination. The judgments of the highest attempt count.
    -- Null: the host gave no usable value.
    bundle_id     TEXT NOT NULL REFERENCES rounds (bundle_id),
    attempt       INTEGER NOT NULL,            -- 1, 2, …
    nomination_id TEXT NOT NULL,
    name          TEXT,
    junk          INTEGER,
    worthiness    INTEGER,                     -- 0 to 100
    body          TEXT NOT NULL,               -- the host's row, JSON as tokens
    judged_at     TEXT NOT NULL,
    PRIMARY KEY (bundle_id, attempt, nomination_id),
    FOREIGN KEY (bundle_id, nomination_id) REFERENCES nominations (bundle_id, nomination_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER judgments_insert BEFORE INSERT ON judgments BEGIN
    SELECT RAISE(ABORT, 'judgments: this judgment exists')
        WHERE EXISTS (SELECT 1 FROM judgments WHERE bundle_id = NEW.bundle_id AND attempt = NEW.attempt
                      AND nomination_id = NEW.nomination_id);
    SELECT RAISE(ABORT, 'judgments: only the current round is judged')
        WHERE NOT EXISTS (SELECT 1 FROM rounds WHERE bundle_id = NEW.bundle_id AND superseded_at IS NULL);
    SELECT RAISE(ABORT, 'judgments: the round has no nomination of this id')
        WHERE NOT EXISTS (SELECT 1 FROM nominations
                          WHERE bundle_id = NEW.bundle_id AND nomination_id = NEW.nomination_id);
    SELECT RAISE(ABORT, 'judgments: attempts count up from 1')
        WHERE NEW.attempt < 1
           OR NEW.attempt - coalesce((SELECT max(attempt) FROM judgments WHERE bundle_id = NEW.bundle_id), 0)
              NOT IN (0, 1);
    SELECT RAISE(ABORT, 'judgments: junk is 0, 1 or null and worthiness 0 to 100 or null')
        WHERE NEW.junk NOT IN (0, 1) OR NEW.worthiness NOT BETWEEN 0 AND 100;
END;
CREATE TRIGGER judgments_update BEFORE UPDATE ON judgments BEGIN
    SELECT RAISE(ABORT, 'judgments: a judgment never changes; judge again');
END;
CREATE TRIGGER judgments_delete BEFORE DELETE ON judgments BEGIN
    SELECT RAISE(ABORT, 'judgments: a judgment is history and never deleted');
END;

-- -------- Pending reports and their angle inputs: what the end of leg 2 stored

CREATE TABLE pending_reports (
    -- What the end of leg 2 stored: a report that waits for the host's angles. One at most is current.
    pending_number INTEGER PRIMARY KEY,
    bundle_id      TEXT NOT NULL REFERENCES rounds (bundle_id),
    generated_at   TEXT NOT NULL,              -- the stamp from which its own age counts
    run_ref        TEXT NOT NULL,              -- under which the queue counts its topics
    mock           INTEGER NOT NULL,
    input_count    INTEGER NOT NULL,           -- the angle inputs that were stored with it
    body           TEXT NOT NULL,              -- the pending report without its angle inputs, JSON as tokens
    sha256         TEXT NOT NULL,              -- of body
    expired_at     TEXT,                       -- as in rounds
    finalized_at   TEXT,                       -- when leg 3 first gave the report
    superseded_at  TEXT                        -- null: the current pending report
) STRICT;

CREATE UNIQUE INDEX pending_reports_current ON pending_reports (superseded_at IS NULL) WHERE superseded_at IS NULL;
CREATE INDEX pending_reports_by_bundle ON pending_reports (bundle_id);

CREATE TRIGGER pending_reports_insert BEFORE INSERT ON pending_reports BEGIN
    SELECT RAISE(ABORT, 'pending_reports: this pending report exists')
        WHERE EXISTS (SELECT 1 FROM pending_reports WHERE pending_number = NEW.pending_number);
    SELECT RAISE(ABORT, 'pending_reports: a store has one current pending report; supersede it first')
        WHERE EXISTS (SELECT 1 FROM pending_reports WHERE superseded_at IS NULL);
    SELECT RAISE(ABORT, 'pending_reports: a new pending report is current, fresh and not finalized')
        WHERE NEW.superseded_at IS NOT NULL OR NEW.expired_at IS NOT NULL OR NEW.finalized_at IS NOT NULL;
    SELECT RAISE(ABORT, 'pending_reports: only the current round has one, made with or without mock as the round was')
        WHERE NOT EXISTS (SELECT 1 FROM rounds
                          WHERE bundle_id = NEW.bundle_id AND superseded_at IS NULL AND mock = NEW.mock);
    SELECT RAISE(ABORT, 'pending_reports: the round is not judged')
        WHERE NOT EXISTS (SELECT 1 FROM judgments WHERE bundle_id = NEW.bundle_id);
    SELECT RAISE(ABORT, 'pending_reports: run_ref is not empty') WHERE NEW.run_ref = '';
    SELECT RAISE(ABORT, 'pending_reports: a pending report has angle inputs') WHERE NEW.input_count < 1;
    SELECT RAISE(ABORT, 'pending_reports: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER pending_reports_insert_number AFTER INSERT ON pending_reports BEGIN
    SELECT RAISE(ABORT, 'pending_reports: pending_number must be one more than the highest')
        WHERE NEW.pending_number <> 1 + coalesce((SELECT max(pending_number) FROM pending_reports
                                                  WHERE pending_number <> NEW.pending_number), 0);
END;
CREATE TRIGGER pending_reports_update BEFORE UPDATE ON pending_reports BEGIN
    SELECT RAISE(ABORT, 'pending_reports: a pending report never changes; it expires, is finalized and superseded once')
        WHERE NEW.pending_number IS NOT OLD.pending_number OR NEW.bundle_id IS NOT OLD.bundle_id
           OR NEW.generated_at IS NOT OLD.generated_at OR NEW.run_ref IS NOT OLD.run_ref
           OR NEW.mock IS NOT OLD.mock OR NEW.input_count IS NOT OLD.input_count
           OR NEW.body IS NOT OLD.body OR NEW.sha256 IS NOT OLD.sha256
           OR (OLD.expired_at IS NOT NULL AND NEW.expired_at IS NOT OLD.expired_at)
           OR (OLD.finalized_at IS NOT NULL AND NEW.finalized_at IS NOT OLD.finalized_at)
           OR (OLD.superseded_at IS NOT NULL AND NEW.superseded_at IS NOT OLD.superseded_at);
END;
CREATE TRIGGER pending_reports_finalized BEFORE UPDATE OF finalized_at ON pending_reports
WHEN OLD.finalized_at IS NULL AND NEW.finalized_at IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'pending_reports: only the current one is finalized, at a time after it was stored')
        WHERE OLD.superseded_at IS NOT NULL OR OLD.expired_at IS NOT NULL
           OR julianday(NEW.finalized_at) IS NULL OR julianday(NEW.finalized_at) < julianday(OLD.generated_at) - 1;
END;
CREATE TRIGGER pending_reports_delete BEFORE DELETE ON pending_reports BEGIN
    SELECT RAISE(ABORT, 'pending_reports: a pending report is history and never deleted');
END;

-- A pending report is of the current round and of its latest judgments, or it is over.
CREATE TRIGGER rounds_superseded AFTER UPDATE OF superseded_at ON rounds
WHEN OLD.superseded_at IS NULL AND NEW.superseded_at IS NOT NULL BEGIN
    UPDATE pending_reports SET superseded_at = NEW.superseded_at
        WHERE bundle_id = NEW.bundle_id AND superseded_at IS NULL;
END;
CREATE TRIGGER judgments_inserted AFTER INSERT ON judgments BEGIN
    UPDATE pending_reports SET superseded_at = NEW.judged_at
        WHERE bundle_id = NEW.bundle_id AND superseded_at IS NULL;
END;

CREATE TABLE angle_inputs (
    -- What the host is asked for each topic of a pending report.
    pending_number INTEGER NOT NULL REFERENCES pending_reports (pending_number),
    position       INTEGER NOT NULL,           -- 1, 2, … as the engine gave them
    nomination_id  TEXT NOT NULL,
    body           TEXT NOT NULL,              -- what the engine gives the host for this id, JSON as tokens
    sha256         TEXT NOT NULL,              -- of body
    PRIMARY KEY (pending_number, position),
    UNIQUE (pending_number, nomination_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER angle_inputs_insert BEFORE INSERT ON angle_inputs BEGIN
    SELECT RAISE(ABORT, 'angle_inputs: this angle input exists')
        WHERE EXISTS (SELECT 1 FROM angle_inputs
                      WHERE pending_number = NEW.pending_number
                        AND (position = NEW.position OR nomination_id = NEW.nomination_id));
    SELECT RAISE(ABORT, 'angle_inputs: only the current pending report takes them, as many as it counts')
        WHERE NOT EXISTS (SELECT 1 FROM pending_reports
                          WHERE pending_number = NEW.pending_number AND superseded_at IS NULL
                            AND NEW.position BETWEEN 1 AND input_count);
    SELECT RAISE(ABORT, 'angle_inputs: the round has no nomination of this id')
        WHERE NOT EXISTS (SELECT 1 FROM pending_reports JOIN nominations USING (bundle_id)
                          WHERE pending_number = NEW.pending_number AND nomination_id = NEW.nomination_id);
    SELECT RAISE(ABORT, 'angle_inputs: sha256 is 64 lower-case hex characters')
        WHERE length(NEW.sha256) <> 64 OR length(CAST(NEW.sha256 AS BLOB)) <> 64
           OR NEW.sha256 GLOB '*[^0-9a-f]*';
END;
CREATE TRIGGER angle_inputs_update BEFORE UPDATE ON angle_inputs BEGIN
    SELECT RAISE(ABORT, 'angle_inputs: an angle input never changes');
END;
CREATE TRIGGER angle_inputs_delete BEFORE DELETE ON angle_inputs BEGIN
    SELECT RAISE(ABORT, 'angle_inputs: an angle input is history and never deleted');
END;

-- -------- Angles: what the host proposed for a pending report

CREATE TABLE angles (
    -- What the host proposed for each topic of a pending report. Each finalize with angles is one attempt.
    pending_number INTEGER NOT NULL REFERENCES pending_reports (pending_number),
    attempt        INTEGER NOT NULL,           -- 1, 2, …
    nomination_id  TEXT NOT NULL,
    podcast        TEXT,
    x_article      TEXT,
    body           TEXT NOT NULL,              -- the host's row, JSON as tokens
    given_at       TEXT NOT NULL,
    PRIMARY KEY (pending_number, attempt, nomination_id),
    FOREIGN KEY (pending_number, nomination_id) REFERENCES angle_inputs (pending_number, nomination_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER angles_insert BEFORE INSERT ON angles BEGIN
    SELECT RAISE(ABORT, 'angles: this angle exists')
        WHERE EXISTS (SELECT 1 FROM angles WHERE pending_number = NEW.pending_number AND attempt = NEW.attempt
                      AND nomination_id = NEW.nomination_id);
    SELECT RAISE(ABORT, 'angles: only the current pending report takes angles')
        WHERE NOT EXISTS (SELECT 1 FROM pending_reports
                          WHERE pending_number = NEW.pending_number AND superseded_at IS NULL);
    SELECT RAISE(ABORT, 'angles: the pending report has no angle input of this id')
        WHERE NOT EXISTS (SELECT 1 FROM angle_inputs
                          WHERE pending_number = NEW.pending_number AND nomination_id = NEW.nomination_id);
    SELECT RAISE(ABORT, 'angles: attempts count up from 1')
        WHERE NEW.attempt < 1
           OR NEW.attempt - coalesce((SELECT max(attempt) FROM angles WHERE pending_number = NEW.pending_number), 0)
              NOT IN (0, 1);
END;
CREATE TRIGGER angles_update BEFORE UPDATE ON angles BEGIN
    SELECT RAISE(ABORT, 'angles: an angle never changes; finalize again');
END;
CREATE TRIGGER angles_delete BEFORE DELETE ON angles BEGIN
    SELECT RAISE(ABORT, 'angles: an angle is history and never deleted');
END;

-- -------- The queue of topics

CREATE TABLE queue (
    -- The queue of topics: each topic that a report surfaced, once.
    normalized_name TEXT PRIMARY KEY,          -- lower case, punctuation as spaces, collapsed
    name            TEXT NOT NULL,             -- as first surfaced
    domain          TEXT NOT NULL,             -- as first surfaced; empty: a sweep of everything
    covered_at      TEXT                       -- null: surfaced and not covered yet
) STRICT, WITHOUT ROWID;

CREATE TRIGGER queue_insert BEFORE INSERT ON queue BEGIN
    SELECT RAISE(ABORT, 'queue: this topic exists')
        WHERE EXISTS (SELECT 1 FROM queue WHERE normalized_name = NEW.normalized_name);
    SELECT RAISE(ABORT, 'queue: a topic has a name') WHERE NEW.normalized_name = '' OR NEW.name = '';
END;
CREATE TRIGGER queue_update BEFORE UPDATE ON queue BEGIN
    SELECT RAISE(ABORT, 'queue: a topic is covered once and stays covered; nothing else of it changes')
        WHERE NEW.normalized_name IS NOT OLD.normalized_name OR NEW.name IS NOT OLD.name
           OR NEW.domain IS NOT OLD.domain
           OR (OLD.covered_at IS NOT NULL AND NEW.covered_at IS NOT OLD.covered_at);
END;
CREATE TRIGGER queue_delete BEFORE DELETE ON queue BEGIN
    SELECT RAISE(ABORT, 'queue: a topic is never deleted');
END;

CREATE TABLE queue_counts (
    -- Which runs surfaced each topic. A (name, run_ref) counts once, however often it is retried.
    normalized_name TEXT NOT NULL REFERENCES queue (normalized_name),
    run_ref         TEXT NOT NULL,
    surfaced_at     TEXT NOT NULL,
    PRIMARY KEY (normalized_name, run_ref)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER queue_counts_insert BEFORE INSERT ON queue_counts BEGIN
    SELECT RAISE(ABORT, 'queue_counts: this run_ref counted this topic')
        WHERE EXISTS (SELECT 1 FROM queue_counts
                      WHERE normalized_name = NEW.normalized_name AND run_ref = NEW.run_ref);
    SELECT RAISE(ABORT, 'queue_counts: there is no such topic')
        WHERE NOT EXISTS (SELECT 1 FROM queue WHERE normalized_name = NEW.normalized_name);
END;
CREATE TRIGGER queue_counts_update BEFORE UPDATE ON queue_counts BEGIN
    SELECT RAISE(ABORT, 'queue_counts: a count never changes');
END;
CREATE TRIGGER queue_counts_delete BEFORE DELETE ON queue_counts BEGIN
    SELECT RAISE(ABORT, 'queue_counts: a count is never deleted');
END;

-- -------- Views, for people

CREATE VIEW handoff_rounds AS
-- The rounds, the latest first, each with the state that its rows give it. Age is a matter of the moment and not here.
SELECT
    rounds.bundle_id,
    CASE
        WHEN rounds.superseded_at IS NOT NULL THEN 'superseded'
        WHEN pending.finalized_at IS NOT NULL THEN 'finalized'
        WHEN pending.pending_number IS NOT NULL THEN 'awaiting angles'
        WHEN rounds.nothing_solid = (SELECT max(attempt) FROM judgments
                                     WHERE judgments.bundle_id = rounds.bundle_id) THEN 'nothing solid'
        WHEN EXISTS (SELECT 1 FROM judgments WHERE judgments.bundle_id = rounds.bundle_id) THEN 'awaiting report'
        ELSE 'awaiting judgments'
    END AS state,
    CASE WHEN json_valid(rounds.head) THEN json_extract(rounds.head, '$.domain') END AS domain,
    rounds.mock,
    rounds.generated_at,
    rounds.nomination_count AS nominations,
    (SELECT count(*) FROM judgments
     WHERE judgments.bundle_id = rounds.bundle_id
       AND attempt = (SELECT max(attempt) FROM judgments WHERE judgments.bundle_id = rounds.bundle_id)) AS judgments,
    pending.run_ref,
    pending.generated_at AS reported_at,
    pending.finalized_at,
    rounds.superseded_at
FROM rounds
LEFT JOIN pending_reports AS pending
    ON pending.pending_number = (SELECT max(pending_number) FROM pending_reports
                                 WHERE pending_reports.bundle_id = rounds.bundle_id
                                   AND (pending_reports.superseded_at IS NULL OR rounds.superseded_at IS NOT NULL))
ORDER BY rounds.round_number DESC;

CREATE VIEW handoff_queue AS
-- The topics with what the counts say of them.
SELECT
    queue.name,
    queue.normalized_name,
    queue.domain,
    CASE WHEN queue.covered_at IS NULL THEN 'surfaced' ELSE 'covered' END AS state,
    count(queue_counts.run_ref) AS surface_count,
    min(queue_counts.surfaced_at) AS first_surfaced,
    max(queue_counts.surfaced_at) AS last_surfaced,
    queue.covered_at
FROM queue
LEFT JOIN queue_counts USING (normalized_name)
GROUP BY queue.normalized_name;
