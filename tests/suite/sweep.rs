//! Every column of every table, changed as its type allows: what doctor does not find is on the list in docs/FORMAT.md.
//!
//! Once with the triggers switched off (somebody who drops them and puts them back), once by plain statements with the
//! triggers in place. A change counts as found if doctor, with `--full` and heads, says more than it said before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use legbook::digest::Digest;
use legbook::doctor::{self, Heads, Report};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::doctor::{Clinic, POOL, look, options};
use crate::doctor_flips::vouched_by_nothing;
use crate::support::{Answer, Workspace};

/// A store that is well, with rows in every table, closed.
pub(crate) struct Whole {
    pub(crate) clinic: Clinic,
    bytes: Vec<u8>,
    heads: Heads,
    pub(crate) columns: Vec<Column>,
    /// What doctor says of it: nothing that matters.
    said: BTreeSet<String>,
    rows: Vec<Vec<rusqlite::types::Value>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) table: String,
    pub(crate) name: String,
    pub(crate) kind: String,
}

impl Column {
    fn place(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }
}

impl Whole {
    pub(crate) fn new() -> Self {
        let clinic = Clinic::new();
        fill(&clinic);
        let store = Connection::open(clinic.store()).unwrap();
        store.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        let columns = columns(&store);
        for column in &columns {
            let sql = format!("SELECT count(*) FROM {}", column.table);
            let rows: i64 = store.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert!(rows > 0, "{} is empty", column.table);
        }
        store.close().unwrap();
        let mut heads = Heads::read(&clinic.path().join("heads.json")).unwrap();
        heads.take_over(&doctor::examine_all(&[clinic.store()], options(false, Some(&heads))));
        let bytes = fs::read(clinic.store()).unwrap();
        let report = look(&clinic.store(), true, Some(&heads)).unwrap();
        assert_eq!(report.findings, [], "the store is well before it is changed");
        let (said, rows) = (says(&report), dump(&clinic.store()));
        // While the store is at its home, what is put elsewhere would be a copy, of which doctor sees less.
        fs::remove_file(clinic.store()).unwrap();
        Self { clinic, bytes, heads, columns, said, rows }
    }

    /// What doctor says, without the words that name a place on the disk.
    fn said(&self, store: &Path) -> BTreeSet<String> {
        match look(store, true, Some(&self.heads)) {
            Ok(report) => says(&report),
            Err(error) => BTreeSet::from([error.to_string()]),
        }
    }
}

fn says(report: &Report) -> BTreeSet<String> {
    let findings = report.findings.iter().map(|found| format!("{} {:?}", found.kind.word(), found.run_id));
    let runs = report.runs.iter().filter_map(|run| Some(format!("{} {}", run.reason?.word(), run.run_id)));
    findings.chain(runs).filter(|said| !said.starts_with("file-mode")).collect()
}

/// Rows for the tables that the clinic leaves empty: the legs of a handoff, an import, a receipt's claim, a removal.
fn fill(clinic: &Clinic) {
    let legbook = |arguments: &[&str], input: &str| -> Answer {
        let store = clinic.store();
        let all = [&["--store", store.to_str().unwrap()], arguments].concat();
        Workspace::new().legbook_reading(all, input)
    };
    let nominated = legbook(&["handoff", "nominate", "--domain", "ai", "--json"], POOL).json();
    let bundle_id = nominated["bundle_id"].as_str().unwrap();
    let judgments = format!(
        r#"{{"bundle_id": "{bundle_id}", "judgments": [{{"id": "n1", "name": "Gemma", "junk": false, "worthiness": 70}}]}}"#
    );
    legbook(&["handoff", "judge", "-"], &judgments).expect(0);
    let report = format!(
        r#"{{"bundle_id": "{bundle_id}", "report": {{"topics": [{{"id": "n1", "name": "Gemma"}}]}}, "angle_inputs": {{"n1": {{"name": "Gemma"}}}}}}"#
    );
    legbook(&["handoff", "report", "-"], &report).expect(0);
    let angles = format!(
        r#"{{"bundle_id": "{bundle_id}", "angles": [{{"id": "n1", "podcast": "p", "x_article": "x"}}]}}"#
    );
    legbook(&["handoff", "finalize", "--angles", "-"], &angles).expect(0);

    let elsewhere = Workspace::new();
    elsewhere.legbook(["run", "--run-id", "came", "--", "true"]).expect(0);
    elsewhere.legbook(["runs", "export", "came", "--to", "out"]).expect(0);
    let tree = elsewhere.path().join("out/came");
    // A partial line that an earlier recovery has put aside.
    let partial = "{\"cut\":";
    let quarantine = tree.join("events/quarantine");
    fs::create_dir(&quarantine).unwrap();
    let name = format!("lifecycle-partial-000001-{}.bin", Digest::of(partial.as_bytes()));
    fs::write(quarantine.join(name), partial).unwrap();
    legbook(&["runs", "import", tree.to_str().unwrap()], "").expect(0);
    let store = Connection::open(clinic.store()).unwrap();
    store
        .execute_batch(
            "INSERT INTO runs (run_id, created_at) VALUES ('removed', '2026-01-01T00:00:00.000000Z');
             INSERT INTO removals VALUES ('removed', '2026-01-01T00:00:00.000000Z', 0, NULL);
             DELETE FROM runs WHERE run_id = 'removed';
             UPDATE queue SET covered_at = '2026-01-01T00:00:00.000000Z'",
        )
        .unwrap();
}

/// The stored columns of every table.
fn columns(store: &Connection) -> Vec<Column> {
    let sql = "SELECT t.name, c.name, c.type FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c
               WHERE t.type = 'table' AND t.schema = 'main' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0
               ORDER BY t.name, c.cid";
    let mut statement = store.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok(Column { table: row.get(0)?, name: row.get(1)?, kind: row.get(2)? }));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Expressions for other values of `column`, in the terms of its row.
fn other_values(column: &Column) -> Vec<String> {
    let name = &column.name;
    let values: &[&str] = match column.kind.as_str() {
        "INTEGER" => &["NULL", "0", "-1", "{} + 1", "4611686018427387904"],
        "BLOB" => &["NULL", "x''", "CAST({} || ' ' AS BLOB)"],
        _ => &["NULL", "''", "{} || 'x'", "'x'", "'2020-01-01T00:00:00.000000Z'"],
    };
    values.iter().map(|value| value.replace("{}", name)).collect()
}

/// Runs `work` for each of `cases` on a copy of the store of its own, on every processor.
pub(crate) fn each<T: Sync>(whole: &Whole, cases: &[T], work: impl Fn(&T, &Path) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..std::thread::available_parallelism().map_or(2, |count| count.get().min(4)) {
            let folder = whole.clinic.path().join(format!("sweep-{worker}"));
            let (next, work) = (&next, &work);
            scope.spawn(move || {
                fs::create_dir(&folder).unwrap();
                let store: PathBuf = folder.join("store.db");
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    fs::write(&store, &whole.bytes).unwrap();
                    work(case, &store);
                    for suffix in ["-wal", "-shm"] {
                        let _ = fs::remove_file(folder.join(format!("store.db{suffix}")));
                    }
                }
            });
        }
    });
}

#[test]
fn each_change_past_the_triggers_is_found_or_on_the_list() {
    let whole = Whole::new();
    let before = &whole.said;
    let mut cases: Vec<(&Column, String, &str)> = Vec::new();
    for column in &whole.columns {
        for value in other_values(column) {
            // The first row and the last one: which of them counts differs from table to table.
            cases.extend(["min", "max"].map(|which| (column, value.clone(), which)));
        }
    }
    let unfound: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::default();
    each(&whole, &cases, |(column, value, which), store| {
        let connection = Connection::open(store).unwrap();
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
        let Column { table, name, .. } = column;
        let key = if has_rowid(&connection, table) { "rowid" } else { first_column(&whole, table) };
        let sql = format!(
            "UPDATE {table} SET {name} = {value} WHERE {name} IS NOT ({value}) AND {key} = (SELECT {which}({key}) FROM {table})"
        );
        // A value that the type or a UNIQUE refuses is no change.
        let changed = connection.execute(&sql, []).unwrap_or(0);
        connection.close().unwrap();
        if changed > 0 && whole.said(store) == *before {
            unfound.lock().unwrap().entry(column.place()).or_default().insert(value.clone());
        }
    });
    let unfound = unfound.into_inner().unwrap();
    let listed = vouched_by_nothing();
    let deceived: Vec<_> = unfound.iter().filter(|(place, _)| !listed.contains(*place)).collect();
    assert!(deceived.is_empty(), "not found and not on the list: {deceived:#?}");
}

pub(crate) fn has_rowid(connection: &Connection, table: &str) -> bool {
    connection.prepare(&format!("SELECT rowid FROM {table}")).is_ok()
}

pub(crate) fn first_column<'a>(whole: &'a Whole, table: &str) -> &'a str {
    whole.columns.iter().find(|column| column.table == table).map(|column| column.name.as_str()).unwrap()
}

/// Plain statements that take effect, that doctor does not find, and why that may be: `STATEMENT table` and the reason.
fn allowed_statements() -> BTreeMap<String, String> {
    let format = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/FORMAT.md")).unwrap();
    let (_, section) = format.split_once("\n## Statements that doctor accepts\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows =
        section.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | "));
    rows.map(|(statement, why)| (statement.to_owned(), why.to_owned())).collect()
}

#[test]
fn each_plain_statement_is_refused_without_effect_found_or_on_the_list() {
    let whole = Whole::new();
    let before = &whole.said;
    let mut cases: Vec<(String, String)> = Vec::new();
    let tables: BTreeSet<&String> = whole.columns.iter().map(|column| &column.table).collect();
    for table in tables {
        let columns: Vec<&Column> = whole.columns.iter().filter(|column| column.table == *table).collect();
        let rows = [
            "",
            " WHERE {key} = (SELECT min({key}) FROM {table})",
            " WHERE {key} = (SELECT max({key}) FROM {table})",
        ];
        let rows = rows.map(|row| row.replace("{key}", &columns[0].name).replace("{table}", table));
        for row in &rows {
            cases.push((format!("DELETE {table}"), format!("DELETE FROM {table}{row}")));
        }
        for column in &columns {
            for value in other_values(column) {
                for (row, or) in rows.iter().zip(["", "OR REPLACE ", "OR IGNORE "]) {
                    let name = &column.name;
                    cases.push((
                        format!("UPDATE {table}.{name}"),
                        format!("UPDATE {or}{table} SET {name} = {value}{row}"),
                    ));
                    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                    let values: Vec<&str> = columns
                        .iter()
                        .map(|other| if other.name == *name { value.as_str() } else { &other.name })
                        .collect();
                    let (names, values) = (names.join(", "), values.join(", "));
                    let insert =
                        format!("INSERT {or}INTO {table} ({names}) SELECT {values} FROM {table}{row}");
                    cases.push((format!("INSERT {table}"), insert));
                }
            }
        }
    }
    assert!(cases.len() >= 4_000, "{}", cases.len());
    let accepted = Mutex::new(BTreeMap::<String, BTreeSet<String>>::new());
    // Most are refused: they are tried on one copy, and only what takes effect is shown to doctor.
    let trial = whole.clinic.path().join("trial.db");
    fs::write(&trial, &whole.bytes).unwrap();
    let connection = Connection::open(&trial).unwrap();
    cases.retain(|(_, sql)| {
        connection.execute_batch("BEGIN").unwrap();
        let changed = connection.execute(sql, []).unwrap_or(0);
        connection.execute_batch("ROLLBACK").unwrap();
        changed > 0
    });
    connection.close().unwrap();
    each(&whole, &cases, |(what, sql), store| {
        let connection = Connection::open(store).unwrap();
        connection.execute_batch("PRAGMA synchronous = OFF").unwrap();
        connection.execute(sql, []).unwrap();
        connection.close().unwrap();
        if whole.said(store) == *before && dump(store) != whole.rows {
            accepted.lock().unwrap().entry(what.clone()).or_default().insert(sql.clone());
        }
    });
    let accepted = accepted.into_inner().unwrap();
    let allowed = allowed_statements();
    let deceived: Vec<_> = accepted.iter().filter(|(what, _)| !allowed.contains_key(*what)).collect();
    assert!(deceived.is_empty(), "not found and not on the list: {deceived:#?}");
    let needless: Vec<_> = allowed.keys().filter(|what| !accepted.contains_key(*what)).collect();
    assert!(needless.is_empty(), "on the list, and refused or found: {needless:#?}");
}

fn dump(store: &Path) -> Vec<Vec<rusqlite::types::Value>> {
    let connection = Connection::open(store).unwrap();
    let tables: BTreeSet<String> = columns(&connection).into_iter().map(|column| column.table).collect();
    let mut all = Vec::new();
    for table in tables {
        let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let count = statement.column_count();
        let rows = statement.query_map([], |row| (0..count).map(|at| row.get(at)).collect()).unwrap();
        all.extend(rows.map(Result::unwrap));
    }
    all
}
