//! What a failed write of a leg becomes.
//!
//! The work before the write was paid for (a sweep, a deep research), so a store that can't take it is no crash and no
//! lost input: the error says that the same input can be given again (contract handoff.md, reading).

use std::io::ErrorKind;

use crate::error::{Error, HandoffError, Record, StoreError};

/// Turns the store's own inability to write, or to be made, into [`HandoffError::NotStored`]; use as
/// `.map_err(not_stored(record))`. A busy store stays busy, and a rule of the schema stays a refusal.
pub fn not_stored(record: Record) -> impl FnOnce(Error) -> Error {
    move |error| {
        let source = match error {
            Error::Store(
                source @ (StoreError::Full | StoreError::ReadOnly | StoreError::Unopenable { .. }),
            ) => source,
            Error::Store(source @ StoreError::Sqlite(_)) => source,
            Error::Io { source, .. } if is_full(source.kind()) => StoreError::Full,
            Error::Io { source, .. } if source.kind() == ErrorKind::ReadOnlyFilesystem => {
                StoreError::ReadOnly
            }
            other => return other,
        };
        HandoffError::NotStored { record, source: Box::new(source) }.into()
    }
}

fn is_full(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
