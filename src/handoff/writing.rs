//! What the store's inability to take or to give a leg's rows becomes.
//!
//! The work before a leg was paid for (a sweep, a deep research), so a store that fails is no crash and no lost input: the
//! error says that the same input can be given again (contract handoff.md, reading). Opening and reading write too, beside
//! the store, so a full disk can be met there first.

use crate::error::{Error, HandoffError, Record, StoreError};

/// Turns the store's own inability to write, or to be made, into [`HandoffError::NotStored`]; use as
/// `.map_err(not_stored(record))`. A busy store stays busy, and a rule of the schema stays a refusal.
pub fn not_stored(record: Record) -> impl FnOnce(Error) -> Error {
    move |error| match of_the_store(error) {
        Ok(source) => HandoffError::NotStored { record, source: Box::new(source) }.into(),
        Err(other) => other,
    }
}

/// As [`not_stored`], for a store that could not be opened or read: [`HandoffError::NotRead`].
pub fn not_read(error: Error) -> Error {
    match of_the_store(error) {
        Ok(source) => HandoffError::NotRead { source: Box::new(source) }.into(),
        Err(other) => other,
    }
}

/// An error of the store or of the system, which the leg's input has no part in.
fn of_the_store(error: Error) -> Result<Error, Error> {
    match error {
        Error::Io { .. }
        | Error::Store(
            StoreError::Full
            | StoreError::ReadOnly
            | StoreError::Unopenable { .. }
            | StoreError::NotMade { .. }
            | StoreError::Sqlite(_),
        ) => Ok(error),
        other => Err(other),
    }
}
