//! Why a run is not recovered.
//!
//! A message is at most [`MAX_DIAGNOSTIC`](super::MAX_DIAGNOSTIC) characters and holds a category and where to look
//! (run, sequence): nothing of a snapshot, a payload or a file.

use std::path::PathBuf;

use super::lock::{Party, bounded};
use super::{ChainFault, CheckpointError, CheckpointPayloadError};
use crate::id::RunId;

/// Why recovery refuses. Nothing has changed then, and a claim that was set is given back; but see
/// [`RecoveryError::Unfinished`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoveryError {
    /// The lock's owner lives, or may live: that of this run, or of another one in its workspace.
    #[error("{}", bounded(format!("run owner process is still active: {owner}: {why}")))]
    StillActive {
        /// The owner.
        owner: Party,
        /// What makes it live, or why it cannot be judged.
        why: Box<str>,
        /// Whether the owner could be judged from here.
        judged: bool,
    },
    /// The workspace is locked by the dead owner of another run.
    #[error("run lock belongs to a different run: {holder}")]
    ForeignLock {
        /// The run that was to be recovered.
        run_id: RunId,
        /// The run that holds the lock.
        holder: RunId,
    },
    /// There is a lock whose owner can't be read.
    #[error("{}", bounded(format!("run lock is invalid: {why}")))]
    InvalidLock {
        /// The run.
        run_id: RunId,
        /// What can't be read.
        why: String,
    },
    /// The run has not ended, and no lock tells whose it was.
    #[error("run lock not found for run {run_id}")]
    NoLock {
        /// The run.
        run_id: RunId,
        /// Whether it has a journal, from which run.json can be put back.
        journaled: bool,
    },
    /// The machine failed a recovery after its first changes. The same call goes on from there.
    #[error("{}", bounded(format!("the recovery of {run_id} is not finished (done: {done}): {source}")))]
    Unfinished {
        /// The run.
        run_id: RunId,
        /// The words of the steps that were done.
        done: String,
        /// Why.
        source: Box<super::Error>,
    },
    /// Another recovery has taken the claim over, because it found this one dead.
    #[error("the claim of the run {run_id} was taken over by another recovery")]
    ClaimLost {
        /// The run.
        run_id: RunId,
    },
    /// The journal grew under a claim: whoever wrote did not look at the lock.
    #[error("the journal of {run_id} is not the one that was checked: it ends at another event now")]
    JournalMoved {
        /// The run.
        run_id: RunId,
    },
    /// The journal is no chain, or crosses a bound.
    #[error("{}", bounded(format!("journal of {run_id}: {fault}")))]
    Journal {
        /// The run.
        run_id: RunId,
        /// The first fault.
        fault: ChainFault,
    },
    /// A row that says another sequence than its line.
    #[error("journal of {run_id}: malformed chain: the row of event {sequence} is not what its line says")]
    Row {
        /// The run.
        run_id: RunId,
        /// The sequence that the line says.
        sequence: i64,
    },
    /// A whole journal without a checkpoint event.
    #[error("journal of {run_id}: no checkpoint event in journal")]
    NoCheckpoint {
        /// The run.
        run_id: RunId,
    },
    /// The payload of the latest checkpoint event.
    #[error("{}", bounded(format!("latest checkpoint of {run_id} at sequence {sequence}: {fault}")))]
    CheckpointEvent {
        /// The run.
        run_id: RunId,
        /// The event.
        sequence: i64,
        /// The rule that it breaks.
        fault: CheckpointPayloadError,
    },
    /// The bytes that the latest checkpoint event names.
    #[error("{}", bounded(format!("latest checkpoint of {run_id} at sequence {sequence}: {fault}")))]
    Checkpoint {
        /// The run.
        run_id: RunId,
        /// The event.
        sequence: i64,
        /// What is wrong.
        fault: CheckpointError,
    },
    /// The latest checkpoint does not account for the events after it.
    #[error(
        "journal of {run_id}: uncovered tail: the checkpoint at sequence {sequence} does not account for what follows it"
    )]
    UncoveredTail {
        /// The run.
        run_id: RunId,
        /// The checkpoint event.
        sequence: i64,
    },
    /// A stored receipt that comes after the latest checkpoint and is none.
    #[error("receipt of {run_id} after sequence {sequence}: {rule}")]
    Receipt {
        /// The run.
        run_id: RunId,
        /// The sequence after which it says that it was made.
        sequence: i64,
        /// What is wrong.
        rule: &'static str,
    },
    /// The run's directory and its workspace are gone: they were moved, or are not mounted.
    #[error("the run directory {} is gone, and so is the workspace", path.display())]
    DirectoryGone {
        /// The run.
        run_id: RunId,
        /// The run directory that the store knows.
        path: PathBuf,
        /// A directory of the run's id beside the store, which may be it.
        found: Option<PathBuf>,
    },
}
