//! Bringing a store to this build's schema.
//!
//! A new store gets the whole schema of the files in migrations/, one file a room. `user_version` alone says which
//! schema a store has. A later version will be a migration: SQL that leads from the version before to its own.
//!
//! All migrations that a store lacks run in one immediate transaction, which also sets `user_version`. A crash leaves
//! the store at its old version, whole. If two processes migrate at once, the second finds the work done.
//! A store of a newer schema is refused before anything is written. So is a store with a version below the first: it was
//! made while legbook was developed, and its runs can only be exported by the program that made it.
//!
//! Until 0.1.0 is tagged the files may change: then `migrations/SHA256SUMS` is written anew
//! (`cd migrations && sha256sum *.sql > SHA256SUMS`). After that tag they are frozen, and every change is a migration.

#[cfg(test)]
mod tests;

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Result, StoreError};

/// The schema of this build.
pub(super) const SCHEMA: Schema<'_> = Schema {
    first: 8,
    files: &[
        include_str!("../../migrations/core.sql"),
        include_str!("../../migrations/views.sql"),
        include_str!("../../migrations/handoff.sql"),
        include_str!("../../migrations/stage.sql"),
        include_str!("../../migrations/legacy.sql"),
        include_str!("../../migrations/shadow.sql"),
    ],
    migrations: &[],
};

/// The schema version that this build writes.
pub const SCHEMA_VERSION: i64 = SCHEMA.version();

/// A schema and the versions of it that can be migrated.
pub(super) struct Schema<'a> {
    /// The version that `files` make: the oldest one that is supported.
    first: i64,
    /// What makes a new store, in order.
    files: &'a [&'a str],
    /// Each later version with the SQL that leads to it, in order.
    migrations: &'a [(i64, &'a str)],
}

impl Schema<'_> {
    /// The newest version.
    const fn version(&self) -> i64 {
        match self.migrations {
            [.., (version, _)] => *version,
            [] => self.first,
        }
    }

    /// Makes the schema of `version` in an empty database.
    ///
    /// # Errors
    /// SQLite's own.
    pub(super) fn make(&self, connection: &Connection, version: i64) -> Result<()> {
        for sql in self.files {
            connection.execute_batch(sql)?;
        }
        connection.pragma_update(None, "user_version", self.first)?;
        self.migrate(connection, self.first, version)
    }

    /// Migrates the store behind `connection` if it is older than this schema.
    ///
    /// # Errors
    /// As [`Schema::check`].
    pub(super) fn run(&self, connection: &mut Connection, path: &Path) -> Result<()> {
        if self.check(connection, path)? == self.version() {
            return Ok(());
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have migrated before the lock was taken.
        let found = self.check(&transaction, path)?;
        self.migrate(&transaction, found, self.version())?;
        transaction.commit()?;
        Ok(())
    }

    fn migrate(&self, connection: &Connection, from: i64, to: i64) -> Result<()> {
        for (version, sql) in self.migrations.iter().filter(|(version, _)| (from + 1..=to).contains(version))
        {
            connection.execute_batch(sql)?;
            connection.pragma_update(None, "user_version", version)?;
        }
        Ok(())
    }

    /// The version of the store behind `connection`, if it is one that this schema supports.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`], [`StoreError::DevelopmentSchema`]; SQLite's own.
    pub(super) fn check(&self, connection: &Connection, path: &Path) -> Result<i64> {
        let found = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let path = || path.to_path_buf();
        if found > self.version() {
            return Err(StoreError::NewerSchema { path: path(), found, known: self.version() }.into());
        }
        if found < self.first {
            return Err(StoreError::DevelopmentSchema { path: path(), found, first: self.first }.into());
        }
        Ok(found)
    }
}
