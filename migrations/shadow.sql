-- Shadow evidence: what came of comparing each journaled write with the projection of its journal.
--
-- Reason: whether the journal may one day be the writer is decided run by run, by a gate that reads this evidence and
-- nothing else. It is kept beside the journal, so that a write and its comparison are one transaction. It is evidence,
-- not a record of events: it may be begun anew, and the gate is closed wherever it can't be read.
-- Not held here, because SQL cannot: that a digest is that of the snapshot which was compared.
-- Runs on SQLite 3.40 with no function of legbook's own.

CREATE TABLE shadow_evidence (
    -- How often the journal of each run reproduced a write. The last comparison is the record with number `comparisons`.
    run_id            TEXT PRIMARY KEY,
    projector_version INTEGER NOT NULL,
    comparisons       INTEGER NOT NULL,        -- the sum of the four
    matches           INTEGER NOT NULL,
    mismatches        INTEGER NOT NULL,
    lags              INTEGER NOT NULL,
    errors            INTEGER NOT NULL,
    -- What the journal tells up to the last comparison: the next one goes on from here.
    told_status       TEXT,                    -- the status that it tells; null: none
    refused_sequence  INTEGER,                 -- the first event that the projection refuses; null: none
    journal_fault     TEXT                     -- the category of a journal that could not be read; null: it could
) STRICT, WITHOUT ROWID;

CREATE TABLE shadow_records (
    -- The last 16 comparisons of each run.
    run_id           TEXT NOT NULL,
    record_number    INTEGER NOT NULL,         -- which comparison of the run it was, from 1
    outcome          TEXT NOT NULL,            -- match, lag, mismatch, error
    category         TEXT,                     -- of an error
    sequence         INTEGER,                  -- the journal's head
    event_digest     TEXT,
    shadow_digest    TEXT,                     -- SHA-256 of the written snapshot with the journal's head in it
    projected_digest TEXT,                     -- SHA-256 of the projection; null: it was refused
    differing_fields TEXT NOT NULL,            -- a JSON array of at most 16 names, the last of them `...` where there are more
    recorded_at      TEXT NOT NULL,
    diagnostic       TEXT,
    PRIMARY KEY (run_id, record_number)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER shadow_evidence_insert BEFORE INSERT ON shadow_evidence BEGIN
    SELECT RAISE(ABORT, 'shadow_evidence: this run has evidence')
        WHERE EXISTS (SELECT 1 FROM shadow_evidence WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'shadow_evidence: there is no such run')
        WHERE NOT EXISTS (SELECT 1 FROM runs WHERE run_id = NEW.run_id);
    SELECT RAISE(ABORT, 'shadow_evidence: comparisons is the sum of the outcomes, none of them below 0')
        WHERE NEW.comparisons <> NEW.matches + NEW.mismatches + NEW.lags + NEW.errors
           OR min(NEW.matches, NEW.mismatches, NEW.lags, NEW.errors) < 0;
END;
CREATE TRIGGER shadow_evidence_update BEFORE UPDATE ON shadow_evidence BEGIN
    SELECT RAISE(ABORT, 'shadow_evidence: evidence stays with its run')
        WHERE NEW.run_id IS NOT OLD.run_id;
    SELECT RAISE(ABORT, 'shadow_evidence: a count never goes down; delete the row to begin anew')
        WHERE NEW.matches < OLD.matches OR NEW.mismatches < OLD.mismatches OR NEW.lags < OLD.lags
           OR NEW.errors < OLD.errors OR NEW.comparisons > OLD.comparisons + 1;
    SELECT RAISE(ABORT, 'shadow_evidence: comparisons is the sum of the outcomes, none of them below 0')
        WHERE NEW.comparisons <> NEW.matches + NEW.mismatches + NEW.lags + NEW.errors
           OR min(NEW.matches, NEW.mismatches, NEW.lags, NEW.errors) < 0;
END;
CREATE TRIGGER shadow_evidence_delete AFTER DELETE ON shadow_evidence BEGIN
    DELETE FROM shadow_records WHERE run_id = OLD.run_id;
END;
-- Evidence of a run that retention removes goes with it.
CREATE TRIGGER shadow_evidence_of_a_removed_run AFTER DELETE ON runs BEGIN
    DELETE FROM shadow_evidence WHERE run_id = OLD.run_id;
END;

CREATE TRIGGER shadow_records_insert BEFORE INSERT ON shadow_records BEGIN
    SELECT RAISE(ABORT, 'shadow_records: this record exists')
        WHERE EXISTS (SELECT 1 FROM shadow_records WHERE run_id = NEW.run_id AND record_number = NEW.record_number);
    SELECT RAISE(ABORT, 'shadow_records: the run has no evidence of so many comparisons')
        WHERE NOT EXISTS (SELECT 1 FROM shadow_evidence
                          WHERE run_id = NEW.run_id AND NEW.record_number BETWEEN 1 AND comparisons);
    SELECT RAISE(ABORT, 'shadow_records: an outcome is match, lag, mismatch or error')
        WHERE NEW.outcome NOT IN ('match', 'lag', 'mismatch', 'error');
    SELECT RAISE(ABORT, 'shadow_records: an error, and nothing else, has a category')
        WHERE (NEW.outcome = 'error') <> (NEW.category IS NOT NULL);
END;
CREATE TRIGGER shadow_records_update BEFORE UPDATE ON shadow_records BEGIN
    SELECT RAISE(ABORT, 'shadow_records: a record never changes');
END;

CREATE VIEW shadow_overview AS
-- What has shadow comparison found, and is it up to date? Those to look at come first.
-- For people: the gate itself is `legbook runs readiness RUN`.
SELECT run_id, comparisons, matches, lags, mismatches, errors, outcome AS last_outcome, category AS last_category,
       sequence AS compared_to, last_sequence - coalesce(sequence, 0) AS events_since
FROM (SELECT shadow_evidence.*, outcome, category, sequence,
             coalesce((SELECT max(sequence) FROM events WHERE events.run_id = shadow_evidence.run_id), 0) AS last_sequence
      FROM shadow_evidence
      LEFT JOIN shadow_records ON shadow_records.run_id = shadow_evidence.run_id AND record_number = comparisons)
ORDER BY mismatches + errors DESC, run_id;
