//! Whether the store's schema is the one that the migrations make.
//!
//! The expected schema is built in memory, of the store's own version, and compared object by object. Only where every
//! table is the expected one do the other questions mean what they say, so this comes before them.

use std::collections::BTreeMap;

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, Row};

use super::finding::{Finding, Kind, Remedy};
use crate::db::inspect;
use crate::error::Result;

/// The reference tables, whose rows are part of the schema, with the columns that are.
const REFERENCES: &[(&str, &str)] = &[
    ("event_types", "SELECT event_type FROM event_types ORDER BY 1"),
    ("event_payload_keys", "SELECT event_type, key FROM event_payload_keys ORDER BY 1, 2"),
    ("event_statuses", "SELECT event_type, payload_status, status FROM event_statuses ORDER BY 1, 2, 3"),
    ("status_events", "SELECT status, event_type FROM status_events ORDER BY 1, 2"),
    ("settings", "SELECT key, lowest, highest, meaning FROM settings ORDER BY 1"),
];

/// What came of the comparison.
pub(super) struct Comparison {
    /// What differs.
    pub(super) findings: Vec<Finding>,
    /// Why the tables can't be asked, where they can't.
    pub(super) not_askable: Option<String>,
    /// The expected schema.
    pub(super) expected: Connection,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SchemaObject {
    kind: String,
    table: String,
    sql: String,
}

impl SchemaObject {
    /// The statement that makes the object again, ended.
    fn make(&self) -> String {
        format!("{};", self.sql.trim_end().trim_end_matches(';'))
    }
}

/// Compares the schema behind `connection` with that of `version`.
///
/// # Errors
/// SQLite's own.
pub(super) fn compare(connection: &Connection, version: i64) -> Result<Comparison> {
    let expected = inspect::expected_schema(version)?;
    let wanted = objects(&expected)?;
    let found = objects(connection)?;
    let mut findings = Vec::new();
    let mut not_askable = (version < 1).then(|| format!("the store has schema version {version}"));
    for (name, want) in &wanted {
        let is_table = want.kind == "table";
        let fault = match found.get(name) {
            None => {
                Finding::new(Kind::SchemaMissing, format!("the {} {name} is missing", want.kind), again(want))
            }
            Some(have) if have != want => Finding::new(
                Kind::SchemaChanged,
                format!("the {} {name} is not the one of the schema", want.kind),
                replace(name, have, want),
            ),
            Some(_) => continue,
        };
        if is_table && not_askable.is_none() {
            not_askable = Some(fault.what.clone());
        }
        findings.push(fault);
    }
    for (name, have) in found.iter().filter(|(name, _)| !wanted.contains_key(*name)) {
        findings.push(Finding::new(
            Kind::SchemaForeign,
            format!("the {} {name} is none of the schema's", have.kind),
            if have.kind == "table" {
                Remedy::advice("find out who made it; legbook neither needs nor reads it")
            } else {
                Remedy::Sql(format!("DROP {} {};", have.kind.to_uppercase(), quoted(name)))
            },
        ));
    }
    if not_askable.is_none() {
        for (table, sql) in REFERENCES {
            if wanted.contains_key(*table) && rows(connection, sql)? != rows(&expected, sql)? {
                findings.push(Finding::new(
                    Kind::RegistryChanged,
                    format!("the table {table} holds other rows than the schema gives it"),
                    refill(table, &wanted, &expected)?,
                ));
            }
        }
    }
    Ok(Comparison { findings, not_askable, expected })
}

fn objects(connection: &Connection) -> Result<BTreeMap<String, SchemaObject>> {
    let mut statement = connection.prepare(include_str!("sql/schema.sql"))?;
    let rows = statement.query_map([], |row: &Row<'_>| {
        Ok((row.get(0)?, SchemaObject { kind: row.get(1)?, table: row.get(2)?, sql: row.get(3)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn rows(connection: &Connection, sql: &str) -> Result<Vec<Vec<SqlValue>>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|column| row.get(column)).collect())?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn again(want: &SchemaObject) -> Remedy {
    if want.kind == "table" {
        return lost_table();
    }
    Remedy::Sql(want.make())
}

fn replace(name: &str, have: &SchemaObject, want: &SchemaObject) -> Remedy {
    if want.kind == "table" || have.kind == "table" {
        return lost_table();
    }
    Remedy::Sql(format!("DROP {} {};\n{}", have.kind.to_uppercase(), quoted(name), want.make()))
}

fn lost_table() -> Remedy {
    Remedy::advice("keep a copy of the store, then put back the last copy that was whole")
}

/// The statements that give `table` the rows of the schema again, its guards taken away meanwhile.
fn refill(table: &str, wanted: &BTreeMap<String, SchemaObject>, expected: &Connection) -> Result<Remedy> {
    let guards: Vec<(&String, &SchemaObject)> =
        wanted.iter().filter(|(_, object)| object.kind == "trigger" && object.table == table).collect();
    let mut lines = vec!["PRAGMA foreign_keys = OFF;".to_owned(), "BEGIN;".to_owned()];
    lines.extend(guards.iter().map(|(name, _)| format!("DROP TRIGGER IF EXISTS {};", quoted(name))));
    let rows = rows(expected, &format!("SELECT * FROM {table} ORDER BY 1"))?;
    let tuples: Vec<String> = rows.iter().map(|row| tuple(row)).collect();
    if table == "settings" {
        // The operator's values stay.
        let keys: Vec<String> = rows.iter().filter_map(|row| row.first()).map(literal).collect();
        lines.push(format!("DELETE FROM settings WHERE key NOT IN ({});", keys.join(", ")));
        lines.extend(tuples.iter().map(|tuple| {
            format!(
                "INSERT INTO settings VALUES {tuple} ON CONFLICT (key) DO UPDATE SET \
                 lowest = excluded.lowest, highest = excluded.highest, meaning = excluded.meaning;"
            )
        }));
    } else {
        lines.push(format!("DELETE FROM {table};"));
        lines.extend(tuples.iter().map(|tuple| format!("INSERT INTO {table} VALUES {tuple};")));
    }
    lines.extend(guards.iter().map(|(_, guard)| guard.make()));
    lines.push("COMMIT;".to_owned());
    Ok(Remedy::Sql(lines.join("\n")))
}

fn tuple(row: &[SqlValue]) -> String {
    format!("({})", row.iter().map(literal).collect::<Vec<_>>().join(", "))
}

/// A value of a reference table as SQL spells it: words and null.
fn literal(value: &SqlValue) -> String {
    match value {
        SqlValue::Text(text) => format!("'{}'", text.replace('\'', "''")),
        SqlValue::Integer(integer) => integer.to_string(),
        _ => "NULL".to_owned(),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
