//! Stores whose schema version, tables or rows somebody changed: each command says so at once, in a line or two, with a
//! way on; none hangs, answers from what stands in a table's place, or says "call again".

use legbook::error::{Error, StoreError};
use rusqlite::Connection;

use crate::recovery_bench::{Bench, snapshot};
use crate::support::{Answer, Workspace};

/// A workspace whose store has one run, after `sql`.
fn tampered(sql: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.legbook(["runs", "start", "r1"]).expect(0);
    let store = Connection::open(workspace.store()).unwrap();
    store.execute_batch(sql).unwrap();
    store.close().unwrap();
    workspace
}

/// A refusal in two short lines that sends to doctor; gives its first line.
#[track_caller]
fn refusal(answer: &Answer) -> String {
    let said = answer.refused(2, "");
    assert!(said.contains(" doctor"), "{said}");
    assert!(!said.contains("CREATE ") && !said.contains("SELECT "), "{said}");
    for line in said.lines() {
        assert!(line.chars().count() <= 300, "{said}");
    }
    said.lines().next().unwrap().to_owned()
}

#[test]
fn a_view_in_the_place_of_a_table_is_refused_and_never_run() {
    // A view that never ends: a command that ran it would hang.
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                   SELECT t.* FROM n, real t WHERE n.i < 0";
    for table in ["runs", "events"] {
        let workspace = tampered(&format!(
            "PRAGMA legacy_alter_table = ON; ALTER TABLE {table} RENAME TO real; CREATE VIEW {table} AS {endless}"
        ));
        for command in [&["runs", "show", "r1"][..], &["runs", "recover", "r1"]] {
            let said = refusal(&workspace.legbook(command));
            assert!(said.contains("the store's schema was changed"), "{said}");
        }
    }
}

#[test]
fn recovery_runs_no_trigger_that_legbook_did_not_make() {
    for trigger in [
        "CREATE TRIGGER somebodys AFTER DELETE ON locks BEGIN SELECT 1; END",
        "DROP TRIGGER recoveries_insert;
         CREATE TRIGGER recoveries_insert BEFORE INSERT ON recoveries BEGIN SELECT 1; END",
    ] {
        let bench = Bench::stale();
        bench.sql(trigger);
        let refused = bench.refused();
        assert!(matches!(refused, Error::Store(StoreError::Schema { .. })), "{refused}");
    }
}

#[test]
fn a_row_that_holds_what_legbook_never_writes_is_damage_and_not_a_failure_of_the_machine() {
    let workspace = tampered("DROP TRIGGER runs_update; UPDATE runs SET status = CAST(x'ff' AS TEXT)");
    for command in [&["runs", "list"][..], &["runs", "show", "r1"], &["runs", "recover", "r1"]] {
        let said = refusal(&workspace.legbook(command));
        assert!(said.contains("a row holds what legbook never writes"), "{command:?}: {said}");
    }
}

#[test]
fn a_row_or_table_that_every_store_has_and_that_is_gone_is_damage() {
    let bench = Bench::new();
    bench.sql("DROP TRIGGER settings_delete; DELETE FROM settings");
    let refused = bench.write(&snapshot("planning", 1)).unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Corrupt(_))), "{refused}");

    let workspace = tampered("DROP TABLE settings");
    let said = refusal(&workspace.legbook(["db", "info"]));
    assert!(said.contains("no such table"), "{said}");
}
