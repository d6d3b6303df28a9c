//! The store's last snapshot of a run: its latest checkpoint's bytes, or those of a receipt that came after it.
//!
//! This, not run.json, is what a run is: the next write compares with it, export puts it back, recovery starts from
//! it. It is a question over `events` and `recoveries`, not a column that could lie. A run without a journal has none.

use rusqlite::{OptionalExtension, Transaction, named_params};

use crate::checkpoint;
use crate::db::column;
use crate::digest::Digest;
use crate::error::{CheckpointError, JournalError, RecoveryError, Result};
use crate::id::RunId;
use crate::journal::{self, LatestCheckpoint};
use crate::json::{self, Object, Text};
use crate::receipt;

use super::table;

/// The last snapshot, still unparsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastSnapshot {
    /// SHA-256 as stored.
    pub(crate) sha256: Digest,
    /// The bytes of run.json.
    pub(crate) bytes: Vec<u8>,
    /// The latest checkpoint event.
    pub(crate) checkpoint: LatestCheckpoint,
    /// Whether this is a receipt that came after that checkpoint.
    pub(crate) is_receipt: bool,
    /// The rule of a receipt that this one breaks, and the sequence after which it was stored.
    receipt_fault: Option<(i64, &'static str)>,
}

impl LastSnapshot {
    /// The object; `None` where the stored bytes are spoiled or hold none.
    pub(crate) fn object(&self) -> Option<Object> {
        if !self.is_whole() {
            return None;
        }
        json::parse_object(&self.bytes).ok()
    }

    /// The status that the object says; `None` where it says none, or the stored bytes are spoiled or hold no object.
    pub(crate) fn status(&self) -> Option<Text> {
        if !self.is_whole() {
            return None;
        }
        json::text_under(&self.bytes, "status").ok()?
    }

    /// Refuses bytes that are not what their digest says, and a receipt that is not valid: they are neither gone on from
    /// nor exported.
    ///
    /// # Errors
    /// [`CheckpointError::DigestMismatch`], [`RecoveryError::Receipt`].
    pub(crate) fn check(&self, run_id: &RunId) -> Result<()> {
        if let Some((sequence, rule)) = self.receipt_fault {
            return Err(RecoveryError::Receipt { run_id: run_id.clone(), sequence, rule }.into());
        }
        if !self.is_whole() {
            return Err(CheckpointError::DigestMismatch { sha256: self.sha256 }.into());
        }
        Ok(())
    }

    /// Whether [`check`](Self::check) passes.
    pub(crate) fn is_whole(&self) -> bool {
        self.receipt_fault.is_none() && Digest::of(&self.bytes) == self.sha256
    }
}

/// The last snapshot of `run_id`, its bytes unchecked; `None` before the first checkpoint.
///
/// # Errors
/// [`CheckpointError::Missing`] where an event names a body that is not there; SQLite's own.
pub(crate) fn last_snapshot(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<LastSnapshot>> {
    let Some(checkpoint) = journal::latest_checkpoint(tx, run_id.as_str(), i64::MAX)? else {
        return Ok(None);
    };
    let receipt: Option<(i64, String, Vec<u8>)> = tx
        .prepare_cached(include_str!("sql/latest_receipt.sql"))?
        .query_row([run_id.as_str()], |row| Ok((column(row, 0)?, column(row, 1)?, column(row, 2)?)))
        .optional()?;
    if let Some((after_sequence, sha256, bytes)) = receipt
        && after_sequence >= checkpoint.sequence
    {
        let sha256 = Digest::parse(&sha256).ok_or_else(|| JournalError::Damaged {
            run_id: run_id.to_string(),
            sequence: after_sequence,
            rule: "the receipt has no digest",
        })?;
        let before = checkpoint::get(tx, checkpoint.sha256)?;
        let receipt_fault = receipt_fault(before.as_deref(), &bytes).map(|rule| (after_sequence, rule));
        return Ok(Some(LastSnapshot { sha256, bytes, checkpoint, is_receipt: true, receipt_fault }));
    }
    let sha256 = checkpoint.sha256;
    let bytes = checkpoint::get(tx, sha256)?.ok_or(CheckpointError::Missing { sha256 })?;
    Ok(Some(LastSnapshot { sha256, bytes, checkpoint, is_receipt: false, receipt_fault: None }))
}

/// The rule that a receipt after the checkpoint `before` breaks; the columns beside it are doctor's and recovery's.
fn receipt_fault(before: Option<&[u8]>, bytes: &[u8]) -> Option<&'static str> {
    let Ok(object) = json::parse_object(bytes) else { return Some("it is not a JSON object") };
    let has_ended = before
        .and_then(|before| json::parse_object(before).ok())
        .is_some_and(|before| receipt::is_terminal(&before));
    receipt::fault(&object).or(has_ended.then_some("the checkpoint before it has ended the run"))
}

/// Notes in the run's row what its last snapshot says, as the write of it did.
///
/// # Errors
/// As [`last_snapshot`]. One that holds no object is no error: nothing is noted then.
pub(crate) fn note_last_snapshot(tx: &Transaction<'_>, run_id: &RunId) -> Result<()> {
    match last_snapshot(tx, run_id)?.and_then(|last| last.object()) {
        Some(object) => table::note_snapshot(tx, run_id, &object),
        None => Ok(()),
    }
}

/// Under which label a run.json with the digest `found` is kept before an export replaces it; `None`: it is not kept. A
/// file that was never a snapshot of the run was made or changed by somebody else. An older snapshot is not kept: the store
/// has it. `expected` are digests of snapshots that are at hand; the file is usually one of them.
///
/// # Errors
/// SQLite's own.
pub(crate) fn label_to_keep(
    tx: &Transaction<'_>,
    run_id: &RunId,
    found: Option<Digest>,
    expected: &[Digest],
) -> Result<Option<&'static str>> {
    let Some(found) = found.filter(|found| !expected.contains(found)) else { return Ok(None) };
    Ok((!was_snapshot(tx, run_id, found)?).then_some("replaced"))
}

/// Whether bytes with this digest were a snapshot of the run: an event names them, or they are a receipt.
///
/// # Errors
/// SQLite's own.
pub(crate) fn was_snapshot(tx: &Transaction<'_>, run_id: &RunId, sha256: Digest) -> Result<bool> {
    let mut statement = tx.prepare_cached(include_str!("sql/was_snapshot.sql"))?;
    let sha256 = sha256.to_hex();
    Ok(statement
        .query_row(named_params! { ":run_id": run_id.as_str(), ":sha256": sha256 }, |row| column(row, 0))?)
}
