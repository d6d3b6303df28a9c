//! An artifact's bytes: what comes in becomes the one form that is kept (contract run-json.md, last but one paragraph).
//!
//! No table of its own here; the bound is a setting. Memory: what was read and what is kept, both within the store's bound.

use std::io::Read;
use std::path::Path;

use rusqlite::Transaction;

use crate::db::{Store, column};
use crate::digest::Digest;
use crate::error::{Error, JsonFault, Result, StageError};
use crate::json;

/// A JSON value in the form that is kept: indented by two, UTF-8, keys in the order they came, no newline at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    bytes: Vec<u8>,
    digest: Digest,
}

impl Artifact {
    /// Reads one JSON value to the end of `input`, of which no more is taken than `max-artifact-bytes` and one byte.
    /// `origin` names the input in errors.
    ///
    /// # Errors
    /// [`StageError::TooLarge`] where the input or what would be kept of it is larger than the bound; [`Error::Json`];
    /// [`Error::Io`]; the store's own.
    pub fn read(store: &Store, input: impl Read, origin: impl AsRef<Path>) -> Result<Self> {
        let limit = store.read(max_artifact_bytes)?;
        Self::read_within(limit, input, origin)
    }

    /// As [`Artifact::read`], where the bound is known.
    pub(super) fn read_within(limit: u64, input: impl Read, origin: impl AsRef<Path>) -> Result<Self> {
        let mut text = Vec::new();
        // One byte more than allowed tells that it is too large, before the rest is read.
        input.take(limit.saturating_add(1)).read_to_end(&mut text).map_err(Error::io("read", origin))?;
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        match json::artifact_from_text(&text, most) {
            Ok(bytes) => Ok(Self { digest: Digest::of(&bytes), bytes }),
            Err(error) if error.fault == JsonFault::TooLong => Err(StageError::TooLarge { limit }.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// The bytes that are kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Their SHA-256.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// The bound of an artifact, in bytes.
pub(super) fn max_artifact_bytes(transaction: &Transaction<'_>) -> Result<u64> {
    let mut statement = transaction.prepare_cached(include_str!("sql/max_artifact_bytes.sql"))?;
    Ok(statement.query_row([], |row| column::<i64>(row, 0))?.unsigned_abs())
}
