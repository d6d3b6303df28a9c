//! Checkpoints: the bytes of run.json by their SHA-256. Owns the table `checkpoints`.
//!
//! A body is written once, in the transaction of the event that names it, and never changes; runs that wrote the same
//! bytes share it. A body that is there already is compared byte for byte, because the whole recovery rests on the
//! claim that a digest stands for one text. Nothing here commits: the caller's transaction does.

use rusqlite::{OptionalExtension, Transaction, params};

use crate::db::{column, insert_new, swallowed};
use crate::digest::Digest;
use crate::error::{CheckpointError, Error, Result};
use crate::event::CheckpointPayload;
use crate::json::{self, Object};

/// Stores `body` under its digest.
///
/// # Errors
/// [`CheckpointError::CollisionMismatch`] where other bytes are stored under that digest; SQLite's own.
pub(crate) fn put(tx: &Transaction<'_>, sha256: Digest, body: &[u8]) -> Result<()> {
    // Nearly always new, so that is tried first.
    if insert_new(tx, include_str!("sql/insert_new.sql"), params![sha256.to_hex(), body])? {
        return Ok(());
    }
    match get(tx, sha256)? {
        Some(stored) if stored == body => Ok(()),
        Some(_) => Err(CheckpointError::CollisionMismatch { sha256 }.into()),
        None => Err(swallowed(0, 1)),
    }
}

/// The body stored under `sha256`, unchecked.
pub(crate) fn get(tx: &Transaction<'_>, sha256: Digest) -> Result<Option<Vec<u8>>> {
    let mut statement = tx.prepare_cached(include_str!("sql/body.sql"))?;
    Ok(statement.query_row([sha256.to_hex()], |row| column(row, 0)).optional()?)
}

/// Reads the checkpoint that `payload` names and checks it whole: size, digest, UTF-8, an object, and equal to the
/// snapshot encoding of itself (contract recovery.md, Checkpoint validity). Gives the bytes and the object.
///
/// # Errors
/// The [`CheckpointError`] of the first check that fails.
pub(crate) fn read_valid(tx: &Transaction<'_>, payload: &CheckpointPayload) -> Result<(Vec<u8>, Object)> {
    let sha256 = payload.sha256;
    let body = get(tx, sha256)?.ok_or(CheckpointError::Missing { sha256 })?;
    let object = validate(payload, &body)?;
    Ok((body, object))
}

/// The checks of `read_valid` on a body in hand.
///
/// # Errors
/// As `read_valid`, except [`CheckpointError::Missing`].
pub fn validate(payload: &CheckpointPayload, body: &[u8]) -> Result<Object, CheckpointError> {
    let sha256 = payload.sha256;
    if body.len() as u64 != payload.byte_size {
        return Err(CheckpointError::Size { sha256 });
    }
    if Digest::of(body) != sha256 {
        return Err(CheckpointError::DigestMismatch { sha256 });
    }
    let object = json::parse_object(body).map_err(|_| CheckpointError::NotAnObject { sha256 })?;
    if json::snapshot_bytes(&object) != body {
        return Err(CheckpointError::Encoding { sha256 });
    }
    Ok(object)
}

/// Refuses a snapshot of more bytes than the store's bound.
///
/// # Errors
/// [`CheckpointError::TooLarge`].
pub(crate) fn check_size(body: &[u8], bound: u64) -> Result<(), Error> {
    let size = body.len() as u64;
    if size > bound {
        return Err(CheckpointError::TooLarge { size, bound }.into());
    }
    Ok(())
}
