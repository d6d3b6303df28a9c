//! The tables `imports`, `imported_files` and `quarantine`: what an imported run keeps beside its journal and checkpoints.
//!
//! Nothing here commits: an import is part of one transaction, and so is what an export reads.

use rusqlite::{OptionalExtension, Transaction, named_params, params};

use crate::db::{change_one, column, delete};
use crate::digest::Digest;
use crate::error::{LegacyError, Result};
use crate::id::RunId;

/// A directory or file of an imported tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptFile {
    /// Relative to the run directory.
    pub(super) path: String,
    /// Permission bits.
    pub(super) mode: u32,
    /// Of the bytes; `None` for a directory, the journal and a quarantined line.
    pub(super) sha256: Option<Digest>,
}

/// A partial line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeptPartial {
    /// The file name that it has in the quarantine, or would have there.
    pub(super) name: String,
    /// How many whole lines stood before it.
    pub(super) whole_lines: u64,
    /// Whether it stood in the journal.
    pub(super) at_end: bool,
    /// Of its bytes.
    pub(super) sha256: Digest,
}

/// Whether `run_id` came from a legacy directory.
pub(super) fn is_import(tx: &Transaction<'_>, run_id: &RunId) -> Result<bool> {
    let mut statement = tx.prepare_cached(include_str!("sql/is_import.sql"))?;
    Ok(statement.query_row(named_params! { ":run_id": run_id.as_str() }, |row| column(row, 0))?)
}

/// Notes that `run_id` comes from a legacy directory.
pub(super) fn enter(tx: &Transaction<'_>, run_id: &RunId, now: &str) -> Result<()> {
    let entry = named_params! { ":run_id": run_id.as_str(), ":now": now };
    change_one(tx, include_str!("sql/insert_import.sql"), entry)
}

/// Notes that something of `run_id` was new at `now`.
pub(super) fn touch(tx: &Transaction<'_>, run_id: &RunId, now: &str) -> Result<()> {
    let entry = named_params! { ":run_id": run_id.as_str(), ":now": now };
    change_one(tx, include_str!("sql/touch_import.sql"), entry)
}

/// The listed directories and files of `run_id`, by path.
///
/// # Errors
/// [`LegacyError::Damaged`]; SQLite's own.
pub(super) fn files(tx: &Transaction<'_>, run_id: &RunId) -> Result<Vec<KeptFile>> {
    let mut statement = tx.prepare_cached(include_str!("sql/list_files.sql"))?;
    let mut rows = statement.query(named_params! { ":run_id": run_id.as_str() })?;
    let mut files = Vec::new();
    while let Some(row) = rows.next()? {
        let sha256: Option<String> = column(row, 2)?;
        files.push(KeptFile {
            path: column(row, 0)?,
            mode: column(row, 1)?,
            sha256: sha256.map(|hex| digest(run_id, &hex)).transpose()?,
        });
    }
    Ok(files)
}

/// The bytes kept under `path`; `None` where there are none.
///
/// # Errors
/// [`LegacyError::Damaged`] where they are not those of their digest; SQLite's own.
pub(super) fn body(tx: &Transaction<'_>, run_id: &RunId, file: &KeptFile) -> Result<Option<Vec<u8>>> {
    let mut statement = tx.prepare_cached(include_str!("sql/body.sql"))?;
    let parameters = named_params! { ":run_id": run_id.as_str(), ":path": file.path };
    let body: Option<Vec<u8>> = statement.query_row(parameters, |row| column(row, 0)).optional()?.flatten();
    match &body {
        Some(body) if Some(Digest::of(body)) != file.sha256 => {
            Err(damaged(run_id, "a file's bytes have another SHA-256").into())
        }
        _ => Ok(body),
    }
}

/// The partial lines of `run_id`, by name.
///
/// # Errors
/// [`LegacyError::Damaged`]; SQLite's own.
pub(super) fn partials(tx: &Transaction<'_>, run_id: &RunId) -> Result<Vec<KeptPartial>> {
    let mut statement = tx.prepare_cached(include_str!("sql/list_partials.sql"))?;
    let mut rows = statement.query(named_params! { ":run_id": run_id.as_str() })?;
    let mut partials = Vec::new();
    while let Some(row) = rows.next()? {
        let sha256: String = column(row, 3)?;
        partials.push(KeptPartial {
            name: column(row, 0)?,
            whole_lines: column(row, 1)?,
            at_end: column(row, 2)?,
            sha256: digest(run_id, &sha256)?,
        });
    }
    Ok(partials)
}

/// The bytes of a partial line.
///
/// # Errors
/// [`LegacyError::Damaged`] where they are not those of its digest; SQLite's own.
pub(super) fn partial_bytes(tx: &Transaction<'_>, run_id: &RunId, partial: &KeptPartial) -> Result<Vec<u8>> {
    let mut statement = tx.prepare_cached(include_str!("sql/partial_bytes.sql"))?;
    let parameters = named_params! { ":run_id": run_id.as_str(), ":name": partial.name };
    let bytes: Vec<u8> = statement.query_row(parameters, |row| column(row, 0))?;
    if Digest::of(&bytes) == partial.sha256 {
        Ok(bytes)
    } else {
        Err(damaged(run_id, "a partial line's bytes have another SHA-256").into())
    }
}

/// Drops all that the store keeps of `run_id`: something else comes in its place.
pub(super) fn clear(tx: &Transaction<'_>, run_id: &RunId) -> Result<()> {
    // The triggers let files go only while the row says so.
    let replacing = "UPDATE imports SET replacing = ?2 WHERE run_id = ?1";
    change_one(tx, replacing, params![run_id.as_str(), 1])?;
    delete(tx, "imported_files WHERE run_id = ?1", [run_id.as_str()])?;
    delete(tx, "quarantine WHERE run_id = ?1", [run_id.as_str()])?;
    change_one(tx, replacing, params![run_id.as_str(), 0])
}

/// What is to be kept of a run, with its bytes.
#[derive(Debug, Default)]
pub(super) struct Keepsakes {
    /// Each with its bytes, where they are in no other table.
    pub(super) files: Vec<(KeptFile, Option<Vec<u8>>)>,
    /// Each with its bytes.
    pub(super) partials: Vec<(KeptPartial, Vec<u8>)>,
}

impl Keepsakes {
    /// Whether the store has exactly these of `run_id`.
    pub(super) fn are_kept(&self, tx: &Transaction<'_>, run_id: &RunId) -> Result<bool> {
        Ok(self.files.iter().map(|(file, _)| file).eq(&files(tx, run_id)?)
            && self.partials.iter().map(|(partial, _)| partial).eq(&partials(tx, run_id)?))
    }

    /// How many bytes they hold.
    pub(super) fn bytes(&self) -> usize {
        let bodies = self.files.iter().filter_map(|(_, body)| body.as_deref());
        bodies.chain(self.partials.iter().map(|(_, bytes)| bytes.as_slice())).map(<[u8]>::len).sum()
    }

    /// Sorts as [`files`] and [`partials`] give them.
    pub(super) fn sort(&mut self) {
        self.files.sort_by(|(one, _), (other, _)| one.path.cmp(&other.path));
        self.partials.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    }

    /// The digest and the bytes kept under `path`.
    pub(super) fn file(&self, path: &str) -> Option<(Option<Digest>, &[u8])> {
        let (file, body) = self.files.iter().find(|(file, _)| file.path == path)?;
        Some((file.sha256, body.as_deref()?))
    }

    /// Keeps these of `run_id`, of which the store has nothing.
    pub(super) fn insert(&self, tx: &Transaction<'_>, run_id: &RunId, now: &str) -> Result<()> {
        // The listing may name a partial line, so these come first.
        for (partial, bytes) in &self.partials {
            change_one(
                tx,
                include_str!("sql/insert_partial.sql"),
                named_params! {
                    ":run_id": run_id.as_str(),
                    ":name": partial.name,
                    ":whole_lines": partial.whole_lines,
                    ":at_end": partial.at_end,
                    ":now": now,
                    ":sha256": partial.sha256.to_hex(),
                    ":bytes": bytes,
                },
            )?;
        }
        for (file, body) in &self.files {
            change_one(
                tx,
                include_str!("sql/insert_file.sql"),
                named_params! {
                    ":run_id": run_id.as_str(),
                    ":path": file.path,
                    ":mode": file.mode,
                    ":sha256": file.sha256.map(Digest::to_hex),
                    ":body": body,
                },
            )?;
        }
        Ok(())
    }
}

fn digest(run_id: &RunId, hex: &str) -> Result<Digest> {
    Ok(Digest::parse(hex).ok_or_else(|| damaged(run_id, "a digest is none"))?)
}

fn damaged(run_id: &RunId, rule: &'static str) -> LegacyError {
    LegacyError::Damaged { run_id: run_id.to_string(), rule }
}
