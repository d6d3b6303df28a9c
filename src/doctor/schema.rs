//! Whether the store's schema is the one that the files in migrations/ make.
//!
//! The expected schema is built in memory, of the store's own version, and compared object by object. Only where every
//! table is the expected one do the other questions mean what they say, so this comes before them.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rusqlite::types::{Value as SqlValue, ValueRef};
use rusqlite::{Connection, Row};

use super::finding::{Finding, Kind, Remedy};
use crate::db::{self, inspect};
use crate::error::Result;

/// The reference tables, whose rows are part of the schema, with the columns that are.
const REFERENCES: &[(&str, &str)] = &[
    ("event_types", "SELECT event_type FROM event_types ORDER BY 1"),
    ("event_payload_keys", "SELECT event_type, key FROM event_payload_keys ORDER BY 1, 2"),
    ("event_statuses", "SELECT event_type, payload_status, status FROM event_statuses ORDER BY 1, 2, 3"),
    ("status_events", "SELECT status, event_type FROM status_events ORDER BY 1, 2"),
    ("settings", "SELECT key, lowest, highest, meaning FROM settings ORDER BY 1"),
];

/// The schema of one version, as this build makes it.
#[derive(Debug, Default)]
pub(super) struct Expected {
    objects: BTreeMap<String, SchemaObject>,
    /// For each reference table the rows to compare, and the rows whole.
    references: Vec<(&'static str, &'static str, Rows, Rows)>,
    bounds: BTreeMap<String, Bound>,
    columns: BTreeMap<String, Vec<Column>>,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// `TEXT`, `INTEGER` or `BLOB`.
    pub(super) kind: String,
    pub(super) needs_value: bool,
    pub(super) names_row: bool,
    /// Whether it is computed from other columns.
    pub(super) is_derived: bool,
}

type Rows = Vec<Vec<SqlValue>>;

/// What a bound is when a store is made, and what it may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) default: u64,
    pub(super) lowest: u64,
    pub(super) highest: u64,
}

impl Expected {
    /// The schema of `version`. That of this build is made once in a process.
    ///
    /// # Errors
    /// SQLite's own.
    pub(super) fn of(version: i64) -> Result<Arc<Self>> {
        static OF_THIS_BUILD: OnceLock<Arc<Expected>> = OnceLock::new();
        if version != db::SCHEMA_VERSION {
            return Self::make(version);
        }
        match OF_THIS_BUILD.get() {
            Some(made) => Ok(Arc::clone(made)),
            None => {
                let made = Self::make(version)?;
                Ok(Arc::clone(OF_THIS_BUILD.get_or_init(|| made)))
            }
        }
    }

    fn make(version: i64) -> Result<Arc<Self>> {
        let connection = inspect::expected_schema(version)?;
        let objects = objects(&connection)?;
        let mut expected = Self { objects, ..Self::default() };
        for (table, sql) in REFERENCES {
            let whole = rows(&connection, &format!("SELECT * FROM {table} ORDER BY 1"))?;
            expected.references.push((table, sql, rows(&connection, sql)?, whole));
        }
        let mut statement = connection.prepare(include_str!("sql/bounds.sql"))?;
        let bounds = statement.query_map([], |row| {
            let bound = Bound {
                default: row.get("value")?,
                lowest: row.get("lowest")?,
                highest: row.get("highest")?,
            };
            Ok((row.get("key")?, bound))
        })?;
        expected.bounds = bounds.collect::<rusqlite::Result<_>>()?;
        let mut statement = connection.prepare(include_str!("sql/columns.sql"))?;
        let columns = statement.query_map([], |row| {
            let column = Column {
                name: row.get(1)?,
                kind: row.get(2)?,
                needs_value: row.get(3)?,
                names_row: row.get(4)?,
                is_derived: row.get(5)?,
            };
            Ok((row.get::<_, String>(0)?, column))
        })?;
        for column in columns {
            let (table, column) = column?;
            expected.columns.entry(table).or_default().push(column);
        }
        Ok(Arc::new(expected))
    }

    /// Whether the schema has the table.
    pub(super) fn has_table(&self, name: &str) -> bool {
        self.objects.get(name).is_some_and(|object| object.kind == "table")
    }

    /// The statement that makes the trigger `name`; empty if the schema has none of that name.
    pub(super) fn trigger(&self, name: &str) -> String {
        self.objects.get(name).map(SchemaObject::make).unwrap_or_default()
    }

    /// Whether an object of the schema has the name, as SQLite compares names.
    fn is_name(&self, name: &str) -> bool {
        self.objects.keys().any(|ours| ours.eq_ignore_ascii_case(name))
    }

    /// All tables with their columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = (&str, &[Column])> {
        self.columns.iter().map(|(table, columns)| (table.as_str(), columns.as_slice()))
    }

    /// All bounds by their names.
    pub(super) fn bounds(&self) -> impl Iterator<Item = (&str, Bound)> {
        self.bounds.iter().map(|(key, bound)| (key.as_str(), *bound))
    }
}

/// What came of the comparison.
#[derive(Debug)]
pub(super) struct Comparison {
    /// What differs.
    pub(super) findings: Vec<Finding>,
    /// Why the tables can't be asked, where they can't.
    pub(super) not_askable: Option<String>,
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

    /// Whether a statement can make and drop it: not so for a table's contents, nor for what SQLite itself makes.
    fn can_be_made(&self) -> bool {
        self.kind != "table" && !self.sql.is_empty()
    }
}

/// Compares the schema behind `connection` with `expected`.
///
/// # Errors
/// SQLite's own.
pub(super) fn compare(connection: &Connection, expected: &Expected) -> Result<Comparison> {
    let found = objects(connection)?;
    let mut findings = Vec::new();
    let mut not_askable = None;
    for (name, want) in &expected.objects {
        let has_table = want.kind == "view" || found.contains_key(&want.table);
        let fault = match found.get(name) {
            None => {
                let remedy = if has_table { again(want) } else { lost_table() };
                Finding::new(Kind::SchemaMissing, format!("the {} {name} is missing", want.kind), remedy)
            }
            Some(have) if have != want => Finding::new(
                Kind::SchemaChanged,
                format!("the {} {name} is not the one of the schema", want.kind),
                replace(name, have, want),
            ),
            Some(_) => continue,
        };
        if want.kind == "table" && not_askable.is_none() {
            not_askable = Some(fault.what.clone());
        }
        findings.push(fault);
    }
    for (name, have) in found.iter().filter(|(name, _)| !expected.objects.contains_key(*name)) {
        findings.extend(foreign(connection, expected, name, have)?);
    }
    if not_askable.is_none() {
        for (table, sql, wanted, whole) in &expected.references {
            if rows(connection, sql)? != *wanted {
                let what = format!("the table {table} holds other rows than the schema gives it");
                let remedy = refill(table, &expected.objects, whole);
                findings.push(Finding::new(Kind::RegistryChanged, what, remedy));
            }
        }
    }
    Ok(Comparison { findings, not_askable })
}

/// The finding of an object that the schema does not have; none of an index, whose table is one already.
fn foreign(
    connection: &Connection,
    expected: &Expected,
    name: &str,
    have: &SchemaObject,
) -> Result<Option<Finding>> {
    let touches = expected.is_name(name)
        || expected.is_name(&have.table)
        || (have.kind == "table" && refers_to(connection, expected, name)?);
    let kind = match have.kind.as_str() {
        _ if touches => Kind::SchemaForeign,
        "table" => Kind::ForeignTable,
        "index" => return Ok(None),
        _ => Kind::ForeignView,
    };
    let remedy = if have.can_be_made() {
        Remedy::Sql(format!("DROP {} {};", have.kind.to_uppercase(), quoted(name)))
    } else if touches {
        Remedy::advice(
            "find out which program made it; drop it in sqlite3 once that program does not need it",
        )
    } else {
        Remedy::advice("nothing is to be done: legbook does not read it")
    };
    let what = format!("legbook did not make the {} {name}", have.kind);
    Ok(Some(Finding::new(kind, what, remedy)))
}

/// Whether a row of the table `name` can refer to a row of the schema's, so that legbook may be unable to remove it.
fn refers_to(connection: &Connection, expected: &Expected, name: &str) -> Result<bool> {
    let mut statement = connection.prepare("SELECT \"table\" FROM pragma_foreign_key_list(?1)")?;
    let parents = statement.query_map([name], |row| row.get::<_, String>(0))?;
    let parents: Vec<String> = parents.collect::<rusqlite::Result<_>>()?;
    Ok(parents.iter().any(|parent| expected.is_name(parent)))
}

fn objects(connection: &Connection) -> Result<BTreeMap<String, SchemaObject>> {
    let mut statement = connection.prepare(include_str!("sql/schema.sql"))?;
    let rows = statement.query_map([], |row: &Row<'_>| {
        Ok((row.get(0)?, SchemaObject { kind: row.get(1)?, table: row.get(2)?, sql: row.get(3)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn rows(connection: &Connection, sql: &str) -> Result<Rows> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let rows = statement
        .query_map([], |row| (0..columns).map(|column| Ok(value(row.get_ref(column)?))).collect())?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// `value`, of which a text that is not UTF-8 is another one than every text of the schema.
fn value(value: ValueRef<'_>) -> SqlValue {
    match value {
        ValueRef::Null => SqlValue::Null,
        ValueRef::Integer(number) => SqlValue::Integer(number),
        ValueRef::Real(number) => SqlValue::Real(number),
        ValueRef::Text(bytes) => SqlValue::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => SqlValue::Blob(bytes.to_vec()),
    }
}

fn again(want: &SchemaObject) -> Remedy {
    if want.can_be_made() { Remedy::Sql(want.make()) } else { lost_table() }
}

fn replace(name: &str, have: &SchemaObject, want: &SchemaObject) -> Remedy {
    if !want.can_be_made() || !have.can_be_made() {
        return lost_table();
    }
    Remedy::Sql(format!("DROP {} {};\n{}", have.kind.to_uppercase(), quoted(name), want.make()))
}

fn lost_table() -> Remedy {
    Remedy::advice("keep a copy of the store, then put back the last copy that was whole")
}

/// The statements that give `table` the rows of the schema again, its guards taken away meanwhile.
fn refill(table: &str, wanted: &BTreeMap<String, SchemaObject>, rows: &Rows) -> Remedy {
    let guards: Vec<(&String, &SchemaObject)> =
        wanted.iter().filter(|(_, object)| object.kind == "trigger" && object.table == table).collect();
    let mut lines = vec!["PRAGMA foreign_keys = OFF;".to_owned(), "BEGIN;".to_owned()];
    lines.extend(guards.iter().map(|(name, _)| format!("DROP TRIGGER IF EXISTS {};", quoted(name))));
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
    Remedy::Sql(lines.join("\n"))
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
