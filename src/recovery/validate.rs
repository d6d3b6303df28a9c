//! The whole check of a journaled run that comes before anything of it is restored (contract recovery.md, Recovery, 5).
//!
//! The chain from sequence 1 with every digest computed anew, one run, the bounds, the latest checkpoint's payload and
//! then its bytes, what follows it, and a receipt that comes after it. Only the text of the tables is believed: no
//! view, no trigger, no derived column. Nothing is repaired or skipped; the first fault is the answer.
//!
//! Cost: one pass over the journal. In memory are its idempotency keys, two snapshots at most, and the events after
//! the latest checkpoint, of which more than one are a fault already.

use rusqlite::types::ValueRef;
use rusqlite::{Transaction, named_params};

use crate::checkpoint;
use crate::db::column;
use crate::digest::Digest;
use crate::error::{Error, RecoveryError, Result};
use crate::event::{ChainVerifier, CheckpointPayload, Event, Head, JournalBounds, covered};
use crate::id::RunId;
use crate::journal;
use crate::json::{Object, Value};
use crate::receipt::Stored;

/// A run whose journal holds.
#[derive(Debug)]
pub(super) struct Validated {
    /// Where the journal ends.
    pub(super) head: Head,
    /// The store's last snapshot.
    pub(super) last: Snapshot,
}

/// A snapshot of the store, as bytes and as the object that they hold.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) sha256: Digest,
    pub(super) bytes: Vec<u8>,
    pub(super) object: Object,
    /// Whether it is a receipt that came after the latest checkpoint.
    pub(super) is_receipt: bool,
}

/// The latest checkpoint event and those after it; no more than two are kept, because one at most is covered.
#[derive(Default)]
struct End {
    checkpoint: Option<Event>,
    tail: Vec<Event>,
}

/// Checks the journal of `run_id`.
///
/// # Errors
/// [`RecoveryError`], the first fault; the store's own of reading.
pub(super) fn validate(tx: &Transaction<'_>, run_id: &RunId) -> Result<Validated> {
    let bounds = journal::bounds(tx)?;
    let (head, End { checkpoint, tail }) = chain(tx, run_id, bounds)?;
    let checkpoint = checkpoint.ok_or_else(|| RecoveryError::NoCheckpoint { run_id: run_id.clone() })?;
    let sequence = checkpoint.sequence();
    let payload = CheckpointPayload::parse(checkpoint.payload(), bounds.max_checkpoint_bytes)
        .map_err(|fault| RecoveryError::CheckpointEvent { run_id: run_id.clone(), sequence, fault })?;
    let (bytes, object) = checkpoint::read_valid(tx, &payload).map_err(|error| match error {
        Error::Checkpoint(fault) => {
            RecoveryError::Checkpoint { run_id: run_id.clone(), sequence, fault }.into()
        }
        other => other,
    })?;
    if !covered(&payload, &tail, object.get("status".as_bytes()).and_then(Value::as_str)) {
        return Err(RecoveryError::UncoveredTail { run_id: run_id.clone(), sequence }.into());
    }
    let last = match stored_receipt(tx, run_id, sequence, &object, head)? {
        Some(receipt) => receipt,
        None => Snapshot { sha256: payload.sha256, bytes, object, is_receipt: false },
    };
    Ok(Validated { head, last })
}

fn chain(tx: &Transaction<'_>, run_id: &RunId, bounds: journal::Bounds) -> Result<(Head, End)> {
    let mut verifier = ChainVerifier::new(JournalBounds {
        max_events: bounds.max_journal_events,
        max_bytes: bounds.max_journal_bytes,
    });
    let mut end = End::default();
    let mut statement = tx.prepare(include_str!("sql/journal.sql"))?;
    let mut rows = statement.query(named_params! { ":run_id": run_id.as_str() })?;
    let mut misplaced = None;
    while let Some(row) = rows.next()? {
        let line = match row.get_ref(1)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
            _ => &[],
        };
        let Some(event) = verifier.push(line) else { continue };
        let sequence = event.sequence();
        if misplaced.is_none() && !matches!(row.get_ref(0)?, ValueRef::Integer(of_row) if of_row == sequence)
        {
            misplaced = Some(sequence);
        }
        if event.is_checkpoint() {
            end = End { checkpoint: Some(event), tail: Vec::new() };
        } else if end.tail.len() < 2 {
            end.tail.push(event);
        }
    }
    let head = verifier
        .finish(run_id.as_str())
        .map_err(|fault| RecoveryError::Journal { run_id: run_id.clone(), fault })?;
    match misplaced {
        Some(sequence) => Err(RecoveryError::Row { run_id: run_id.clone(), sequence }.into()),
        None => Ok((head, end)),
    }
}

/// The receipt that a recovery before this one left, if the run has not gone on since.
fn stored_receipt(
    tx: &Transaction<'_>,
    run_id: &RunId,
    sequence: i64,
    checkpoint: &Object,
    head: Head,
) -> Result<Option<Snapshot>> {
    let mut statement = tx.prepare(include_str!("sql/receipt.sql"))?;
    let mut rows = statement.query(named_params! { ":run_id": run_id.as_str(), ":sequence": sequence })?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let sequence: i64 = column(row, 0)?;
    let fault = |rule| RecoveryError::Receipt { run_id: run_id.clone(), sequence, rule };
    if sequence != head.sequence {
        return Err(fault("it was not made at the end of the journal").into());
    }
    let (sha256, recovered_at): (String, String) = (column(row, 1)?, column(row, 3)?);
    let prior_status: Option<String> = column(row, 5)?;
    let bytes: Vec<u8> = column(row, 6)?;
    let stored = Stored {
        bytes: &bytes,
        sha256: &sha256,
        byte_size: column(row, 2)?,
        recovered_at: &recovered_at,
        owner_pid: column(row, 4)?,
        prior_status: prior_status.as_deref(),
    };
    let object = stored.check(Some(checkpoint)).map_err(fault)?;
    Ok(Some(Snapshot { sha256: Digest::of(&bytes), bytes, object, is_receipt: true }))
}
