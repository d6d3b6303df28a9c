//! What the triggers guard at the door, asked again of every row: rows that contradict each other or themselves.
//!
//! One .sql file a room. None reads a body, so all are asked by default; what has to be hashed or parsed is asked with
//! `--full` (`content_*.sql`). docs/FORMAT.md lists the rules with the trigger, the fixture and the reader of each.

use rusqlite::{Connection, named_params};

use super::checks::{MOST, collect, restore};
use super::finding::{Finding, Kind};
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
