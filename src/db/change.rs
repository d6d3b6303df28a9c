//! The door for statements that change rows.
//!
//! A trigger that somebody added to the store can swallow a row without an error (`RAISE(IGNORE)`). So a statement that
//! must change a number of rows says that number here, and a different number is an error: the transaction is rolled
//! back and the command fails. No other place of the library executes such a statement; a test reads the sources for it.
//! A row that a trigger of the schema changes is not counted by SQLite: the caller asks for it afterwards.

use rusqlite::{Connection, Params};

use crate::error::{Error, Result, StoreError};

/// Runs `sql`, which must change exactly one row.
///
/// # Errors
/// [`StoreError::Corrupt`] for a different number of rows; SQLite's own.
pub(crate) fn change_one(connection: &Connection, sql: &str, params: impl Params) -> Result<()> {
    change(connection, 1, sql, params)
}

/// Runs `sql`, which must change exactly `rows` rows.
///
/// # Errors
/// [`StoreError::Corrupt`] for a different number of rows; SQLite's own.
pub(crate) fn change(connection: &Connection, rows: usize, sql: &str, params: impl Params) -> Result<()> {
    let changed = connection.prepare_cached(sql)?.execute(params)?;
    if changed == rows {
        return Ok(());
    }
    Err(swallowed(changed, rows))
}

/// The error of a write that changed `changed` rows instead of `rows`.
pub(crate) fn swallowed(changed: usize, rows: usize) -> Error {
    StoreError::Corrupt(format!(
        "a write changed {changed} rows instead of {rows}; a trigger that is not of the schema may have swallowed it"
    ))
    .into()
}

/// Runs `sql`, which inserts one row unless the row exists, and tells whether it did. If it did not and the
/// caller finds no such row, that is [`swallowed`].
///
/// # Errors
/// SQLite's own.
pub(crate) fn insert_new(connection: &Connection, sql: &str, params: impl Params) -> Result<bool> {
    Ok(connection.prepare_cached(sql)?.execute(params)? == 1)
}

/// Deletes all rows that `rows` names: a table, or `TABLE WHERE …`.
///
/// # Errors
/// [`StoreError::Corrupt`] if a row stays; SQLite's own.
pub(crate) fn delete(connection: &Connection, rows: &str, params: impl Params + Copy) -> Result<()> {
    let count = format!("SELECT count(*) FROM {rows}");
    let found = connection.prepare_cached(&count)?.query_row(params, |row| row.get(0))?;
    change(connection, found, &format!("DELETE FROM {rows}"), params)
}

/// Runs `work` in a savepoint. If it fails, all of its changes are undone and the transaction goes on; the answer then
/// holds the error of `work`.
///
/// # Errors
/// SQLite's own if the savepoint cannot be undone. The transaction is lost then.
pub(crate) fn attempt<T>(connection: &Connection, work: impl FnOnce() -> Result<T>) -> Result<Result<T>> {
    let run = |sql| connection.prepare_cached(sql)?.execute([]);
    run("SAVEPOINT attempt")?;
    let answer = work();
    if answer.is_err() {
        run("ROLLBACK TO attempt")?;
    }
    run("RELEASE attempt")?;
    Ok(answer)
}
