//! The views answer in the plain shell, say the right thing, and go on answering where a line or a body is spoiled.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use legbook::db::{Store, StoreOptions};
use rusqlite::Connection;

use super::{SNAPSHOT, Seed, shell_says};

/// The one fault that takes a change of the file past SQLite.
const OTHER_PLACE: &str = "the line is of another run or sequence";

fn views(path: &Path) -> Vec<String> {
    let names = shell_says(path, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name");
    names.lines().map(str::to_owned).collect()
}

/// What each view prints in the shell; a view that fails or warns there, or has other rows in the carried engine, fails
/// the test.
fn answers(path: &Path) -> BTreeMap<String, String> {
    let connection = Connection::open(path).unwrap();
    // As legbook opens it; the shell of 3.40 takes no JSON function in a schema that it does not trust.
    connection.pragma_update(None, "trusted_schema", false).unwrap();
    let mut answers = BTreeMap::new();
    for view in views(path) {
        let answer = shell_says(path, &format!("SELECT * FROM {view}"));
        let mut statement = connection.prepare(&format!("SELECT * FROM {view}")).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut count = 0;
        while rows.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(answer.lines().count(), count, "{view}: {answer}");
        answers.insert(view, answer);
    }
    answers
}

/// Changes the store as no rule allows: without the triggers.
fn damage(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    let triggers: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for trigger in triggers {
        connection.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
    }
    connection.execute_batch(sql).unwrap();
    connection.close().unwrap();
}

fn faults(path: &Path) -> Vec<String> {
    let sql = "SELECT run_id, sequence, fault FROM event_chain_faults";
    shell_says(path, sql).lines().map(str::to_owned).collect()
}

#[test]
fn every_view_answers_on_an_empty_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Store::open(&path, StoreOptions::default()).unwrap());
    let answers = answers(&path);
    assert!(answers.len() >= 10);
    for (view, answer) in answers {
        assert_eq!(answer, "", "{view}");
    }
}

#[test]
fn every_core_view_says_what_the_seed_holds() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    // A failed end with its reason, and a receipt for a run without a journal.
    connection
        .execute_batch(
            r#"DROP TRIGGER recoveries_insert;
               UPDATE runs SET status = 'failed', finished_at = '2026-03-04T05:06:07.000000Z' WHERE run_id = 'run-2';
               INSERT INTO recoveries (run_id, after_sequence, recovered_at, owner_pid, prior_status, sha256, byte_size, receipt)
               SELECT 'run-2', 0, '2026-03-04T05:07:00.5+00:00', 77, 'planning', printf('%064d', 5), length(body), body
               FROM (SELECT CAST('{"error": "gone", "failure": {"kind": "owner-process-exited"}, "failure_phase": "stale-lock-recovery"}' AS BLOB) AS body)"#,
        )
        .unwrap();
    connection.close().unwrap();
    let sha = seed.checkpoint.to_hex();
    let size = SNAPSHOT.len();
    let lines =
        |sql: &str| -> Vec<String> { shell_says(&seed.path, sql).lines().map(str::to_owned).collect() };

    assert_eq!(
        lines(
            "SELECT run_id, status, state, journal, events, checkpoints, receipts FROM run_overview WHERE run_id <> 'run-1'"
        ),
        ["run-long||open, and nobody holds it|yes|12|0|0", "run-2|failed|ended|no|0|0|1"]
    );
    let held = lines("SELECT state, started FROM run_overview WHERE run_id = 'run-1'").join("");
    assert!(held.starts_with("held by pid 4242 on host, silent for "), "{held}");
    assert!(held.ends_with("|2026-03-04 05:06:07"), "{held}");
    assert_eq!(
        lines("SELECT * FROM run_timeline WHERE run_id IN ('run-1', 'run-2')"),
        [
            "run-1|0|2026-03-04 05:06:07.000|made in this store|".to_owned(),
            format!("run-1|1|2026-03-04 05:06:07.000|snapshot was kept|{}, {size} bytes", &sha[..12]),
            "run-1|2|2026-03-04 05:06:07.000|started|status: started".to_owned(),
            "run-2|0|2026-03-04 05:06:08.000|made in this store|".to_owned(),
            "run-2|0|2026-03-04 05:07:00.500|recovered: the failure receipt was kept|000000000000, 102 bytes, was planning, owner pid 77".to_owned(),
        ]
    );
    assert_eq!(
        lines("SELECT * FROM run_snapshots"),
        [
            format!("run-1|1|checkpoint|{sha}|{size}|2026-03-04 05:06:07.000|"),
            format!("run-2|0|receipt|{:0>64}|102|2026-03-04 05:07:00.500|", 5),
        ]
    );
    assert_eq!(
        lines("SELECT run_id, recovered, was, owner_pid, after_sequence, status_now FROM run_recoveries"),
        ["run-2|2026-03-04 05:07:00|planning|77|0|failed"]
    );
    assert_eq!(
        lines("SELECT * FROM run_failures"),
        ["run-2|failed|2026-03-04 05:06:07|stale-lock-recovery|owner-process-exited|gone"]
    );
    assert_eq!(
        lines(
            "SELECT run_id, workspace, pid, host, held_since, last_write, lease, recovery, judge, recover FROM stale_locks"
        ),
        [
            "run-1|/w|4242|host|2026-03-04 05:06:07|2026-03-04 05:06:07|none||legbook runs lock run-1|legbook runs recover run-1"
        ]
    );
    assert_eq!(
        lines(
            "SELECT run_id, events, of_max_events, bytes, snapshots, snapshot_bytes, receipt_bytes, warning FROM journal_growth WHERE run_id = 'run-1'"
        ),
        [format!("run-1|2|0.1 %|{}|1|{size}|0|", seed.bytes)]
    );
    assert_eq!(lines("SELECT byte_size FROM orphan_checkpoints"), ["1500"]);
    // A journal without any checkpoint is covered by none.
    assert_eq!(faults(&seed.path), ["run-long|12|the last checkpoint does not cover this event"]);
}

#[test]
fn a_running_lease_is_no_stale_lock_and_one_that_ran_out_is() {
    let seed = Seed::new();
    let lease = |seconds: &str| {
        let sql = format!(
            "UPDATE locks SET lease_seconds = {seconds}, last_write_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-100 seconds');
             SELECT (SELECT count(*) FROM stale_locks), substr(lease, 1, 8) FROM lock_owners"
        );
        shell_says(&seed.path, &sql)
    };
    assert_eq!(lease("3600"), "0|until 20\n");
    assert_eq!(lease("50"), "1|ran out \n");
    assert_eq!(lease("NULL"), "1|none\n");
}

#[test]
fn a_journal_near_its_bound_is_warned_of() {
    let seed = Seed::new();
    let warned =
        |sql: &str| shell_says(&seed.path, &format!("{sql}; SELECT warning FROM journal_growth LIMIT 1"));
    assert_eq!(warned("UPDATE settings SET value = 17 WHERE key = 'max-journal-events'"), "\n");
    assert_eq!(
        warned("UPDATE settings SET value = 16 WHERE key = 'max-journal-events'"),
        "near max-journal-events\n"
    );
    assert_eq!(
        warned(
            "UPDATE settings SET value = 2048 WHERE key = 'max-journal-events';
                UPDATE settings SET value = 90000 WHERE key = 'max-journal-bytes'"
        ),
        "near max-journal-bytes\n"
    );
}

#[test]
fn each_fault_of_a_chain_is_named() {
    let change = |from: &str, to: &str, sequence: i64| {
        format!(
            "UPDATE events SET line = replace(line, '{from}', '{to}') WHERE run_id = 'run-1' AND sequence = {sequence}"
        )
    };
    let expected = [
        ("UPDATE events SET line = 'spoiled' WHERE event_number = 1".to_owned(), "||the line is not JSON"),
        (
            change(r#""recorded_at":"2"#, r#""recorded_by":"2"#, 1),
            "run-1|1|a field of the envelope is missing or of another kind",
        ),
        (
            change("run_event.v1", "run_event.v2", 1),
            "run-1|1|a field of the envelope is missing or of another kind",
        ),
        ("DELETE FROM runs WHERE run_id = 'run-1'".to_owned(), "run-1|1|there is no such run"),
        (
            "DELETE FROM events WHERE run_id = 'run-1' AND sequence = 1".to_owned(),
            "run-1|2|sequence does not follow 0",
        ),
        (
            change(r#""event_digest":""#, r#""event_digest":"0"#, 1),
            "run-1|2|previous_digest is not the digest of the event before",
        ),
        (change("run-1-000002", "run-1-000003", 2), "run-1|2|event_id is not made of its parts"),
        (
            change(r#""event_type":"run.created"#, r#""event_type":"run.finished"#, 2),
            "run-1|2|the event type is not registered",
        ),
        (
            format!("DROP INDEX events_by_key; {}", change("key-2", "key-1", 2)),
            "run-1|2|the run has this idempotency key before",
        ),
        (
            "UPDATE events SET journal_bytes = 1 + journal_bytes".to_owned(),
            "run-1|1|journal_bytes does not add up",
        ),
        ("DELETE FROM checkpoints".to_owned(), "run-1|1|the checkpoint is not stored with that size"),
        (
            "UPDATE checkpoints SET body = x'7b7d'".to_owned(),
            "run-1|1|the checkpoint is not stored with that size",
        ),
        (
            change(r#""paired_event_type":"run.created"#, r#""paired_event_type":"run.failed"#, 1),
            "run-1|2|the last checkpoint does not cover this event",
        ),
        ("UPDATE runs SET journaled_at = created_at".to_owned(), "run-2||the journal is active and empty"),
    ];
    for (sql, fault) in &expected {
        let seed = Seed::new();
        damage(&seed.path, sql);
        let found = faults(&seed.path);
        assert!(found.iter().any(|found| found == fault), "{fault} is not among {found:?}");
        answers(&seed.path);
    }
    // And each fault that the view can name is among them.
    let seed = Seed::new();
    let view = shell_says(&seed.path, "SELECT sql FROM sqlite_schema WHERE name = 'event_chain_faults'");
    for part in view.split("event_number, '").skip(1).chain(view.split("NULL, NULL, '").skip(1)) {
        let words = part.split('\'').next().unwrap().trim_end();
        assert!(words == OTHER_PLACE || expected.iter().any(|(_, fault)| fault.contains(words)), "{words}");
    }
}

#[test]
fn views_answer_where_the_file_itself_was_changed() {
    let seed = Seed::new();
    // The stored columns stay what they were; the line under them is no JSON any more.
    let line = seed.events[1].line();
    change_file(&seed.path, line.as_bytes(), format!("!{}", &line[1..]).as_bytes());
    change_file(&seed.path, SNAPSHOT, &[b"!", &SNAPSHOT[1..]].concat());
    assert!(faults(&seed.path).contains(&"run-1|2|the line is not JSON".to_owned()));
    let answers = answers(&seed.path);
    assert!(answers["run_timeline"].contains("run-1|2||unreadable event|"), "{}", answers["run_timeline"]);
    shell_says(&seed.path, "UPDATE runs SET status = 'failed'");
    assert_eq!(
        shell_says(&seed.path, "SELECT * FROM run_failures WHERE run_id = 'run-1'"),
        "run-1|failed||||\n"
    );
}

#[test]
fn a_line_that_was_moved_within_the_file_is_named() {
    let seed = Seed::new();
    let line = seed.events[1].line();
    change_file(&seed.path, line.as_bytes(), line.replace("\"sequence\":2}", "\"sequence\":7}").as_bytes());
    assert!(faults(&seed.path).contains(&format!("run-1|2|{OTHER_PLACE}")));
    answers(&seed.path);
}

/// Writes `to` over each place of the closed store's file that holds `from`; a page may leave an older copy behind.
fn change_file(path: &Path, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(path).unwrap();
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    fs::write(path, bytes).unwrap();
}
