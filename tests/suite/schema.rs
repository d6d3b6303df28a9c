//! The schema holds its rules against every writer: the plain `sqlite3` shell and a plain connection, with foreign keys
//! and CHECK switched off and with REPLACE, whose deletions fire no trigger.
//!
//! Here live the seeded store, the two writers, and the tests; the attacks, one or more for
//! each rule, are in schema/. The rules are read from the schema itself, so a rule without an attack fails.

mod attacks;
mod differential;
mod handoff;
mod imports;
mod journal;
mod shadow;
mod stages;
mod tables;
mod views;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::event::{self, Event, EventInput};
use legbook::json::{Object, Text, Value};
use rusqlite::{Connection, StatementStatus, params};
use tempfile::TempDir;

/// A store with a few runs, written by plain SQL and closed.
///
/// * `run-1`: a checkpoint and its status event, the lock of `/w`.
/// * `run-2`: no journal.
/// * `run-long`: twelve events of about 6 KiB.
struct Seed {
    _folder: TempDir,
    path: PathBuf,
    /// The journal of `run-1`.
    events: Vec<Event>,
    /// Its bytes, newlines counted.
    bytes: usize,
    checkpoint: Digest,
}

const SNAPSHOT: &[u8] = b"{\n  \"status\": \"started\"\n}\n";
/// Larger than the lowest `max-checkpoint-bytes`.
const LARGE: [u8; 1500] = [b' '; 1500];

impl Seed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        drop(Store::open(&path, StoreOptions::default()).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(
                "INSERT INTO runs (run_id, created_at, run_dir, workspace, journaled_at, status) VALUES
                     ('run-1', '2026-03-04T05:06:07.000000Z', '/w/runs/run-1', '/w', '2026-03-04T05:06:07.000000Z', 'started'),
                     ('run-2', '2026-03-04T05:06:08.000000Z', '/w/runs/run-2', '/w', NULL, NULL),
                     ('run-long', '2026-03-04T05:06:09.000000Z', '/w/runs/run-long', '/w', '2026-03-04T05:06:09.000000Z', NULL);
                 INSERT INTO locks (workspace, run_id, token_sha256, acquired_at, pid, host_name, last_write_at) VALUES
                     ('/w', 'run-1', printf('%064d', 7), '2026-03-04T05:06:07.000000+00:00', 4242, 'host', '2026-03-04T05:06:07.000000+00:00');",
            )
            .unwrap();
        let checkpoint = Digest::of(SNAPSHOT);
        for body in [SNAPSHOT, &LARGE] {
            let sql = "INSERT INTO checkpoints (sha256, byte_size, body) VALUES (?1, ?2, ?3)";
            connection.execute(sql, params![Digest::of(body).to_hex(), body.len() as i64, body]).unwrap();
        }
        let mut seed = Self { _folder: folder, path, events: Vec::new(), bytes: 0, checkpoint };
        let paired = Some("run.created");
        let payload = event::checkpoint_payload(checkpoint, SNAPSHOT.len() as i64, paired);
        for (event_type, payload) in
            [(event::CHECKPOINT_EVENT_TYPE, payload), ("run.created", object([("status", "started".into())]))]
        {
            let event = seed.next(event_type, &format!("key-{}", seed.events.len() + 1), payload);
            seed.bytes += event.line().len() + 1;
            append(&connection, &event, seed.bytes);
            seed.events.push(event);
        }
        let texts = ["seat", "attempt", "detail"].map(|key| (key, Value::from("\u{1F600}".repeat(512))));
        append_many(&connection, "run-long", 12, object(texts));
        connection.close().unwrap();
        seed
    }

    /// The event that `run-1`'s journal may hold next.
    fn next(&self, event_type: &str, idempotency_key: &str, payload: Object) -> Event {
        Event::new(EventInput {
            run_id: "run-1",
            sequence: self.events.len() as i64 + 1,
            event_type,
            recorded_at: "2026-03-04T05:06:07.000008Z",
            idempotency_key,
            previous_digest: self.events.last().map(Event::event_digest),
            payload,
        })
        .unwrap()
    }

    /// The line of a valid next event without a checkpoint.
    fn next_line(&self) -> String {
        let payload = object([("detail", "d".into()), ("seat", "s".into())]);
        self.next("run.dispatch.observed", "key-3", payload).line().to_owned()
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Object {
    members.into_iter().map(|(key, value)| (Text::from(key), value)).collect()
}

fn append(connection: &Connection, event: &Event, journal_bytes: usize) {
    let sql = "INSERT INTO events (line, journal_bytes) VALUES (?1, ?2)";
    connection.execute(sql, params![event.line(), journal_bytes as i64]).unwrap();
}

/// Appends events 1 to `count` of a run that has none.
fn append_many(connection: &Connection, run_id: &str, count: i64, payload: Object) {
    let (mut previous_digest, mut bytes) = (None, 0);
    for sequence in 1..=count {
        let event = Event::new(EventInput {
            run_id,
            sequence,
            event_type: "run.dispatch.observed",
            recorded_at: "2026-03-04T05:06:07.000008Z",
            idempotency_key: &format!("key-{sequence}"),
            previous_digest,
            payload: payload.clone(),
        })
        .unwrap();
        bytes += event.line().len() + 1;
        append(connection, &event, bytes);
        previous_digest = Some(event.event_digest());
    }
}

/// Runs `sql` in the real shell, which stops at the first error.
fn shell(path: &Path, sql: &str) -> Output {
    // From a file: a pipe would stand still where the shell prints much before it has read all.
    let mut script = tempfile::tempfile().unwrap();
    script.write_all(sql.as_bytes()).unwrap();
    script.rewind().unwrap();
    Command::new("sqlite3").args(["-batch", "-bail", "-noheader"]).arg(path).stdin(script).output().unwrap()
}

/// What the shell prints for `sql`, which must succeed.
fn shell_says(path: &Path, sql: &str) -> String {
    let output = shell(path, sql);
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A writer at its most hostile: whatever guards by foreign key or CHECK is off.
fn hostile(sql: &str) -> String {
    format!(
        "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; PRAGMA recursive_triggers = OFF;\n\
         BEGIN IMMEDIATE;\n{sql};\nCOMMIT;\n"
    )
}

/// The error of `sql` in the shell and with the engine that legbook carries, in this order; empty where it succeeded.
fn errors(path: &Path, sql: &str) -> [String; 2] {
    let output = shell(path, &hostile(sql));
    let by_shell = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), by_shell.is_empty());
    let connection = Connection::open(path).unwrap();
    let by_engine =
        connection.execute_batch(&hostile(sql)).err().map(|error| error.to_string()).unwrap_or_default();
    [by_shell, by_engine]
}

#[test]
fn each_rule_holds_against_the_shell_and_the_carried_engine() {
    let seed = Seed::new();
    let before = fs::read(&seed.path).unwrap();
    let mut failures = Vec::new();
    for attack in attacks::all(&seed) {
        for error in errors(&seed.path, &attack.sql) {
            if !error.contains(attack.rule) {
                let sql: String = attack.sql.chars().take(300).collect();
                failures.push(format!("{}: {}\n  got: {error:?}\n  by: {sql}", attack.trigger, attack.rule));
            }
        }
        if fs::read(&seed.path).unwrap() != before {
            panic!("{}: {}: the store has changed by {}", attack.trigger, attack.rule, attack.sql);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_rule_of_every_trigger_has_an_attack() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    let mut statement =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
    let triggers = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut rules: BTreeSet<(String, String)> = BTreeSet::new();
    for trigger in triggers {
        let (name, sql): (String, String) = trigger.unwrap();
        let mut said = sql.split("RAISE(ABORT, '").skip(1).peekable();
        let carries_on = [
            "pipelines_delete",
            "rounds_superseded",
            "judgments_inserted",
            "shadow_evidence_delete",
            "shadow_evidence_of_a_removed_run",
        ]
        .contains(&name.as_str());
        assert!(said.peek().is_some() || carries_on, "{name} refuses nothing");
        for rest in said {
            let rule = rest.split("')").next().unwrap().replace("''", "'");
            rules.insert((name.clone(), rule));
        }
    }
    let attacked: BTreeSet<(String, String)> = attacks::all(&seed)
        .into_iter()
        .map(|attack| (attack.trigger.to_owned(), attack.rule.to_owned()))
        .collect();
    assert_eq!(rules.difference(&attacked).collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "no attack");
    assert_eq!(
        attacked.difference(&rules).collect::<Vec<_>>(),
        Vec::<&(String, String)>::new(),
        "no such rule"
    );
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_check_switched_off() {
    let seed = Seed::new();
    let before = fs::read(&seed.path).unwrap();
    let line = attacks::quoted(&seed.next_line());
    for sql in [
        format!("INSERT OR REPLACE INTO events (line, journal_bytes) VALUES (CAST({line} AS BLOB), 1)"),
        format!("INSERT OR REPLACE INTO events (line, journal_bytes) VALUES ({line}, 'many')"),
        format!("INSERT OR REPLACE INTO events (line, journal_bytes, sequence) VALUES ({line}, 1, 3)"),
        format!("INSERT OR REPLACE INTO events (line, journal_bytes, run_id) VALUES ({line}, 1, 'run-1')"),
        "INSERT OR REPLACE INTO events (line, journal_bytes) VALUES (NULL, 1)".to_owned(),
        "INSERT OR REPLACE INTO runs (run_id, created_at) VALUES (NULL, '')".to_owned(),
        "INSERT OR REPLACE INTO runs (run_id, created_at) VALUES (x'6161', '')".to_owned(),
        "INSERT OR REPLACE INTO checkpoints (sha256, byte_size, body) VALUES (NULL, 0, x'')".to_owned(),
        "INSERT OR REPLACE INTO checkpoints (sha256, byte_size, body) VALUES (printf('%064d', 1), 2, NULL)"
            .to_owned(),
        "INSERT OR REPLACE INTO locks (workspace, run_id, token_sha256, acquired_at, last_write_at)
             VALUES (NULL, 'run-2', printf('%064d', 1), '', '')"
            .to_owned(),
        "INSERT OR REPLACE INTO locks (workspace, run_id, token_sha256, acquired_at, last_write_at)
             VALUES ('/x', 'run-2', NULL, '', '')"
            .to_owned(),
        "INSERT OR REPLACE INTO checkpoints (sha256, byte_size, body) VALUES (printf('%064d', 1), 2, 'ab')"
            .to_owned(),
        "UPDATE OR REPLACE settings SET value = 'none'".to_owned(),
        "UPDATE OR REPLACE settings SET value = 512.5 WHERE key = 'max-journal-events'".to_owned(),
        "UPDATE OR REPLACE settings SET value = NULL WHERE key = 'max-journal-events'".to_owned(),
    ] {
        for error in errors(&seed.path, &sql) {
            assert!(!error.is_empty(), "{sql}");
        }
        assert_eq!(fs::read(&seed.path).unwrap(), before, "{sql}");
    }
}

#[test]
fn what_the_rules_allow_is_accepted_by_both() {
    let seed = Seed::new();
    for sql in attacks::allowed(&seed) {
        // Undone at the end, so that the second writer meets the same store.
        for error in errors(&seed.path, &format!("{sql};\nROLLBACK; BEGIN")) {
            assert_eq!(error, "", "{sql}");
        }
    }
}

#[test]
fn derived_columns_and_indexes_are_the_same_in_both_engines() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    // Every ASCII character, the neighbours of what JSON and SQLite treat specially, and texts that look like escapes.
    let ascii: String = (0..128_u8).map(char::from).collect();
    let keys = [
        &ascii[..64],
        &ascii[64..],
        "a\0b",
        "\"a\\u0000b\"",
        "\\u0000",
        "é\u{2028}\u{FFFD}\u{FFFE}\u{10FFFF}",
        "\0",
    ];
    let mut events = seed.events.clone();
    let mut bytes = seed.bytes;
    for key in keys {
        let event = Event::new(EventInput {
            run_id: "run-1",
            sequence: events.len() as i64 + 1,
            event_type: "run.dispatch.failed",
            recorded_at: "2024-02-29T23:59:59.999999Z",
            idempotency_key: key,
            previous_digest: events.last().map(Event::event_digest),
            payload: object([
                ("attempt", Value::from(i64::MIN)),
                ("detail", key.into()),
                ("seat", Value::Null),
            ]),
        })
        .unwrap();
        bytes += event.line().len() + 1;
        append(&connection, &event, bytes);
        events.push(event);
    }
    let columns = "SELECT hex(group_concat(quote(run_id) || quote(sequence) || quote(schema) || quote(schema_version)
        || quote(event_id) || quote(event_type) || quote(recorded_at) || quote(idempotency_key) || quote(request_digest)
        || quote(previous_digest) || quote(event_digest) || quote(payload) || quote(checkpoint_sha256)
        || quote(paired_event_type))) FROM events";
    let by_engine: String = connection.query_row(columns, [], |row| row.get(0)).unwrap();
    assert_eq!(shell_says(&seed.path, columns).trim_end(), by_engine);
    let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    assert_eq!(shell_says(&seed.path, "PRAGMA integrity_check"), "ok\n");
    // And each column is what the event says.
    for event in &events {
        let sql = "SELECT event_id, event_type, recorded_at, request_digest, event_digest, previous_digest FROM events
                   WHERE run_id = 'run-1' AND sequence = ?1";
        let row = connection
            .query_row(sql, [event.sequence()], |row| {
                (0..6).map(|column| row.get::<_, Option<String>>(column)).collect::<Result<Vec<_>, _>>()
            })
            .unwrap();
        let hex = |digest: Digest| Some(digest.to_hex());
        let said = [
            Some(event.event_id().to_owned()),
            Some(event.event_type().to_owned()),
            Some(event.recorded_at().to_owned()),
            hex(event.request_digest()),
            hex(event.event_digest()),
            event.previous_digest().and_then(hex),
        ];
        assert_eq!(row, said);
    }
}

#[test]
fn an_event_costs_the_same_steps_in_a_short_and_in_a_long_journal() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    connection
        .execute_batch("UPDATE settings SET value = 10000 WHERE key = 'max-journal-events'; BEGIN")
        .unwrap();
    let mut statement =
        connection.prepare("INSERT INTO events (line, journal_bytes) VALUES (?1, ?2)").unwrap();
    let (mut previous_digest, mut bytes) = (None, 0);
    let mut steps = Vec::new();
    for sequence in 1..=3000_i64 {
        let event = Event::new(EventInput {
            run_id: "run-2",
            sequence,
            event_type: "run.planning.started",
            recorded_at: "2026-03-04T05:06:07.000008Z",
            idempotency_key: &format!("{sequence}"),
            previous_digest,
            payload: object([("detail", "planning".into())]),
        })
        .unwrap();
        bytes += event.line().len() + 1;
        statement.reset_status(StatementStatus::VmStep);
        statement.reset_status(StatementStatus::FullscanStep);
        statement.execute(params![event.line(), bytes as i64]).unwrap();
        steps.push((
            statement.get_status(StatementStatus::VmStep),
            statement.get_status(StatementStatus::FullscanStep),
        ));
        previous_digest = Some(event.event_digest());
    }
    assert!(steps[9].0 > 0);
    assert_eq!(
        steps[9], steps[2999],
        "virtual machine steps and full scan steps of event 10 and of event 3000"
    );
}

#[test]
fn reference_tables_hold_the_registry_of_the_library() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    let rows = |sql: &str| -> BTreeSet<(String, String)> {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let pair = |left: &str, right: &str| (left.to_owned(), right.to_owned());
    assert_eq!(
        rows("SELECT event_type, '' FROM event_types"),
        event::EVENT_TYPES.iter().map(|event_type| pair(event_type.name, "")).collect()
    );
    assert_eq!(
        rows("SELECT event_type, key FROM event_payload_keys"),
        event::EVENT_TYPES
            .iter()
            .flat_map(|event_type| event_type.payload_keys.iter().map(|key| pair(event_type.name, key)))
            .collect()
    );
    assert_eq!(
        rows("SELECT status, event_type FROM status_events"),
        event::STATUS_EVENT_TYPES.iter().map(|(status, event_type)| pair(status, event_type)).collect()
    );
    assert_eq!(
        rows(
            "SELECT event_type, status || coalesce(' in the payload as ' || payload_status, '') FROM event_statuses"
        ),
        event::EVENT_STATUSES
            .iter()
            .map(|row| match row.in_payload {
                true => pair(row.event_type, &format!("{} in the payload as {}", row.status, row.status)),
                false => pair(row.event_type, row.status),
            })
            .collect()
    );
}
