//! Putting the store's last snapshot back as run.json.

use std::path::Path;

use rusqlite::Transaction;

use crate::db::Store;
use crate::digest::Digest;
use crate::error::{Result, RunError};
use crate::id::RunId;
use crate::lock::{self, Judge};
use crate::publish;

use super::directory;
use super::file::{self, ExportLock};
use super::last::{label_to_keep, last_snapshot, note_last_snapshot};
use super::table::{self, Run};

/// What an export did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// SHA-256 of run.json now.
    pub sha256: Digest,
    /// Whether run.json was those bytes already.
    pub unchanged: bool,
    /// The name that a different run.json was kept under, in the run directory.
    pub kept_as: Option<String>,
}

/// Replaces run.json by the store's last snapshot, under the export lock; a file that was never a snapshot of the run is kept as
/// `run.json.replaced-<32 hex>` (contract store.md, Commands).
///
/// A run that was imported and has no directory gets one, `runs/<run id>` beside the store. What the run's row says of its
/// last snapshot is noted anew.
///
/// A crash between the two renames leaves no run.json, one before the last transaction a row as it was: the same call
/// again ends it.
///
/// # Errors
/// [`RunError::LiveOwner`] beside a live owner; [`RunError::NoJournal`];
/// [`RecoveryError::DirectoryGone`](crate::error::RecoveryError::DirectoryGone) where the run was moved, so that no
/// second directory is made; [`CheckpointError::DigestMismatch`](crate::error::CheckpointError::DigestMismatch) where
/// the stored bytes are spoiled; [`crate::Error::Io`].
pub fn export(store: &Store, run_id: &RunId) -> Result<Exported> {
    let run = store.read(|tx| table::get(tx, run_id))?;
    if !run.journaled {
        return Err(RunError::NoJournal(run_id.to_string()).into());
    }
    let judge = Judge::new(store);
    put_back(store, &run, |tx| {
        if lock::state_in(tx, &judge, run.workspace.as_deref(), run_id)?.is_live_owner_of(run_id) {
            return Err(RunError::LiveOwner(run_id.to_string()).into());
        }
        Ok(())
    })
}

/// [`export`] of a run with a journal, where `allowed` has nothing against it under the export lock.
pub(super) fn put_back(
    store: &Store,
    run: &Run,
    allowed: impl FnOnce(&Transaction<'_>) -> Result<()>,
) -> Result<Exported> {
    store.settle()?;
    let run_id = &run.run_id;
    directory::check_not_moved(store.folder(), run)?;
    // A run that was imported gets its directory here.
    let wanted = match &run.run_dir {
        Some(run_dir) => run_dir.clone(),
        None => store.folder().join("runs").join(run_id.as_str()),
    };
    let (run_dir, _) = file::make_run_dir(&wanted)?;
    publish::remove_leftovers(&run_dir, file::RUN_JSON);
    let export = ExportLock::take(&run_dir, store.clock())?;
    let (last, found, keep) = store.read(|tx| {
        allowed(tx)?;
        let last = last_snapshot(tx, run_id)?.ok_or_else(|| RunError::NoJournal(run_id.to_string()))?;
        last.check(run_id)?;
        let found = file::digest(&run_dir)?;
        let keep = label_to_keep(tx, run_id, found, &[last.sha256])?;
        Ok((last, found, keep))
    })?;
    let unchanged = found == Some(last.sha256);
    let kept_as = if unchanged { None } else { export.replace(store, &last.bytes, keep)? };
    settle(store, run, &run_dir)?;
    Ok(Exported { sha256: last.sha256, unchanged, kept_as })
}

/// Notes what the last snapshot says, and the directory of a run that had none.
fn settle(store: &Store, run: &Run, run_dir: &Path) -> Result<()> {
    store.write(|tx| {
        if run.run_dir.is_none() {
            table::relocate(tx, &run.run_id, run_dir)?;
        }
        note_last_snapshot(tx, &run.run_id)
    })
}
