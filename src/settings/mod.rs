//! The bounds of a store, which its operator can move.
//!
//! Owns the table `settings`. The rows are part of the schema: none is added or removed, only values change, within
//! what the row itself allows and never below what a journal or checkpoint holds already (triggers guard both for the
//! `sqlite3` shell). One change is one transaction. A bound holds from the next write on, in every process, since the
//! rooms read it inside the transaction that it bounds.

use rusqlite::{OptionalExtension, Row, params};

use crate::db::{Store, change_one, column};
use crate::error::{Error, Result, SettingError, StoreError};

/// The bound of one snapshot, in bytes.
pub const MAX_CHECKPOINT_BYTES: &str = "max-checkpoint-bytes";

/// A bound of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as `legbook db set` takes it.
    pub key: String,
    /// What holds now: events, bytes or seconds, as the name says.
    pub value: i64,
    /// The least value that it takes.
    pub lowest: i64,
    /// The greatest value that it takes.
    pub highest: i64,
    /// What it bounds, in a few words.
    pub meaning: String,
}

/// All bounds, by their names.
///
/// # Errors
/// The store's own.
pub fn list(store: &Store) -> Result<Vec<Setting>> {
    store.read(|transaction| {
        let mut statement = transaction.prepare_cached(include_str!("sql/list.sql"))?;
        let settings = statement.query_map([], setting)?.collect::<rusqlite::Result<_>>()?;
        Ok(settings)
    })
}

/// The value of the bound `key`, in what its name says.
///
/// # Errors
/// [`SettingError::Unknown`]; the store's own.
pub fn get(store: &Store, key: &str) -> Result<i64> {
    store.read(|transaction| {
        let found = transaction.query_row(include_str!("sql/get.sql"), [key], setting).optional()?;
        Ok(found.ok_or(SettingError::Unknown)?.value)
    })
}

/// Moves the bound `key` to `value` (contract store.md, `db set`). Gives the bound as it was before.
///
/// # Errors
/// [`SettingError`]: no such bound, a value outside what it allows, or below what the store holds already; the
/// store's own.
pub fn set(store: &Store, key: &str, value: i64) -> Result<Setting> {
    store.write(|transaction| {
        let before = transaction
            .query_row(include_str!("sql/get.sql"), [key], setting)
            .optional()?
            .ok_or(SettingError::Unknown)?;
        let Setting { lowest, highest, .. } = before;
        if !(lowest..=highest).contains(&value) {
            return Err(SettingError::OutOfRange { key: before.key, lowest, highest }.into());
        }
        match change_one(transaction, include_str!("sql/set.sql"), params![key, value]) {
            Ok(()) => Ok(before),
            // The range was checked above: what the trigger still refuses is a bound below what is there.
            Err(Error::Store(StoreError::Refused(_))) => {
                Err(SettingError::BelowUse { key: before.key }.into())
            }
            Err(error) => Err(error),
        }
    })
}

fn setting(row: &Row<'_>) -> rusqlite::Result<Setting> {
    Ok(Setting {
        key: column(row, "key")?,
        value: column(row, "value")?,
        lowest: column(row, "lowest")?,
        highest: column(row, "highest")?,
        meaning: column(row, "meaning")?,
    })
}
