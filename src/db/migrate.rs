//! Bringing a store to this build's schema.
//!
//! A migration is a numbered .sql file, frozen once landed. All that a store lacks run in one immediate transaction,
//! which also moves `user_version`: a crash leaves the store at its old version, whole. A store of a newer schema is
//! refused before anything is written, and so is one whose `user_version` is lower than its objects are new: somebody
//! changed that number, and doctor tells which one is right.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Result, StoreError};

/// Each migration with the version that it leads to, in order.
pub(super) const MIGRATIONS: &[(i64, &str)] = &[
    (1, include_str!("../../migrations/0001_core.sql")),
    (2, include_str!("../../migrations/0002_core_views.sql")),
    (3, include_str!("../../migrations/0003_handoff.sql")),
    (4, include_str!("../../migrations/0004_stage.sql")),
    (5, include_str!("../../migrations/0005_legacy.sql")),
    (6, include_str!("../../migrations/0006_shadow.sql")),
    (7, include_str!("../../migrations/0007_lean_journal.sql")),
];

/// The schema version that this build writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Migrates the store behind `connection`, where it is older.
///
/// # Errors
/// [`StoreError::NewerSchema`]; [`StoreError::SchemaVersion`] for a version that was lowered; SQLite's own.
pub(super) fn run(connection: &mut Connection, path: &Path) -> Result<()> {
    if version(connection, path)? == SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have migrated meanwhile.
    let found = version(&transaction, path)?;
    if found < 0 || made_version(&transaction)? > found {
        return Err(StoreError::SchemaVersion { path: path.to_path_buf(), found }.into());
    }
    for (number, sql) in MIGRATIONS.iter().filter(|(number, _)| *number > found) {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", number)?;
    }
    transaction.commit()?;
    Ok(())
}

/// The schema version of the store behind `connection`.
///
/// # Errors
/// [`StoreError::NewerSchema`]; SQLite's own.
pub(super) fn version(connection: &Connection, path: &Path) -> Result<i64> {
    let found = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::NewerSchema { path: path.to_path_buf(), found, known: SCHEMA_VERSION }.into());
    }
    Ok(found)
}

/// The version that the objects behind `connection` are of, whatever `user_version` says: that of the last migration
/// whose tables (or, where it makes none, whose objects) are all there by name; 0 where none's are.
///
/// # Errors
/// SQLite's own.
pub(super) fn made_version(connection: &Connection) -> Result<i64> {
    let found = names(connection)?;
    if found.is_empty() {
        return Ok(0);
    }
    let expected = Connection::open_in_memory()?;
    let mut before = Names::new();
    let mut made = 0;
    for (number, sql) in MIGRATIONS {
        expected.execute_batch(sql)?;
        let after = names(&expected)?;
        let new: Vec<_> = after.difference(&before).collect();
        let has_tables = new.iter().any(|(kind, _)| kind == "table");
        if new.iter().filter(|(kind, _)| !has_tables || kind == "table").all(|object| found.contains(*object))
        {
            made = *number;
        }
        before = after;
    }
    Ok(made)
}

/// Objects of a schema, each with its kind.
type Names = BTreeSet<(String, String)>;

fn names(connection: &Connection) -> Result<Names> {
    let mut statement = connection.prepare("SELECT type, name FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
