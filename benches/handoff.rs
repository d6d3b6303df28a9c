//! `legbook handoff nominate` and `finalize` as whole processes, against the `sqlite3` shell inserting the same bytes.
//!
//! The pool has 15 nominations of 20 items, half a megabyte. Each call of legbook is followed by a shell that writes the
//! same rows, in one transaction, into the same tables of a store of its own; the medians and their ratio are printed.
//! The two take turns, so that a machine whose speed drifts slows both.
//!
//! `cargo bench --bench handoff`

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

const LEGBOOK: &str = env!("CARGO_BIN_EXE_legbook");
const ROUNDS: usize = 200;

fn main() {
    // `cargo test --benches` only asks whether it builds and runs.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 3 };
    if Command::new("sqlite3").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("sqlite3: not there");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    nominate(folder.path(), rounds);
    finalize(folder.path(), rounds);
}

fn nominate(folder: &Path, rounds: usize) {
    let ours = folder.join("nominate");
    let pool = file(folder, "pool.json", &pool());
    leg(&ours, &["nominate"], &pool);
    let shells = copy(&ours);
    let mut times = Times::default();
    for round in 0..rounds {
        times.ours.push(leg(&ours, &["nominate"], &pool));
        let sql = file(folder, "nominate.sql", &rows_of_round(&ours.join("legbook.db"), round));
        times.shells.push(shell(&shells, &sql));
    }
    times.print("nominate");
}

fn finalize(folder: &Path, rounds: usize) {
    let ours = folder.join("finalize");
    leg(&ours, &["nominate"], &file(folder, "pool.json", &pool()));
    let connection = Connection::open(ours.join("legbook.db")).unwrap();
    let bundle_id: String =
        connection.query_row("SELECT bundle_id FROM rounds", [], |row| row.get(0)).unwrap();
    let list = |row: fn(usize) -> String| (1..=15).map(row).collect::<Vec<_>>().join(", ");
    let judgments = list(|n| format!(r#"{{"id": "n{n}", "worthiness": 50}}"#));
    let judgments = format!(r#"{{"bundle_id": "{bundle_id}", "judgments": [{judgments}]}}"#);
    leg(&ours, &["judge", "-"], &file(folder, "judgments.json", &judgments));
    let topics = list(|n| format!(r#"{{"id": "n{n}", "name": "Topic {n}"}}"#));
    let inputs = list(|n| format!(r#""n{n}": {{"name": "Topic {n}"}}"#));
    let report = format!(
        r#"{{"bundle_id": "{bundle_id}", "report": {{"topics": [{topics}]}}, "angle_inputs": {{{inputs}}}}}"#
    );
    leg(&ours, &["report", "-"], &file(folder, "report.json", &report));
    let angles = list(|n| format!(r#"{{"id": "n{n}", "podcast": "A hook"}}"#));
    let angles = format!(r#"{{"bundle_id": "{bundle_id}", "angles": [{angles}]}}"#);
    let angles = file(folder, "angles.json", &angles);
    leg(&ours, &["finalize", "--angles", "-"], &angles);
    let shells = copy(&ours);
    let mut times = Times::default();
    for round in 0..rounds {
        times.ours.push(leg(&ours, &["finalize", "--angles", "-"], &angles));
        let attempt = round + 2;
        let mut sql = String::from("PRAGMA synchronous = FULL; BEGIN IMMEDIATE;\n");
        for n in 1..=15 {
            writeln!(
                sql,
                "INSERT INTO angles VALUES (1, {attempt}, 'n{n}', 'A hook', NULL, '{{\"id\":\"n{n}\",\"podcast\":\"A hook\"}}', '2026');"
            )
            .unwrap();
        }
        times.shells.push(shell(&shells, &file(folder, "finalize.sql", &(sql + "COMMIT;\n"))));
    }
    times.print("finalize");
}

#[derive(Default)]
struct Times {
    ours: Vec<Duration>,
    shells: Vec<Duration>,
}

impl Times {
    fn print(self, name: &str) {
        let [ours, shells] = [self.ours, self.shells].map(|mut times| {
            times.sort();
            times[times.len() / 2].as_secs_f64() * 1e3
        });
        println!("{name}: legbook {ours:.2} ms, sqlite3 {shells:.2} ms, ratio {:.2}", ours / shells);
    }
}

/// Runs a leg on the store in `save_dir`.
fn leg(save_dir: &Path, arguments: &[&str], input: &Path) -> Duration {
    let mut command = Command::new(LEGBOOK);
    command.arg("handoff").args(arguments).arg("--save-dir").arg(save_dir);
    timed(command, input)
}

fn shell(store: &Path, sql: &Path) -> Duration {
    let mut command = Command::new("sqlite3");
    command.arg(store);
    timed(command, sql)
}

fn timed(mut command: Command, input: &Path) -> Duration {
    command.stdin(File::open(input).unwrap()).stdout(Stdio::null()).env_remove("LEGBOOK_STRICT_EXIT");
    let start = Instant::now();
    let status = command.status().unwrap();
    let elapsed = start.elapsed();
    assert!(status.success());
    elapsed
}

/// A copy of the store in `save_dir` for the shell.
fn copy(save_dir: &Path) -> PathBuf {
    let shells = save_dir.join("shell.db");
    let connection = Connection::open(save_dir.join("legbook.db")).unwrap();
    connection.execute("VACUUM INTO ?1", [shells.to_str().unwrap()]).unwrap();
    let connection = Connection::open(&shells).unwrap();
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    shells
}

/// The rows of the current round in `store` as statements, under another id.
fn rows_of_round(store: &Path, round: usize) -> String {
    let connection = Connection::open(store).unwrap();
    let id = format!("'bench-{round}'");
    let mut sql = String::from(
        "PRAGMA synchronous = FULL; BEGIN IMMEDIATE;\nUPDATE rounds SET superseded_at = '2026' WHERE superseded_at IS NULL;\n",
    );
    let statements = [
        "SELECT 'INSERT INTO rounds (bundle_id, generated_at, mock, nomination_count, head, sha256, stored_at) VALUES ('
            || ?1 || ',' || quote(generated_at) || ',' || mock || ',' || nomination_count || ',' || quote(head) || ','
            || quote(sha256) || ',' || quote(stored_at) || ');' FROM rounds WHERE superseded_at IS NULL",
        "SELECT 'INSERT INTO nominations (bundle_id, position, nomination_id, body, sha256) VALUES (' || ?1 || ','
            || position || ',' || quote(nomination_id) || ',' || quote(body) || ',' || quote(nominations.sha256) || ');'
         FROM nominations JOIN rounds USING (bundle_id) WHERE superseded_at IS NULL ORDER BY position",
    ];
    for statement in statements {
        let mut statement = connection.prepare(statement).unwrap();
        let rows = statement.query_map([&id], |row| row.get::<_, String>(0)).unwrap();
        for row in rows {
            sql += &(row.unwrap() + "\n");
        }
    }
    sql + "COMMIT;\n"
}

fn file(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

/// 15 nominations of 20 items.
fn pool() -> String {
    let words = "many words that somebody wrote ".repeat(28);
    let item = format!(
        r#"{{"source": "reddit", "title": "A title", "snippet": "{words}", "engagement": {{"score": 4021, "num_comments": 612}},
            "metadata": {{"top_comments": [{{"body": "{words}", "score": 12}}]}}}}"#
    );
    let items = vec![item; 20].join(", ");
    let rows: Vec<String> = (1..=15)
        .map(|n| {
            format!(
                r#"{{"cluster_id": "c{n}", "heuristic_name": "Topic {n}", "heuristic_junk": false,
                    "nomination": {{"name": "topic {n}", "seed_score": 12.5, "items": [{items}]}}}}"#
            )
        })
        .collect();
    format!(
        r#"{{"domain": "ai", "tier": "deep", "from_date": "2026-11-01", "to_date": "2026-11-30",
            "context": {{"enrichment_source_boundary": null, "requested_sources": null, "lookback_days": 30}},
            "source_status": {{"reddit": {{"state": "ok"}}}}, "warnings": [], "nominations": [{}]}}"#,
        rows.join(", ")
    )
}
