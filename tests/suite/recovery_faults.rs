//! What recovery refuses in a journal, whoever spoiled it: each fault is named, and all is left as it was.
//!
//! Each test spoils a whole store as somebody does who has the file and knows SQL, first taking the triggers away.

use std::fs;

use legbook::digest::Digest;
use legbook::error::{ChainFault, CheckpointError, CheckpointPayloadError, Error, RecoveryError};
use legbook::event::{Event, EventInput};
use legbook::json::{self, Object};
use legbook::receipt::{self, DeadOwner};
use rusqlite::{Connection, params};

use crate::recovery_bench::{Bench, snapshot};

const NO_TRIGGERS: &str = "
    DROP TRIGGER events_update; DROP TRIGGER events_delete; DROP TRIGGER events_insert;
    DROP TRIGGER events_insert_checkpoint; DROP TRIGGER events_insert_number;
    DROP TRIGGER checkpoints_update; DROP TRIGGER checkpoints_delete; DROP TRIGGER checkpoints_insert;
    DROP TRIGGER recoveries_insert; DROP TRIGGER recoveries_update; DROP TRIGGER settings_update;";

/// A stale run of four events that was spoiled by `sql`.
fn spoiled(sql: &str) -> Bench {
    let bench = Bench::stale();
    bench.sql(NO_TRIGGERS);
    bench.sql(sql);
    bench
}

/// The refusal, which is the same where run.json is readable and where it is missing, corrupt or gone with its folder.
#[track_caller]
fn fault(bench: &Bench) -> RecoveryError {
    let refusal = bench.refused();
    let whole = fs::read(bench.run_json()).unwrap();
    fs::write(bench.run_json(), "{").unwrap();
    assert_eq!(bench.refused().to_string(), refusal.to_string());
    fs::remove_file(bench.run_json()).unwrap();
    assert_eq!(bench.refused().to_string(), refusal.to_string());
    fs::remove_dir_all(bench.run_dir()).unwrap();
    assert_eq!(bench.refused().to_string(), refusal.to_string());
    fs::create_dir(bench.run_dir()).unwrap();
    fs::write(bench.run_json(), whole).unwrap();
    match refusal {
        Error::Recovery(fault) => fault,
        other => panic!("{other}"),
    }
}

#[track_caller]
fn chain_fault(sql: &str) -> ChainFault {
    match fault(&spoiled(sql)) {
        RecoveryError::Journal { fault, .. } => fault,
        other => panic!("{sql}: {other}"),
    }
}

#[test]
fn a_changed_line_is_no_event_any_more() {
    for change in [
        "replace(line, 'planning\"},\"prev', 'plannink\"},\"prev')",
        "replace(line, '2026-03-04', '2026-03-05')",
        "replace(line, 'lifecycle:', 'Lifecycle:')",
        "replace(line, 'run.planning.started', 'run.planning.failed')",
        "replace(line, 'brigade.run_event.v1', 'brigade.run_event.v2')",
    ] {
        let found = chain_fault(&format!("UPDATE events SET line = {change} WHERE sequence = 4"));
        assert!(matches!(found, ChainFault::Event { line: 4, .. }), "{change}: {found}");
    }
}

#[test]
fn a_missing_middle_a_missing_beginning_and_a_line_that_is_no_json_break_the_chain() {
    let middle = chain_fault("DELETE FROM events WHERE sequence = 2");
    assert!(matches!(middle, ChainFault::Sequence { line: 2 }), "{middle}");
    let first = chain_fault("DELETE FROM events WHERE sequence = 1");
    assert!(matches!(first, ChainFault::Sequence { line: 1 }), "{first}");
    // A line that is no JSON belongs to no run any more.
    let cut = chain_fault("UPDATE events SET line = substr(line, 1, 100) WHERE sequence = 3");
    assert!(matches!(cut, ChainFault::Sequence { line: 3 }), "{cut}");
    let all = chain_fault("DELETE FROM events");
    assert!(matches!(all, ChainFault::Empty), "{all}");
}

#[test]
fn a_journal_of_another_run_is_told_by_its_lines() {
    let bench = Bench::stale();
    let other = rewritten(&bench, "other", |_, event| event);
    bench.sql(NO_TRIGGERS);
    replace_lines(&bench, &other);
    // All rows are the other run's now, and this run's journal is empty.
    assert!(matches!(fault(&bench), RecoveryError::Journal { fault: ChainFault::Empty, .. }));
}

#[test]
fn a_journal_and_a_checkpoint_beyond_the_bounds_are_refused() {
    for (setting, value, expected) in [
        ("max-journal-events", 3, "bound exceeded: the journal has more than 3 events"),
        ("max-journal-bytes", 1000, "bound exceeded: the journal has more than 1000 bytes"),
        ("max-checkpoint-bytes", 10, "beyond the bound of 10 bytes"),
    ] {
        let bench = spoiled(&format!("UPDATE settings SET value = {value} WHERE key = '{setting}'"));
        let refusal = fault(&bench).to_string();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_checkpoint_whose_body_is_changed_gone_or_of_another_size_is_refused() {
    let latest = "WHERE sha256 = (SELECT checkpoint_sha256 FROM events WHERE sequence = 3)";
    let with = |sql: &str| match fault(&spoiled(&format!("{sql} {latest}"))) {
        RecoveryError::Checkpoint { sequence: 3, fault, .. } => fault,
        other => panic!("{other}"),
    };
    let changed = with("UPDATE checkpoints SET body = CAST(replace(body, 'planning', 'plannink') AS BLOB)");
    assert!(matches!(changed, CheckpointError::DigestMismatch { .. }), "{changed}");
    let gone = with("DELETE FROM checkpoints");
    assert!(matches!(gone, CheckpointError::Missing { .. }), "{gone}");
    let longer = with("UPDATE checkpoints SET body = CAST(body || ' ' AS BLOB)");
    assert!(matches!(longer, CheckpointError::Size { .. }), "{longer}");
}

#[test]
fn an_earlier_checkpoint_that_is_spoiled_does_not_matter() {
    let bench = spoiled(
        "UPDATE checkpoints SET body = zeroblob(byte_size)
         WHERE sha256 = (SELECT checkpoint_sha256 FROM events WHERE sequence = 1)",
    );
    bench.recover().unwrap();
    assert_eq!(bench.receipts(), 1);
}

#[test]
fn a_journal_chained_anew_by_somebody_who_does_not_know_the_rules_is_refused() {
    // A checkpoint whose payload names another path, and one that names a body in no snapshot's encoding.
    let with = |change: fn(usize, Made) -> Made| {
        let bench = Bench::stale();
        let lines = rewritten(&bench, "r", change);
        bench.sql(NO_TRIGGERS);
        replace_lines(&bench, &lines);
        fault(&bench)
    };
    let path = with(|at, event| if at == 2 { event.set("path", "elsewhere.json".into()) } else { event });
    assert!(
        matches!(
            path,
            RecoveryError::CheckpointEvent { sequence: 3, fault: CheckpointPayloadError::Path, .. }
        ),
        "{path}"
    );
    // The checkpoint is paired with planning; what follows it is another status, or nothing that belongs to it.
    let unpaired =
        with(
            |at, event| {
                if at == 3 { Made { event_type: "run.dispatch.requested".into(), ..event } } else { event }
            },
        );
    assert!(matches!(unpaired, RecoveryError::UncoveredTail { sequence: 3, .. }), "{unpaired}");
    let none = with(|at, event| {
        if at % 2 == 0 {
            Made { event_type: "run.planning.completed".into(), payload: Object::default() }
        } else {
            event
        }
    });
    assert!(matches!(none, RecoveryError::NoCheckpoint { .. }), "{none}");
}

#[test]
fn a_status_event_after_the_covered_one_is_an_uncovered_tail() {
    let bench = Bench::stale();
    let last = bench.events().pop().unwrap();
    let extra = Event::new(EventInput {
        run_id: "r",
        sequence: 5,
        event_type: "run.planning.completed",
        recorded_at: last.recorded_at(),
        idempotency_key: "extra",
        previous_digest: Some(last.event_digest()),
        payload: Object::default(),
    })
    .unwrap();
    let bytes = bench.count("SELECT max(journal_bytes) FROM events") + extra.line().len() as i64 + 1;
    // The store's own rules let it in: coverage is not among what they can hold.
    let plain = Connection::open(bench.store.path()).unwrap();
    plain
        .execute("INSERT INTO events (line, journal_bytes) VALUES (?1, ?2)", params![extra.line(), bytes])
        .unwrap();
    let refusal = fault(&bench);
    assert!(matches!(refusal, RecoveryError::UncoveredTail { sequence: 3, .. }), "{refusal}");
    assert!(refusal.to_string().contains("uncovered tail"));
}

#[test]
fn a_body_that_is_not_the_encoding_of_itself_is_refused() {
    for (body, expected) in [
        ("{\"status\":\"planning\"}", "encoding-mismatch"),
        ("[]\n", "content-invalid"),
        ("{\"status\": \"planning\"", "content-invalid"),
    ] {
        let bench = Bench::stale();
        let sha256 = Digest::of(body.as_bytes());
        let lines = rewritten(&bench, "r", |at, event| {
            if at != 2 {
                return event;
            }
            let size = i64::try_from(body.len()).unwrap();
            let payload = legbook::event::checkpoint_payload(sha256, size, Some("run.planning.started"));
            Made { payload, ..event }
        });
        bench.sql(NO_TRIGGERS);
        replace_lines(&bench, &lines);
        let plain = Connection::open(bench.store.path()).unwrap();
        plain
            .execute(
                "INSERT INTO checkpoints (sha256, byte_size, body) VALUES (?1, length(?2), ?2)",
                params![sha256.to_hex(), body.as_bytes()],
            )
            .unwrap();
        let refusal = fault(&bench).to_string();
        assert!(refusal.contains(expected), "{refusal}");
        assert!(!refusal.contains("planning\""), "no content in a message: {refusal}");
    }
}

#[test]
fn a_stored_receipt_that_breaks_a_rule_is_refused() {
    let checkpoint = json::parse_object(snapshot("planning", 2).as_bytes()).unwrap();
    let owner = DeadOwner { pid: json::Integer::from(77), workspace: None, acquired_at: None };
    let at = "2026-03-04T05:06:07+00:00";
    let valid = receipt::receipt(&checkpoint, &owner, at, true).unwrap();
    let valid = String::from_utf8(json::snapshot_bytes(&valid)).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(valid.contains(from), "{valid}");
        valid.replacen(from, to, 1)
    };
    let failed = String::from_utf8(json::snapshot_bytes(
        &json::parse_object(snapshot("failed", 2).as_bytes()).unwrap(),
    ))
    .unwrap();
    for (after, digest_of, receipt, expected) in [
        (4, "x", &valid, "digest-mismatch"),
        (4, "{}", &"{}".to_owned(), "encoding-mismatch"),
        (4, "", &changed("\"status\": \"failed\"", "\"status\": \"ok\""), "its status is not failed"),
        (4, "", &changed("\"status\": \"failed\"", "\"status\": \"planning\""), "its status is not failed"),
        (4, "", &failed, "its failure_phase is not"),
        (4, "", &changed("\"owner_pid\": 77", "\"owner_pid\": null"), "no owner_pid"),
        (
            4,
            "",
            &changed("\"prior_status\": \"planning\"", "\"prior_status\": \"ok\""),
            "prior_status is not the one",
        ),
        (4, "", &changed("\"finished_at\": \"2026", "\"finished_at\": \"2025"), "are not its recovered_at"),
        (3, "", &valid, "not made at the end of the journal"),
        (9, "", &valid, "not made at the end of the journal"),
    ] {
        let bench = Bench::stale();
        bench.sql(NO_TRIGGERS);
        let plain = Connection::open(bench.store.path()).unwrap();
        let digest_of = if digest_of.is_empty() { receipt } else { digest_of };
        plain
            .execute(
                "INSERT INTO recoveries
                     (run_id, after_sequence, recovered_at, owner_pid, prior_status, sha256, byte_size, receipt)
                 VALUES ('r', ?1, ?2, 77, 'planning', ?3, length(?4), ?4)",
                params![after, at, Digest::of(digest_of.as_bytes()).to_hex(), receipt.as_bytes()],
            )
            .unwrap();
        let refusal = bench.refused().to_string();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn a_run_whose_activation_was_forged_away_still_has_a_journal() {
    let bench = spoiled(
        "DROP TRIGGER runs_update; UPDATE runs SET journaled_at = NULL; DELETE FROM events WHERE sequence = 2",
    );
    fs::remove_file(bench.run_json()).unwrap();
    assert!(matches!(
        bench.refused(),
        Error::Recovery(RecoveryError::Journal { fault: ChainFault::Sequence { line: 2 }, .. })
    ));
}

#[test]
fn a_row_that_does_not_say_what_its_line_says_is_refused() {
    // The derived columns are columns like any other once somebody has copied the table.
    let copied = "PRAGMA foreign_keys = OFF; CREATE TABLE copy AS SELECT * FROM events; DROP TABLE events;
                  CREATE TABLE events AS SELECT * FROM copy; DROP TABLE copy;";
    let bench = Bench::stale();
    bench.sql(copied);
    bench.sql("UPDATE events SET sequence = 40 WHERE sequence = 4");
    let refusal = fault(&bench);
    assert!(matches!(refusal, RecoveryError::Row { sequence: 4, .. }), "{refusal}");

    // One that hides the latest checkpoint from whoever believes it makes no older one the latest.
    let bench = Bench::stale();
    bench.sql(copied);
    bench.sql("UPDATE events SET event_type = 'run.resumed', checkpoint_sha256 = NULL WHERE sequence = 3");
    fs::remove_file(bench.run_json()).unwrap();
    bench.recover().unwrap();
    assert!(bench.on_disk().contains("\"prior_status\": \"planning\""));
}

/// An event as a forger makes it: all but its place in the chain.
struct Made {
    event_type: String,
    payload: Object,
}

impl Made {
    fn set(mut self, key: &str, value: json::Value) -> Self {
        self.payload.insert(key.into(), value);
        self
    }
}

/// The lines of the journal, each changed by `change` and chained anew with digests that hold.
fn rewritten(bench: &Bench, run_id: &str, change: impl Fn(usize, Made) -> Made) -> Vec<String> {
    let mut previous = None;
    let mut lines = Vec::new();
    for (at, event) in bench.events().iter().enumerate() {
        let made = Made { event_type: event.event_type().to_owned(), payload: event.payload().clone() };
        let made = change(at, made);
        let forged = Event::new(EventInput {
            run_id,
            sequence: event.sequence(),
            event_type: &made.event_type,
            recorded_at: event.recorded_at(),
            idempotency_key: event.idempotency_key(),
            previous_digest: previous,
            payload: made.payload,
        })
        .unwrap();
        previous = Some(forged.event_digest());
        lines.push(forged.line().to_owned());
    }
    lines
}

fn replace_lines(bench: &Bench, lines: &[String]) {
    let plain = Connection::open(bench.store.path()).unwrap();
    for (at, line) in lines.iter().enumerate() {
        plain
            .execute("UPDATE events SET line = ?1 WHERE sequence = ?2", params![line, at as i64 + 1])
            .unwrap();
    }
}
