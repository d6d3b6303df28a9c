//! Each column of each table gets a value that legbook never writes: text that is not UTF-8, a value of another type, a number
//! out of range. No reader panics, the trouble is told with its row and column, and no other run is hidden by it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use legbook::db::{Store, StoreOptions};
use legbook::id::RunId;
use legbook::{doctor, handoff, legacy, run};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::doctor::options;
use crate::support::Workspace;
use crate::sweep::{Column, Whole, each, first_column, has_rowid};

/// Tables that hold for the store as a whole: what is wrong there may keep every run from being read.
const OF_THE_STORE: [&str; 7] =
    ["store", "home", "settings", "event_types", "event_payload_keys", "event_statuses", "status_events"];

/// Values that legbook never writes into a column of this kind.
fn odd_values(column: &Column) -> &'static [&'static str] {
    match column.kind.as_str() {
        "INTEGER" => &["'text'", "x'00ff'", "NULL", "-1", "9223372036854775807"],
        "BLOB" => &["'text'", "5", "NULL"],
        _ => &["CAST(x'ff' AS TEXT)", "x'00ff'", "NULL"],
    }
}

/// Puts the value into the last row of the column's table, past triggers and types; says whether that changed it and of which
/// run the row is.
fn spoil(whole: &Whole, store: &Path, column: &Column, value: &str) -> Option<Option<String>> {
    let Column { table, name, .. } = column;
    let connection = Connection::open(store).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    let key = if has_rowid(&connection, table) { "rowid" } else { first_column(whole, table) };
    let last = format!("{key} = (SELECT max({key}) FROM {table})");
    let run_id =
        connection.query_row(&format!("SELECT run_id FROM {table} WHERE {last}"), [], |row| row.get(0)).ok();
    // A table without STRICT and NOT NULL takes any value; its own schema is put back afterwards.
    let sql: String = connection
        .query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
        .unwrap();
    let loose =
        sql.replace(") STRICT, WITHOUT", ") WITHOUT").replace(") STRICT", ")").replace(" NOT NULL", "");
    // A column without a type keeps a value as it is.
    let loose = loose
        .replace(" INTEGER ", " BLOB ")
        .replace(" TEXT ", " BLOB ")
        .replace(" BLOB PRIMARY", " INTEGER PRIMARY");
    set_schema(&connection, table, &loose);
    connection.close().unwrap();
    let connection = Connection::open(store).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").unwrap();
    let update = format!("UPDATE {table} SET {name} = {value} WHERE {last} AND {name} IS NOT ({value})");
    let changed = connection.execute(&update, []).unwrap_or(0);
    set_schema(&connection, table, &sql);
    connection.close().unwrap();
    (changed > 0).then_some(run_id)
}

fn set_schema(connection: &Connection, table: &str, sql: &str) {
    connection.execute_batch("PRAGMA writable_schema = ON").unwrap();
    connection.execute("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1", [table, sql]).unwrap();
    connection.execute_batch("PRAGMA writable_schema = RESET").unwrap();
}

/// What can be read of each run: how it was exported, and how many events it shows.
fn read_all(store: &Path, out: &Path) -> BTreeMap<String, String> {
    let store = match Store::open_existing(store, StoreOptions::default()) {
        Ok(store) => store,
        Err(error) => return BTreeMap::from([("store".to_owned(), error.to_string())]),
    };
    let mut said = BTreeMap::new();
    match run::list(&store) {
        Ok(listed) => {
            for run in listed.runs {
                let run_id = run.run_id;
                let exported = legacy::export(&store, &run_id, out).map(|done| done.events);
                let shown = run::show(&store, &run_id).map(|shown| shown.events);
                let events = run::events(&store, &run_id, 0, 100).map(|events| events.len());
                said.insert(run_id.to_string(), format!("{exported:?} {shown:?} {events:?}"));
            }
            let damaged = listed.damaged.iter().map(ToString::to_string).collect::<Vec<_>>();
            said.insert("damaged".to_owned(), damaged.join("; "));
        }
        Err(error) => {
            said.insert("list".to_owned(), error.to_string());
        }
    }
    let topics = handoff::topics(&store).map(|topics| topics.len());
    said.insert("topics".to_owned(), format!("{topics:?}"));
    let _ = std::fs::remove_dir_all(out);
    said
}

#[test]
fn a_value_of_an_odd_kind_is_the_trouble_of_its_row_alone() {
    let whole = Whole::new();
    let mut cases: Vec<(&Column, &str)> = Vec::new();
    for column in &whole.columns {
        cases.extend(odd_values(column).iter().map(|value| (column, *value)));
    }
    let well = Mutex::new(None);
    each(&whole, &[()], |(), store| {
        *well.lock().unwrap() = Some(read_all(store, &store.with_file_name("out")));
    });
    std::fs::remove_dir_all(whole.clinic.path().join("sweep-0")).unwrap();
    let _ = std::fs::remove_dir_all(whole.clinic.path().join("sweep-1"));
    let _ = std::fs::remove_dir_all(whole.clinic.path().join("sweep-2"));
    let _ = std::fs::remove_dir_all(whole.clinic.path().join("sweep-3"));
    let well = well.into_inner().unwrap().unwrap();
    assert!(well.len() > 4, "{well:?}");
    let faults: Mutex<Vec<String>> = Mutex::default();
    let changed = Mutex::new(0);
    each(&whole, &cases, |(column, value), store| {
        let place = format!("{}.{} = {value}", column.table, column.name);
        let Some(of_run) = spoil(&whole, store, column, value) else { return };
        *changed.lock().unwrap() += 1;
        let fault = |what: String| faults.lock().unwrap().push(format!("{place}: {what}"));
        let is_number = column.kind == "INTEGER" && value.parse::<i64>().is_ok();
        match doctor::examine(store, options(true, None)) {
            Ok(report) => {
                let named = |found: &doctor::Finding| {
                    found.kind == doctor::Kind::ValueDamaged && found.what.contains(&column.name)
                };
                let may_be_null = *value == "NULL";
                if !is_number && !may_be_null && !report.findings.iter().any(named) {
                    fault(format!("doctor does not name it: {:?}", report.findings));
                }
                if report.runs.len() + 2 < well.len() {
                    fault(format!("doctor judges {} runs only", report.runs.len()));
                }
            }
            Err(error) => fault(format!("doctor cannot check: {error}")),
        }
        if OF_THE_STORE.contains(&column.table.as_str()) {
            return;
        }
        let said = read_all(store, &store.with_file_name("out"));

        let hidden: Vec<_> = well
            .iter()
            .filter(|(run_id, _)| {
                RunId::parse(run_id).is_ok() && !["damaged", "topics"].contains(&run_id.as_str())
            })
            .filter(|(run_id, before)| Some(*run_id) != of_run.as_ref() && said.get(*run_id) != Some(*before))
            .map(|(run_id, _)| format!("{run_id}: {:?}", said.get(run_id)))
            .collect();
        let most = usize::from(column.table == "checkpoints") * 2;
        if hidden.len() > most {
            fault(format!(
                "other runs are hidden: {hidden:?}; {:?} {:?}",
                said.get("list"),
                said.get("damaged")
            ));
        }
    });
    let faults = faults.into_inner().unwrap();
    let changed = changed.into_inner().unwrap();
    assert!(changed > 150, "{changed} values could be put in");
    assert!(faults.is_empty(), "{} faults: {faults:#?}", faults.len());
}

#[test]
fn lists_and_exports_name_an_odd_row_and_go_on_with_the_others() {
    let workspace = Workspace::new();
    for run_id in ["r1", "r2", "r3"] {
        workspace.legbook(["run", "--run-id", run_id, "--", "true"]).expect(0);
    }
    let store = Connection::open(workspace.store()).unwrap();
    store
        .execute_batch(
            "DROP TRIGGER runs_update; UPDATE runs SET task = CAST(x'ff' AS TEXT) WHERE run_id = 'r2'",
        )
        .unwrap();
    store.close().unwrap();
    let words = "column task of run_id r2 holds text that is not UTF-8";
    let listed = workspace.legbook(["runs", "list"]);
    assert_eq!(listed.code, 2, "{listed:?}");
    assert!(listed.stderr.contains(words) && listed.stderr.contains("doctor --full"), "{listed:?}");
    assert!(listed.stdout.contains("r1") && listed.stdout.contains("r3"), "{listed:?}");
    let exported = workspace.legbook(["runs", "export", "--all", "--to", "out"]);
    assert_eq!(exported.code, 2, "{exported:?}");
    assert!(exported.stderr.contains(words), "{exported:?}");
    assert!(workspace.path().join("out/r1").is_dir() && workspace.path().join("out/r3").is_dir());
    for command in [&["runs", "show", "r2"][..], &["runs", "events", "r2"], &["runs", "recover", "r2"]] {
        let answer = workspace.legbook(command);
        assert_eq!(answer.code, 2, "{command:?}: {answer:?}");
        assert!(answer.stderr.contains(words) && answer.stderr.contains("doctor --full"), "{answer:?}");
    }
}
