//! `legacy::import_all` against two floors, and its memory as the number of runs grows.
//!
//! A floor is what nobody can do without: reading each file of a run directory, hashing it, and inserting the same bytes
//! into bare tables under the same pragmas. The first floor takes each directory in a transaction of its own, as a plain
//! program would; the second has the directories of a chunk in one transaction, as `import_all` nearly has. The three take
//! each chunk in turn, in an order that moves on, and the medians over the chunks of the time for a run are printed with
//! their ratios. Then the peak of this process's memory after importing few and many runs.
//!
//! `cargo bench --bench import`

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::event::{self, CHECKPOINT_EVENT_TYPE, Event, EventInput};
use legbook::json;
use legbook::legacy;
use rusqlite::{Connection, TransactionBehavior, params};

const STATUSES: [&str; 4] = ["started", "planning", "dispatching", "ok"];

/// How many directories are timed at once: as many as share a transaction of an import.
const CHUNK: usize = 128;

fn main() {
    // `cargo test --benches` only asks whether it builds and runs.
    let full = std::env::args().any(|argument| argument == "--bench");
    let (few, many) = if full { (1_280, 10_000) } else { (2, 4) };
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let directories: Vec<PathBuf> = (0..many).map(|number| write_run(&runs, number)).collect();

    let store = Store::open(folder.path().join("store.db"), StoreOptions::default()).unwrap();
    let mut each = floor(&folder.path().join("each.db"));
    let mut together = floor(&folder.path().join("together.db"));
    let mut times = [const { Vec::new() }; 3];
    for (number, chunk) in directories[..few].chunks(CHUNK).enumerate() {
        for side in (0..3).map(|side| (side + number) % 3) {
            let start = Instant::now();
            match side {
                0 => import(&store, chunk),
                1 => chunk.iter().for_each(|directory| {
                    insert_plainly(&mut each, std::slice::from_ref(directory));
                }),
                _ => insert_plainly(&mut together, chunk),
            }
            times[side].push(start.elapsed() / chunk.len() as u32);
        }
    }
    let [ours, each, together] = times.map(|times| median(times).as_secs_f64());
    println!("import {:.0} us a run", ours * 1e6);
    println!("floor, a transaction a run: {:.0} us, ratio {:.2}", each * 1e6, ours / each);
    println!("floor, a transaction for {CHUNK} runs: {:.0} us, ratio {:.2}", together * 1e6, ours / together);
    println!("peak memory after {few} runs: {} KiB", peak_kib());
    import(&store, &directories[few..]);
    println!("peak memory after {many} runs: {} KiB", peak_kib());
}

fn import(store: &Store, directories: &[PathBuf]) {
    let mut taken = 0;
    let ended = legacy::import_all(store, directories, false, |_, outcome| outcome.map(|_| taken += 1));
    ended.unwrap();
    assert_eq!(taken, directories.len());
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The peak of resident memory, as the kernel counts it; 0 where it does not say.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}

/// A run directory of eight events and four checkpoints of about 2 KiB.
fn write_run(runs: &Path, number: usize) -> PathBuf {
    let run_id = format!("run-{number}");
    let directory = runs.join(&run_id);
    let checkpoints = directory.join("events/recovery-checkpoints");
    fs::create_dir_all(&checkpoints).unwrap();
    let (mut journal, mut previous, mut prior, mut sequence) = (String::new(), None, None, 0);
    for status in STATUSES {
        let text = format!(
            r#"{{"lifecycle_journal_requested": true, "n": {number}, "notes": "{}", "status": "{status}"}}"#,
            "a line of the run's notes ".repeat(80)
        );
        let snapshot = json::snapshot_bytes(&json::parse_object(text.as_bytes()).unwrap());
        let sha256 = Digest::of(&snapshot);
        let event_type = event::event_type_of_status(status).unwrap();
        let payload = event::status_payload(event_type, status);
        let key = event::status_key(event_type, &payload, prior).unwrap();
        let checkpoint = event::checkpoint_payload(sha256, snapshot.len() as i64, Some(event_type));
        let checkpoint_key = event::checkpoint_key(sha256, Some(event_type));
        for (event_type, idempotency_key, payload) in
            [(CHECKPOINT_EVENT_TYPE, checkpoint_key, checkpoint), (event_type, key, payload)]
        {
            sequence += 1;
            let event = Event::new(EventInput {
                run_id: &run_id,
                sequence,
                event_type,
                recorded_at: "2026-03-04T05:06:07.000008Z",
                idempotency_key: &idempotency_key,
                previous_digest: previous,
                payload,
            })
            .unwrap();
            previous = Some(event.event_digest());
            journal.push_str(event.line());
            journal.push('\n');
        }
        fs::write(checkpoints.join(format!("{sha256}.json")), &snapshot).unwrap();
        fs::write(directory.join("run.json"), &snapshot).unwrap();
        prior = Some(sha256);
    }
    fs::write(directory.join("events/lifecycle.jsonl"), journal).unwrap();
    make_private(&directory);
    directory
}

/// Gives the tree the modes with which the legacy programs write it.
fn make_private(path: &Path) {
    let is_folder = path.is_dir();
    fs::set_permissions(path, Permissions::from_mode(if is_folder { 0o700 } else { 0o600 })).unwrap();
    if is_folder {
        fs::read_dir(path).unwrap().for_each(|entry| make_private(&entry.unwrap().path()));
    }
}

fn floor(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA foreign_keys = ON;
             CREATE TABLE files (path TEXT PRIMARY KEY, sha256 TEXT, body BLOB) STRICT;
             CREATE TABLE events (event_number INTEGER PRIMARY KEY, line TEXT) STRICT;",
        )
        .unwrap();
    connection
}

/// Inserts the directories in one transaction.
fn insert_plainly(connection: &mut Connection, directories: &[PathBuf]) {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let put = |path: &Path| {
        let body = fs::read(path).unwrap();
        transaction
            .prepare_cached("INSERT INTO files (path, sha256, body) VALUES (?1, ?2, ?3)")
            .unwrap()
            .execute(params![path.to_str(), Digest::of(&body).to_hex(), body])
            .unwrap();
    };
    for directory in directories {
        put(&directory.join("run.json"));
        for entry in fs::read_dir(directory.join("events/recovery-checkpoints")).unwrap() {
            put(&entry.unwrap().path());
        }
        let journal = fs::read_to_string(directory.join("events/lifecycle.jsonl")).unwrap();
        for line in journal.lines() {
            Digest::of(line.as_bytes());
            let mut insert = transaction.prepare_cached("INSERT INTO events (line) VALUES (?1)").unwrap();
            insert.execute([line]).unwrap();
        }
    }
    transaction.commit().unwrap();
}
