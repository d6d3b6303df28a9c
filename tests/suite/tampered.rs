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
        let words = "column status of run_id r1 holds text that is not UTF-8";
        assert!(said.contains(words), "{command:?}: {said}");
    }
}

#[test]
fn a_row_or_table_that_every_store_has_and_that_is_gone_is_damage() {
    let bench = Bench::new();
    bench.sql("DROP TRIGGER settings_delete; DELETE FROM settings");
    let refused = bench.write(&snapshot("planning", 1)).unwrap_err();
    assert!(matches!(refused, Error::Store(StoreError::Value(_))), "{refused}");

    let workspace = tampered("DROP TABLE settings");
    let said = refusal(&workspace.legbook(["db", "info"]));
    assert!(said.contains("no such table"), "{said}");
}

#[test]
fn a_run_with_a_bad_id_is_left_out_of_lists_and_hides_no_other() {
    let workspace = tampered(
        "DROP TRIGGER runs_insert; INSERT INTO runs (run_id, created_at) VALUES ('not an id', '2026-01-01T00:00:00.000000Z')",
    );
    let listed = workspace.legbook(["runs", "list"]);
    assert_eq!(listed.code, 0, "{listed:?}");
    assert!(listed.stdout.contains("r1") && !listed.stdout.contains("not an id"), "{listed:?}");
    assert!(
        listed.stderr.contains("1 runs are left out") && listed.stderr.contains("legbook doctor"),
        "{listed:?}"
    );
    workspace.legbook(["runs", "export", "--all", "--to", "out"]).expect(0);
    assert!(workspace.path().join("out/r1").is_dir());
}

#[test]
fn a_pipeline_with_a_gap_is_not_resumed() {
    let workspace = tampered("");
    workspace.legbook(["stage", "begin"]).expect(0);
    for stage in ["one", "two", "three"] {
        workspace.legbook_reading(["stage", "save", stage], "{}").expect(0);
    }
    let store = Connection::open(workspace.store()).unwrap();
    store.execute_batch("DROP TRIGGER stages_delete; DELETE FROM stages WHERE name = 'two'").unwrap();
    for command in [&["stage", "begin"][..], &["stage", "status"]] {
        let answer = workspace.legbook(command);
        assert_eq!(answer.code, 1, "{answer:?}");
        assert!(answer.stderr.contains("not at positions") && answer.stderr.contains("doctor"), "{answer:?}");
    }
    workspace.legbook(["stage", "begin", "--fresh"]).expect(0);
}

#[test]
fn counters_that_the_kept_records_contradict_close_the_readiness_gate() {
    let workspace = tampered("");
    let store = Connection::open(workspace.store()).unwrap();
    let forged = "UPDATE shadow_evidence SET lags = comparisons, matches = 0";
    assert!(store.execute_batch(forged).unwrap_err().to_string().contains("a count never goes down"));
    store.execute_batch(&format!("DROP TRIGGER shadow_evidence_update; {forged}")).unwrap();
    let answer = workspace.legbook(["runs", "readiness", "r1"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.stdout.contains("evidence-unreadable"), "{answer:?}");
}

#[test]
fn a_superseded_pending_report_that_was_made_current_again_is_not_finalized() {
    let workspace = tampered("");
    let pool = crate::doctor::POOL;
    let round = |workspace: &Workspace| {
        let nominated =
            workspace.legbook_reading(["handoff", "nominate", "--domain", "ai", "--json"], pool).json();
        let bundle_id = nominated["bundle_id"].as_str().unwrap().to_owned();
        let judgments = format!(r#"{{"bundle_id": "{bundle_id}", "judgments": [{{"id": "n1"}}]}}"#);
        workspace.legbook_reading(["handoff", "judge", "-"], &judgments).expect(0);
        bundle_id
    };
    let first = round(&workspace);
    let report = format!(
        r#"{{"bundle_id": "{first}", "report": {{"topics": [{{"id": "n1", "name": "Gemma 4"}}]}}, "angle_inputs": {{"n1": {{"name": "Gemma 4"}}}}}}"#
    );
    workspace.legbook_reading(["handoff", "report", "-"], &report).expect(0);
    round(&workspace);
    let store = Connection::open(workspace.store()).unwrap();
    store
        .execute_batch("DROP TRIGGER pending_reports_update; UPDATE pending_reports SET superseded_at = NULL")
        .unwrap();
    let answer = workspace.legbook(["handoff", "finalize"]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.stderr.contains("its round is not") && answer.stderr.contains("doctor"), "{answer:?}");
    let queued: i64 = store.query_row("SELECT count(*) FROM queue", [], |row| row.get(0)).unwrap();
    assert_eq!(queued, 0);
}
