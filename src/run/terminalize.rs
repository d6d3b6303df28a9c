//! Ending a run without a journal whose owner is dead: the legacy way (contract recovery.md, Recovery, 6).
//!
//! The lock's row is claimed in one transaction; then, with no transaction open, an unparseable run.json is set aside
//! and the failure receipt replaces run.json; then one transaction keeps the receipt, notes the status and removes the
//! row. A crash anywhere leaves a claimed row of a dead claimer, which the next caller takes over: it finds the
//! receipt in run.json (terminal: nothing is made anew) or makes it.

use crate::clock::offset_time;
use crate::db::Store;
use crate::error::Result;
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
pub(crate) enum Ended {
    /// The receipt was written; its status before.
    Receipt,
    /// The run was terminal already; only the lock was removed.
    WasTerminal,
}

/// Ends `run_id` and removes its lock.
///
/// # Errors
/// The lock's refusals (a live owner, a live claimer); [`crate::Error::Io`], the claim is given back then.
pub(crate) fn dead_owner(store: &Store, run_id: &RunId) -> Result<Ended> {
    let judge = Judge::new(store);
    let claimer = store.processes().current();
    let claim = store.write(|tx| lock::claim(tx, store.clock(), &judge, run_id, &claimer))?;
    under_claim(store, run_id, &claim).inspect_err(|_| {
        // The first error is the one to tell; a claim that stays is taken over by the next caller.
        let _ = store.write(|tx| lock::unclaim(tx, &claim));
    })
}

/// [`dead_owner`] under a claim that the caller has taken.
pub(crate) fn under_claim(store: &Store, run_id: &RunId, claim: &Claim) -> Result<Ended> {
    store.reached(Step::Claimed);
    let run = store.read(|tx| table::get(tx, run_id))?;
    let run_dir = run.directory()?;
    let recovered_at = offset_time(crate::clock::to_micros(store.clock().now()));
    let ended = if run_dir.is_dir() {
        let export = ExportLock::take(run_dir, store.clock())?;
        let base = base(store, &export, run_dir)?;
        match receipt::receipt(&base, &dead(claim), &recovered_at, false) {
            Some(object) => {
                let bytes = json::snapshot_bytes(&object);
                export.replace(store, &bytes)?;
                Some((object, bytes))
            }
            None => None,
        }
    } else {
        // The directory is gone, and with it everything that a receipt could be put into.
        None
    };
    store.reached(Step::ReceiptExported);
    store.write(|tx| {
        if let Some((object, bytes)) = &ended {
            receipts::keep(tx, run_id, 0, &recovered_at, object, bytes)?;
            table::note_snapshot(tx, run_id, object)?;
        }
        lock::remove_claimed(tx, claim)?;
        Ok(())
    })?;
    Ok(if ended.is_some() { Ended::Receipt } else { Ended::WasTerminal })
}

/// The object that the receipt is made of: run.json, or what stands for it where there is none to read.
fn base(store: &Store, export: &ExportLock, run_dir: &std::path::Path) -> Result<Object> {
    let text = file::utf8(run_dir)?;
    Ok(match file::read(run_dir)? {
        OnDisk::Snapshot(_, object) => object,
        OnDisk::Missing => receipt::unavailable_snapshot(text, None),
        OnDisk::Unparseable(_) => {
            let name = export.set_aside("corrupt", store.clock())?;
            store.reached(Step::CorruptRenamed);
            receipt::unavailable_snapshot(text, Some(&name))
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
