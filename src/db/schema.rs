//! Whether a store's tables are tables and its triggers are the ones of the schema: asked before a run is recovered, and
//! after a write that did not come to an end.
//!
//! Recovery ends a run on what the tables say, so nothing may stand in a table's place, and no code of the file that
//! legbook did not write may run inside its writes. A trigger that is missing runs nothing, and what a changed table
//! lets in is refused by recovery's own checks. The full comparison, with remedies, is doctor's.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use rusqlite::Connection;

use super::SCHEMA_VERSION;
use super::inspect::expected_schema;
use crate::error::{Result, StoreError};

/// Kind, name, table and text of a table or trigger.
type Object = (String, String, String, String);

/// Refuses a store where something else than a table has the name of one, or it is gone, or that has a trigger they don't make.
///
/// # Errors
/// [`StoreError::Schema`]; SQLite's own.
pub(crate) fn refuse_changed(connection: &Connection) -> Result<()> {
    let expected = expected()?;
    let found = objects(connection)?;
    let is_there = |name: &str| found.iter().any(|(kind, there, ..)| kind == "table" && there == name);
    let lost = expected.iter().find(|(kind, name, ..)| kind == "table" && !is_there(name));
    // A trigger on a table of another program runs in that program's statements alone.
    let is_ours = |table: &str| {
        expected.iter().any(|(kind, ours, ..)| kind == "table" && ours.eq_ignore_ascii_case(table))
    };
    let foreign = found
        .iter()
        .find(|object| object.0 == "trigger" && is_ours(&object.2) && !expected.contains(*object));
    let said = match (lost, foreign) {
        (Some((_, name, ..)), _) => format!("no table stands under the name {name}"),
        (None, Some((_, name, ..))) => format!("the trigger {name} is not one of the schema"),
        (None, None) => return Ok(()),
    };
    Err(StoreError::Schema { said }.into())
}

/// The tables and triggers of this build's schema, made once in a process.
fn expected() -> Result<&'static BTreeSet<Object>> {
    static EXPECTED: OnceLock<BTreeSet<Object>> = OnceLock::new();
    match EXPECTED.get() {
        Some(expected) => Ok(expected),
        None => {
            let made = objects(&expected_schema(SCHEMA_VERSION)?)?;
            Ok(EXPECTED.get_or_init(|| made))
        }
    }
}

fn objects(connection: &Connection) -> Result<BTreeSet<Object>> {
    let mut statement = connection.prepare(include_str!("sql/schema.sql"))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
