//! Bringing a store to this build's schema.
//!
//! A migration is a numbered .sql file, frozen once landed. All that a store lacks run in one immediate transaction,
//! which also moves `user_version`: a crash leaves the store at its old version, whole. A store of a newer schema is
//! refused before anything is written.

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
];

/// The schema version that this build writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Migrates the store behind `connection`, where it is older.
///
/// # Errors
/// [`StoreError::NewerSchema`]; SQLite's own.
pub(super) fn run(connection: &mut Connection, path: &Path) -> Result<()> {
    if version(connection, path)? == SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have migrated meanwhile.
    let found = version(&transaction, path)?;
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
