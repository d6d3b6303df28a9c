//! Runs and their snapshots.

use std::path::PathBuf;

use super::lock::bounded;
use super::quoted;
use crate::id::RunId;

/// Why something is refused to a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// No run has this id or this directory.
    #[error("there is no run {0} in this store")]
    Unknown(String),
    /// `latest` in a store without runs.
    #[error("there is no run in this store yet")]
    NoRuns,
    /// A new run with the id of an old one.
    #[error("the run {0} exists")]
    Exists(String),
    /// The journal is active and the caller holds no lock (contract events.md, The write path).
    #[error("the run {0} has a journal, and a write to it needs the run's lock")]
    NotOwner(String),
    /// The run directory belongs to another run, or holds a run.json of one.
    #[error("the run directory {} is taken: {rule}", path.display())]
    DirectoryTaken {
        /// The directory.
        path: PathBuf,
        /// By what.
        rule: &'static str,
    },
    /// A run that has no directory of its own (it was imported).
    #[error("the run {0} has no run directory")]
    NoDirectory(String),
    /// Something stands where a run's own file or directory must be.
    #[error("{} is in the way: {rule}", path.display())]
    Obstacle {
        /// What stands there.
        path: PathBuf,
        /// What it is.
        rule: &'static str,
    },
    /// A path that the store can't keep as text.
    #[error("the path {} is not UTF-8", .0.display())]
    PathNotUtf8(PathBuf),
    /// A status word outside the vocabulary.
    #[error("{}", bounded(format!("unknown status {}; known are {known}", quoted(status))))]
    UnknownStatus {
        /// The word.
        status: String,
        /// The vocabulary.
        known: String,
    },
    /// A status that does not end a run where one is needed.
    #[error("the status {0} does not end a run")]
    NotTerminal(String),
    /// The run has ended, and the change would make it run again.
    #[error("the run {run_id} has ended ({status:.64})")]
    Ended {
        /// The run.
        run_id: String,
        /// Its status.
        status: String,
        /// Whether it still holds its lock.
        locked: bool,
    },
    /// A snapshot is needed and the run has none: no journal, and no readable run.json.
    #[error("the run {run_id} has no snapshot: {}: {fault}", path.display())]
    NoSnapshot {
        /// The run.
        run_id: String,
        /// Its run.json.
        path: PathBuf,
        /// `it is missing`, or `it is not a JSON object`.
        fault: &'static str,
    },
    /// There is no journal, and the question is one to a journal.
    #[error("the run {0} has no journal")]
    NoJournal(String),
    /// No snapshot had been written at that event.
    #[error("the journal of {run_id} has no snapshot at sequence {sequence}")]
    NoSnapshotAt {
        /// The run.
        run_id: String,
        /// The sequence asked for.
        sequence: i64,
    },
    /// The snapshot is committed to the store; run.json could not be replaced.
    #[error("the snapshot of {run_id} is in the store, but run.json was not replaced: {source}")]
    Export {
        /// The run.
        run_id: String,
        /// Why.
        source: Box<crate::error::Error>,
    },
    /// The run has ended, in the store and in run.json; its lock could not be removed.
    #[error("the run {run_id} has ended, but its lock was not released: {source}")]
    Unreleased {
        /// The run.
        run_id: String,
        /// Why.
        source: Box<crate::error::Error>,
    },
    /// Another process has held the export lock of the run for 10 seconds.
    #[error("busy: another process has been replacing {} for 10 seconds", path.display())]
    ExportBusy {
        /// The run.json.
        path: PathBuf,
    },
    /// The owner of the run's lock lives, so its run.json is not put back.
    #[error("run owner process is still active: run.json of {0} is its to write")]
    LiveOwner(String),
    /// The lock's owner is dead (contract recovery.md, The run lock). A run with a journal must be recovered first.
    #[error("the workspace is locked by the run {run_id}, whose owner process {pid} is dead{}", if *.journaled { " and whose journal must be recovered first" } else { "" })]
    DeadOwner {
        /// The run that holds the lock.
        run_id: RunId,
        /// The dead owner.
        pid: u32,
        /// Whether that run has a journal.
        journaled: bool,
    },
}
