//! The write path against its floor, pair by pair in one run.
//!
//! The floor is what no implementation of the contract can do without: one SQLite transaction that inserts the same
//! rows and bytes under the same pragmas into bare tables, and an atomic replace of the same run.json with its two
//! syncs. Both sides run in turn, so that a machine whose speed drifts slows both; the medians and their ratio are
//! printed, for a journal of 100 events and for one of 100,000.
//!
//! `cargo bench --bench write_path`

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use legbook::clock::{Clock, SystemClock, event_time};
use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::event::{Event, EventInput, status_payload};
use legbook::id::RunId;
use legbook::json;
use legbook::run::{self, Credentials};
use rusqlite::{Connection, params};

const PAIRS: usize = 400;
const SNAPSHOT_BYTES: usize = 8 * 1024;

fn main() {
    // `cargo test --benches` only asks whether it builds and runs.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let (pairs, many) = if quick { (3, 200) } else { (PAIRS, 100_000) };
    let few = measure(100, pairs);
    let full = measure(many, pairs);
    report("100 events", &few);
    report(&format!("{many} events"), &full);
    println!("write at {many} events / write at 100 events: {:.3}", ratio(full.ours, few.ours));
}

struct Medians {
    ours: Duration,
    floor: Duration,
}

fn report(name: &str, medians: &Medians) {
    println!(
        "{name}: write {:.0} us, floor {:.0} us, ratio {:.3}",
        medians.ours.as_secs_f64() * 1e6,
        medians.floor.as_secs_f64() * 1e6,
        ratio(medians.ours, medians.floor)
    );
}

fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

/// The medians of `pairs` writes on a journal that holds `events` events already.
fn measure(events: i64, pairs: usize) -> Medians {
    let folder = tempfile::tempdir().unwrap();
    let mut ours = Ours::new(&folder.path().join("ours"), events);
    let mut floor = Floor::new(&folder.path().join("floor"), events);
    let mut times = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let snapshot = snapshot(pair);
        let start = Instant::now();
        ours.write(&snapshot);
        times.0.push(start.elapsed());
        let lines = ours.last_lines();
        let start = Instant::now();
        floor.write(&snapshot, &lines);
        times.1.push(start.elapsed());
    }
    Medians { ours: median(times.0), floor: median(times.1) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A snapshot of about 8 KiB whose status is never that of the one before.
fn snapshot(n: usize) -> Vec<u8> {
    let status = if n.is_multiple_of(2) { "planning" } else { "dispatching" };
    let text = format!(
        r#"{{"status": "{status}", "n": {n}, "lifecycle_journal_requested": true, "notes": ["{}"]}}"#,
        vec!["a line of the run's notes"; SNAPSHOT_BYTES / 29].join("\", \"")
    );
    json::snapshot_bytes(&json::parse_object(text.as_bytes()).unwrap())
}

struct Ours {
    store: Store,
    run_id: RunId,
    credentials: Credentials,
    sequence: i64,
}

impl Ours {
    fn new(folder: &Path, events: i64) -> Self {
        let store = Store::open(folder.join("store.db"), StoreOptions::default()).unwrap();
        let run_id = RunId::parse("bench").unwrap();
        let token = run::register(&store, &run_id, &folder.join("run"), folder, std::process::id()).unwrap();
        let credentials = Credentials { token: Some(token), owner_pid: None };
        fill(store.path(), &run_id, events);
        Self { store, run_id, credentials, sequence: events }
    }

    fn write(&mut self, snapshot: &[u8]) {
        let written = run::write(&self.store, &self.run_id, snapshot, &self.credentials).unwrap();
        self.sequence = written.sequence.unwrap();
    }

    fn last_lines(&self) -> Vec<String> {
        let events = run::events(&self.store, &self.run_id, self.sequence - 1, 2).unwrap();
        events.iter().map(|event| event.line().to_owned()).collect()
    }
}

/// Raises the bounds and gives the run's journal `events` events, through SQL and its triggers.
fn fill(path: &Path, run_id: &RunId, events: i64) {
    let mut plain = Connection::open(path).unwrap();
    let transaction = plain.transaction().unwrap();
    transaction
        .execute_batch(
            "UPDATE settings SET value = 10000000 WHERE key = 'max-journal-events';
             UPDATE settings SET value = 536870912 WHERE key = 'max-journal-bytes';
             UPDATE runs SET journaled_at = created_at;",
        )
        .unwrap();
    let mut statement =
        transaction.prepare("INSERT INTO events (line, journal_bytes) VALUES (?1, ?2)").unwrap();
    let (mut previous, mut bytes) = (None, 0);
    for sequence in 1..=events {
        let event = Event::new(EventInput {
            run_id: run_id.as_str(),
            sequence,
            event_type: "run.planning.started",
            recorded_at: &event_time(SystemClock.now()),
            idempotency_key: &format!("filler:{sequence}"),
            previous_digest: previous,
            payload: status_payload("run.planning.started", "planning"),
        })
        .unwrap();
        previous = Some(event.event_digest());
        bytes += event.line().len() as i64 + 1;
        statement.execute(params![event.line(), bytes]).unwrap();
    }
    drop(statement);
    transaction.commit().unwrap();
}

struct Floor {
    connection: Connection,
    run_json: PathBuf,
    bytes: i64,
}

impl Floor {
    fn new(folder: &Path, events: i64) -> Self {
        fs::create_dir_all(folder).unwrap();
        let mut connection = Connection::open(folder.join("floor.db")).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL;
                 PRAGMA synchronous = FULL;
                 PRAGMA foreign_keys = ON;
                 CREATE TABLE checkpoints (sha256 TEXT PRIMARY KEY, byte_size INTEGER, body BLOB) STRICT;
                 CREATE TABLE events (event_number INTEGER PRIMARY KEY, line TEXT, journal_bytes INTEGER) STRICT;",
            )
            .unwrap();
        let transaction = connection.transaction().unwrap();
        for number in 0..events {
            transaction
                .prepare_cached("INSERT INTO events (line, journal_bytes) VALUES (?1, ?2)")
                .unwrap()
                .execute(params!["x".repeat(560), number])
                .unwrap();
        }
        transaction.commit().unwrap();
        Self { connection, run_json: folder.join("run.json"), bytes: 0 }
    }

    fn write(&mut self, snapshot: &[u8], lines: &[String]) {
        let digest = Digest::of(snapshot).to_hex();
        let transaction =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        transaction
            .prepare_cached("INSERT INTO checkpoints (sha256, byte_size, body) VALUES (?1, ?2, ?3)")
            .unwrap()
            .execute(params![digest, snapshot.len() as i64, snapshot])
            .unwrap();
        for line in lines {
            self.bytes += line.len() as i64 + 1;
            transaction
                .prepare_cached("INSERT INTO events (line, journal_bytes) VALUES (?1, ?2)")
                .unwrap()
                .execute(params![line, self.bytes])
                .unwrap();
        }
        transaction.commit().unwrap();
        let folder = self.run_json.parent().unwrap();
        let mut temp = tempfile::NamedTempFile::new_in(folder).unwrap();
        temp.write_all(snapshot).unwrap();
        temp.as_file().sync_all().unwrap();
        temp.persist(&self.run_json).unwrap();
        File::open(folder).unwrap().sync_all().unwrap();
    }
}
