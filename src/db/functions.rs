//! SQL functions that only legbook's own connections have.
//!
//! Doctor's and recovery's questions use them; nothing in migrations/ does, so that a plain shell can do all that the
//! schema does.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;

use crate::digest::Digest;

/// Registers all of them on `connection`.
pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    let pure = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    // sha256(text or blob) -> 64 lower-case hex characters; null for null and numbers.
    connection.create_scalar_function("sha256", 1, pure, |context| {
        Ok(match context.get_raw(0) {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(Digest::of(bytes).to_hex()),
            _ => None,
        })
    })
}
