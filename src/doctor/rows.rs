//! What the triggers guard at the door, asked again of every row: rows that contradict each other or themselves.
//!
//! One .sql file a room. None reads a body, so all are asked by default; what has to be hashed or parsed is asked with
//! `--full` (`content_*.sql`). docs/FORMAT.md lists the rules with the trigger, the fixture and the reader of each.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, named_params};

use super::checks::{MOST, collect, restore};
use super::finding::{Finding, Kind};
use super::schema::{Column, Expected};
use crate::error::Result;

/// The questions, each with the kind of what it finds.
pub(super) const QUESTIONS: &[(Kind, &str)] = &[
    (Kind::NameInvalid, include_str!("sql/rows_names.sql")),
    (Kind::TimeInvalid, include_str!("sql/rows_times.sql")),
    (Kind::RemovalDamaged, include_str!("sql/rows_removals.sql")),
    (Kind::HandoffDamaged, include_str!("sql/rows_handoff.sql")),
    (Kind::StagesDamaged, include_str!("sql/rows_stages.sql")),
    (Kind::ImportDamaged, include_str!("sql/rows_legacy.sql")),
    (Kind::ShadowDamaged, include_str!("sql/rows_shadow.sql")),
];

/// What `sql` finds.
///
/// # Errors
/// SQLite's own.
pub(super) fn ask(connection: &Connection, kind: Kind, sql: &str) -> Result<Vec<Finding>> {
    let said: Vec<String> = collect(connection, sql, named_params! { ":most": MOST }, |row| row.get(0))?;
    Ok(said.into_iter().map(|what| Finding::new(kind, what, restore())).collect())
}

/// Values of a kind that legbook never writes, in any column of any table: each is named with its row. Every other question
/// passes over a row that it cannot read, because this one has told of it.
///
/// The events are asked only if `full`: they are many, and each run's chain is judged anyway.
///
/// # Errors
/// SQLite's own.
pub(super) fn values(connection: &Connection, expected: &Expected, full: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (table, columns) in expected.columns() {
        if table == "events" && !full {
            continue;
        }
        let mut statement = connection.prepare(&question(table, columns))?;
        let mut rows = statement.query(named_params! { ":most": MOST })?;
        while let Some(row) = rows.next()? {
            let what = format!("{table}, {}: {}", said(row.get_ref(0)?), said(row.get_ref(1)?));
            let run_id = Some(said(row.get_ref(2)?)).filter(|run_id| !run_id.is_empty());
            findings.push(Finding { run_id, ..Finding::new(Kind::ValueDamaged, what, restore()) });
        }
    }
    Ok(findings)
}

/// The question of [`values`] for one table: the name of the row, its first odd value, its run.
fn question(table: &str, columns: &[Column]) -> String {
    let names = columns.iter().filter(|column| column.names_row);
    let mut names: Vec<_> =
        names.map(|Column { name, .. }| format!("'{name} ' || substr(quote({name}), 1, 140)")).collect();
    if names.is_empty() {
        names.push("'rowid ' || rowid".to_owned());
    }
    let faults = columns.iter().filter(|column| !column.is_derived).map(|column| {
        let Column { name, kind, .. } = column;
        let or_null = if column.needs_value { "" } else { ", 'null'" };
        let text = if kind == "TEXT" {
            format!(" WHEN NOT is_utf8({name}) THEN '{name} holds text that is not UTF-8'")
        } else {
            String::new()
        };
        format!(
            "CASE WHEN typeof({name}) NOT IN ('{}'{or_null}) THEN '{name} holds a value of type ' || typeof({name}){text} END",
            kind.to_lowercase()
        )
    });
    let faults: Vec<_> = faults.collect();
    let run_id = if columns.iter().any(|column| column.name == "run_id") { "run_id" } else { "NULL" };
    format!(
        "SELECT {}, coalesce({}, NULL) AS fault, {run_id} FROM {table} WHERE fault IS NOT NULL LIMIT :most",
        names.join(" || ', ' || "),
        faults.join(", ")
    )
}

/// A value as a person may read it, whatever its kind.
pub(super) fn said(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
