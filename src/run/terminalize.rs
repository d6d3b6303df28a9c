//! Ending a run without a journal whose owner is dead: the legacy way (contract recovery.md, Recovery, 6).
//!
//! Under the run's export lock the lock's row is claimed in one transaction; then, with no transaction open, an unparseable run.json is set aside
//! and the failure receipt replaces run.json; then one transaction keeps the receipt, notes the status and removes the
//! row. A crash anywhere leaves a claimed row of a dead claimer, which the next caller takes over: it finds the
//! receipt in run.json (terminal: nothing is made anew) or makes it.

use std::path::{Path, PathBuf};

use crate::clock::offset_time;
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{RecoveryError, Result};
use crate::id::RunId;
use crate::json::{self, Integer, Object, Text};
use crate::lock::{self, Claim, Judge};
use crate::receipt::{self, DeadOwner};
use crate::step::Step;

use super::file::{self, ExportLock, OnDisk};
use super::receipts;
use super::table;

/// What became of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The name that an unparseable run.json is kept under.
    pub(crate) kept_as: Option<String>,
    /// SHA-256 of the receipt; `None` where the run had ended already and only the lock was removed.
    pub(crate) receipt: Option<Digest>,
}

/// Where a run lives from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The run directory: absolute, and real where it is there.
    pub(crate) run_dir: PathBuf,
    /// Whether the store knows another one.
    pub(crate) moved: bool,
}

impl Place {
    /// Makes the directory where it is missing, and takes the export lock in it.
    pub(crate) fn lock(&self, store: &Store) -> Result<ExportLock> {
        let (run_dir, _) = file::make_run_dir(&self.run_dir)?;
        ExportLock::take(&run_dir, store.clock())
    }
}

/// Ends `run_id` and removes its lock.
///
/// # Errors
/// The lock's refusals (a live owner, a live claimer); [`crate::Error::Io`], the claim is given back then.
pub(crate) fn dead_owner(store: &Store, run_id: &RunId) -> Result<Ended> {
    let judge = Judge::new(store);
    let claimer = store.processes().current();
    let run_dir = store.read(|tx| Ok(table::get(tx, run_id)?.directory()?.to_path_buf()))?;
    let place = Place { run_dir, moved: false };
    let export = place.lock(store)?;
    let claim = store.write(|tx| lock::claim(tx, store.clock(), &judge, run_id, &claimer))?;
    store.reached(Step::Claimed);
    under_claim(store, run_id, &claim, &place, &export).inspect_err(|_| {
        // The first error is the one to tell; a claim that stays is taken over by the next caller.
        let _ = store.write(|tx| lock::unclaim(tx, &claim));
    })
}

/// [`dead_owner`] under an export lock and a claim that the caller has taken. After an error the caller gives the claim
/// back.
pub(crate) fn under_claim(
    store: &Store,
    run_id: &RunId,
    claim: &Claim,
    place: &Place,
    export: &ExportLock,
) -> Result<Ended> {
    let recovered_at = offset_time(crate::clock::to_micros(store.clock().now()));
    let (base, kept_as) = base(store, export, &place.run_dir)?;
    let made = receipt::receipt(&base, &dead(claim), &recovered_at, false)
        .map(|object| (json::snapshot_bytes(&object), object));
    if let Some((bytes, _)) = &made {
        export.replace(store, bytes, None)?;
    }
    store.reached(Step::ReceiptExported);
    store.write(|tx| {
        if !lock::claim_stands(tx, claim)? {
            return Err(RecoveryError::ClaimLost { run_id: run_id.clone() }.into());
        }
        // Before the removal: a receipt needs the claim.
        if let Some((bytes, object)) = &made {
            receipts::keep(tx, run_id, 0, &recovered_at, object, bytes)?;
        }
        lock::remove_claimed(tx, claim)?;
        table::note_snapshot(tx, run_id, made.as_ref().map_or(&base, |(_, object)| object))?;
        if place.moved {
            table::relocate(tx, run_id, &place.run_dir)?;
        }
        Ok(())
    })?;
    Ok(Ended { kept_as, receipt: made.map(|(bytes, _)| Digest::of(&bytes)) })
}

/// The object that the receipt is made of: run.json, or what stands for it where there is none to read; and the name
/// that an unparseable one was renamed to.
fn base(store: &Store, export: &ExportLock, run_dir: &Path) -> Result<(Object, Option<String>)> {
    let text = file::utf8(run_dir)?;
    Ok(match file::read(run_dir)? {
        OnDisk::Snapshot(_, object) => (object, None),
        OnDisk::Missing => {
            // A recovery that died after the renaming left a file that this receipt is to name.
            let kept = file::last_kept(run_dir, "corrupt")?.map(|name| format!("{text}/{name}"));
            (receipt::unavailable_snapshot(text, kept.as_deref()), None)
        }
        OnDisk::Unparseable(_) => {
            let name = export.set_aside("corrupt", store.clock())?;
            store.reached(Step::CorruptRenamed);
            (receipt::unavailable_snapshot(text, Some(&format!("{text}/{name}"))), Some(name))
        }
    })
}

/// The dead owner as the receipt names it.
pub(crate) fn dead(claim: &Claim) -> DeadOwner {
    let lock = claim.lock();
    DeadOwner {
        pid: Integer::from(i64::from(lock.owner.pid)),
        workspace: lock.workspace.to_str().map(Text::from),
        acquired_at: Some(Text::from(lock.acquired_at.as_str())),
    }
}
