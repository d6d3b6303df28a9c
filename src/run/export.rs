//! Putting the store's last snapshot back as run.json.

use crate::db::Store;
use crate::digest::Digest;
use crate::error::{CheckpointError, Result, RunError};
use crate::id::RunId;
use crate::lock::{self, Judge};

use super::file::{self, ExportLock, OnDisk};
use super::last::last_snapshot;
use super::table;

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

/// Replaces run.json by the store's last snapshot, under the export lock; a different file is kept as
/// `run.json.replaced-<32 hex>` (contract store.md, Commands).
///
/// A crash between the two renames leaves no run.json: the same call again ends it.
///
/// # Errors
/// [`RunError::LiveOwner`] beside a live owner; [`RunError::NoJournal`]; [`RunError::NoDirectory`];
/// [`CheckpointError::DigestMismatch`] where the stored bytes are spoiled; [`crate::Error::Io`].
pub fn export(store: &Store, run_id: &RunId) -> Result<Exported> {
    let run = store.read(|tx| table::get(tx, run_id))?;
    if !run.journaled {
        return Err(RunError::NoJournal(run_id.to_string()).into());
    }
    let (run_dir, _) = file::make_run_dir(run.directory()?)?;
    let export = ExportLock::take(&run_dir, store.clock())?;
    let judge = Judge::new(store);
    let last = store.read(|tx| {
        if lock::state_in(tx, &judge, run.workspace.as_deref(), run_id)?.is_live_owner_of(run_id) {
            return Err(RunError::LiveOwner(run_id.to_string()).into());
        }
        last_snapshot(tx, run_id)
    })?;
    let last = last.ok_or_else(|| RunError::NoJournal(run_id.to_string()))?;
    if Digest::of(&last.bytes) != last.sha256 {
        return Err(CheckpointError::DigestMismatch { sha256: last.sha256 }.into());
    }
    let on_disk = file::read(&run_dir)?;
    if on_disk.bytes() == Some(last.bytes.as_slice()) {
        return Ok(Exported { sha256: last.sha256, unchanged: true, kept_as: None });
    }
    let kept_as = match on_disk {
        OnDisk::Missing => None,
        _ => Some(export.set_aside("replaced", store.clock())?),
    };
    export.replace(store, &last.bytes)?;
    Ok(Exported { sha256: last.sha256, unchanged: false, kept_as })
}
