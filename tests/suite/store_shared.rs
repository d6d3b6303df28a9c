//! One store and many: who waits for whom, what others may do to the file, and that every command comes to an end.

use std::fs;
use std::process::Command;

use rusqlite::Connection;

use crate::support::{Workspace, started};

const ENDLESS: &str =
    "SELECT (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)";

fn sqlite(workspace: &Workspace, sql: &str) -> String {
    let output = Command::new("sqlite3").arg("-bail").arg(workspace.store()).arg(sql).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_foreign_trigger_with_an_endless_query_is_ended_and_named() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    sqlite(&workspace, &format!("CREATE TRIGGER slow AFTER INSERT ON events BEGIN {ENDLESS}; END"));
    let before = sqlite(&workspace, "SELECT count(*) FROM events");
    let answer = workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]);
    let said = answer.refused(2, "the trigger slow is not one of the schema");
    assert!(said.contains("nothing was changed") && said.contains(" doctor"), "{said}");
    assert_eq!(sqlite(&workspace, "SELECT count(*) FROM events"), before);
    sqlite(&workspace, "DROP TRIGGER slow");
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
}

#[test]
fn a_store_that_a_shell_took_out_of_wal_mode_is_put_back_by_the_next_command() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    assert_eq!(sqlite(&workspace, "PRAGMA journal_mode = DELETE"), "delete\n");
    let doctor = workspace.legbook(["doctor"]);
    assert!(doctor.expect(1).contains("file-settings"), "{doctor:?}");
    assert_eq!(sqlite(&workspace, "PRAGMA journal_mode"), "delete\n", "doctor changes nothing");
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
    assert_eq!(sqlite(&workspace, "PRAGMA journal_mode"), "wal\n");
    workspace.legbook(["doctor"]).expect(0);
}

#[test]
fn beside_litestreams_tables_the_store_is_well() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    sqlite(
        &workspace,
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
         CREATE TABLE _litestream_lock (id INTEGER); ANALYZE;",
    );
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let doctor = workspace.legbook(["doctor", "--full", "--json"]).json();
    assert_eq!(doctor["stores"][0]["outcome"], "ok", "{doctor}");
    assert_eq!(doctor["stores"][0]["findings"][0]["severity"], "note", "{doctor}");
    let quiet = workspace.legbook(["doctor", "-q"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_dump_in_a_new_file_is_refused_with_all_that_it_lacks_and_then_opens() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    fs::write(workspace.path().join("dump.sql"), sqlite(&workspace, ".dump")).unwrap();
    fs::remove_file(workspace.store()).unwrap();
    sqlite(&workspace, &format!(".read {}", workspace.path().join("dump.sql").display()));
    let list = workspace.legbook(["runs", "list"]);
    let said = list.refused(2, "is not marked as a store");
    let advice = said.split_once("mark it: ").unwrap().1.trim_end();
    let output = Command::new("sh").arg("-c").arg(advice).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(workspace.legbook(["runs", "list"]).expect(0).contains("r1"));
    fs::set_permissions(workspace.store(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    workspace.legbook(["doctor", "--full"]).expect(0);
}

#[test]
fn an_empty_file_in_the_stores_place_is_told_and_its_wal_stays() {
    let workspace = Workspace::new();
    started(&workspace, "r1");
    let wal = workspace.store().with_file_name("store.db-wal");
    fs::write(workspace.store(), "").unwrap();
    fs::write(&wal, "all that is left").unwrap();
    workspace.legbook(["runs", "list"]).refused(2, "is truncated: it has 0 bytes");
    let doctor = workspace.legbook(["doctor"]);
    assert!(doctor.expect(2).contains("file-damaged"), "{doctor:?}");
    assert_eq!(fs::read(&wal).unwrap(), b"all that is left");
}

#[test]
fn a_write_does_not_chain_onto_a_last_event_that_was_changed() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let store = Connection::open(workspace.store()).unwrap();
    let trigger: String = store
        .query_row("SELECT sql FROM sqlite_schema WHERE name = 'events_update'", [], |row| row.get(0))
        .unwrap();
    store
        .execute_batch(&format!(
            "DROP TRIGGER events_update;
             UPDATE events SET line = replace(line, '\"started\"', '\"startes\"')
             WHERE sequence = (SELECT max(sequence) FROM events);
             {trigger};"
        ))
        .unwrap();
    assert_eq!(store.changes(), 1);
    for status in ["planning", "ok"] {
        workspace.legbook(["runs", "status", "r1", status, "--token", &token]).refused(2, "last event");
    }
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).refused(2, "last event");
}
