//! What is to be done to a stale run with a journal, and doing it (contract recovery.md, Recovery, 5).
//!
//! [`Plan`] is the decision, pure: from what was validated and what run.json is. A dry run lists it, a recovery carries
//! it out, so that both say the same.

use rusqlite::Transaction;

use crate::clock::{offset_time, to_micros};
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{RecoveryError, Result};
use crate::event::Head;
use crate::id::RunId;
use crate::journal;
use crate::json::{self, Object};
use crate::lock::{self, Claim};
use crate::receipt;
use crate::run::file::{self, ExportLock, OnDisk};
use crate::run::last::was_snapshot;
use crate::run::terminalize::{Place, dead};
use crate::run::{receipts, table};
use crate::step::Step;

use super::outcome::Action;
use super::validate::{Validated, validate};

/// What becomes of run.json.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    /// The label under which the present file is kept.
    keep: Option<&'static str>,
    /// Whether the store's last snapshot is put back.
    restore: bool,
    /// Whether a receipt is made.
    receipt: bool,
}

impl Plan {
    /// `superseded`: run.json was a snapshot of this run.
    fn of(validated: &Validated, on_disk: &OnDisk, superseded: bool) -> Self {
        let last = &validated.last;
        let (keep, restore) = match on_disk {
            OnDisk::Missing => (None, true),
            OnDisk::Unparseable(_) => (Some("corrupt"), true),
            OnDisk::Snapshot(bytes, _) if *bytes == last.bytes => (None, false),
            OnDisk::Snapshot(_, _) if superseded => (None, true),
            OnDisk::Snapshot(_, object) if !receipt::is_terminal(object) => {
                // Never a snapshot of this run. A receipt replaces it: one that is made of it, or the stored one if the run
                // has ended.
                (Some("replaced"), receipt::is_terminal(&last.object))
            }
            OnDisk::Snapshot(_, _) => (None, false),
        };
        let base = if restore { &last.object } else { on_disk.object().unwrap_or(&last.object) };
        Self { keep, restore, receipt: !receipt::is_terminal(base) }
    }

    /// The steps in order, before any is done.
    fn actions(self, validated: &Validated) -> Vec<Action> {
        let last = &validated.last;
        let mut actions = Vec::new();
        let mut keep = self.keep.map(|label| Action::KeepFile { label, name: None });
        if self.restore {
            actions.extend(keep.take());
            actions.push(if last.is_receipt {
                Action::ExportReceipt { sha256: Some(last.sha256) }
            } else {
                Action::Restore { sha256: last.sha256 }
            });
        }
        if self.receipt {
            actions.push(Action::StoreReceipt { sha256: None });
            actions.extend(keep);
            actions.push(Action::ExportReceipt { sha256: None });
        }
        actions
    }
}

/// What [`mend`] would do.
///
/// # Errors
/// As [`validate`].
pub(super) fn planned(tx: &Transaction<'_>, run_id: &RunId, on_disk: &OnDisk) -> Result<Vec<Action>> {
    let validated = validate(tx, run_id)?;
    let plan = Plan::of(&validated, on_disk, is_superseded(tx, run_id, on_disk)?);
    let mut actions = vec![Action::Validate { events: validated.head.sequence }];
    actions.extend(plan.actions(&validated));
    Ok(actions)
}

fn is_superseded(tx: &Transaction<'_>, run_id: &RunId, on_disk: &OnDisk) -> Result<bool> {
    on_disk.bytes().map_or(Ok(false), |bytes| was_snapshot(tx, run_id, Digest::of(bytes)))
}

/// Brings a claimed run to its end under its export lock, and tells each step to `done`. Gives the snapshot that ends it.
/// `made`: the run directory was made for this.
///
/// # Errors
/// [`RecoveryError`] before anything was changed; [`crate::Error::Io`]. The caller gives the claim back.
pub(super) fn mend(
    store: &Store,
    run_id: &RunId,
    claim: &Claim,
    place: &Place,
    export: &ExportLock,
    made: bool,
    done: &mut Vec<Action>,
) -> Result<Object> {
    // Under the claim no write is accepted, so that this holds until the receipt's transaction asks for the tail again.
    let validated = store.read(|tx| validate(tx, run_id))?;
    done.push(Action::Validate { events: validated.head.sequence });
    let on_disk = file::read(&place.run_dir)?;
    let superseded = store.read(|tx| is_superseded(tx, run_id, &on_disk))?;
    if made {
        done.push(Action::MakeDirectory);
    }
    let plan = Plan::of(&validated, &on_disk, superseded);
    restore(store, export, plan, &validated, done)?;
    let base = match on_disk {
        OnDisk::Snapshot(_, object) if !plan.restore => object,
        _ => validated.last.object,
    };
    let end = if plan.receipt { new_receipt(&base, claim, store) } else { None };
    if let Some(end) = &end {
        store.write(|tx| {
            check_unmoved(tx, run_id, claim, validated.head)?;
            receipts::keep(tx, run_id, validated.head.sequence, &end.recovered_at, &end.object, &end.bytes)?;
            table::note_snapshot(tx, run_id, &end.object)
        })?;
        let sha256 = Some(Digest::of(&end.bytes));
        done.push(Action::StoreReceipt { sha256 });
        store.reached(Step::ReceiptStored);
        let keep = plan.keep.filter(|_| !plan.restore);
        let kept = export.replace(store, &end.bytes, keep)?;
        done.extend(keep.map(|label| Action::KeepFile { label, name: kept }));
        done.push(Action::ExportReceipt { sha256 });
        store.reached(Step::ReceiptExported);
    }
    store.write(|tx| remove_lock(tx, run_id, claim, place))?;
    if place.moved {
        done.push(Action::Relocate);
    }
    done.push(Action::RemoveLock);
    Ok(end.map_or(base, |end| end.object))
}

/// Puts the store's last snapshot back, where the plan says so.
fn restore(
    store: &Store,
    export: &ExportLock,
    plan: Plan,
    validated: &Validated,
    done: &mut Vec<Action>,
) -> Result<()> {
    if !plan.restore {
        return Ok(());
    }
    let last = &validated.last;
    let kept = export.replace(store, &last.bytes, plan.keep)?;
    done.extend(plan.keep.map(|label| Action::KeepFile { label, name: kept }));
    if last.is_receipt {
        done.push(Action::ExportReceipt { sha256: Some(last.sha256) });
        store.reached(Step::ReceiptExported);
    } else {
        done.push(Action::Restore { sha256: last.sha256 });
        store.reached(Step::Restored);
    }
    Ok(())
}

struct NewReceipt {
    recovered_at: String,
    object: Object,
    bytes: Vec<u8>,
}

fn new_receipt(base: &Object, claim: &Claim, store: &Store) -> Option<NewReceipt> {
    let recovered_at = offset_time(to_micros(store.clock().now()));
    let object = receipt::receipt(base, &dead(claim), &recovered_at, true)?;
    let bytes = json::snapshot_bytes(&object);
    Some(NewReceipt { recovered_at, object, bytes })
}

/// That claim and journal are those that were validated.
fn check_unmoved(tx: &Transaction<'_>, run_id: &RunId, claim: &Claim, head: Head) -> Result<()> {
    if !lock::claim_stands(tx, claim)? {
        return Err(RecoveryError::ClaimLost { run_id: run_id.clone() }.into());
    }
    let tail = journal::tail(tx, run_id.as_str())?;
    if tail.sequence != head.sequence || tail.digest != Some(head.digest) {
        return Err(RecoveryError::JournalMoved { run_id: run_id.clone() }.into());
    }
    Ok(())
}

fn remove_lock(tx: &Transaction<'_>, run_id: &RunId, claim: &Claim, place: &Place) -> Result<()> {
    if !lock::remove_claimed(tx, claim)? {
        return Err(RecoveryError::ClaimLost { run_id: run_id.clone() }.into());
    }
    if place.moved {
        table::relocate(tx, run_id, &place.run_dir)?;
    }
    Ok(())
}

/// Exports the last snapshot of a run that has ended again (contract recovery.md, Recovery, 1), under no claim: what is
/// exported does not depend on who holds the lock.
///
/// # Errors
/// As [`validate`]; [`crate::Error::Io`].
pub(super) fn export_again(
    store: &Store,
    run_id: &RunId,
    place: &Place,
    done: &mut Vec<Action>,
) -> Result<()> {
    // Before a directory is made for a run that will be refused; and again, because the run may have been taken up.
    store.read(|tx| validate(tx, run_id))?;
    let made = !place.run_dir.is_dir();
    let export = place.lock(store)?;
    let validated = store.read(|tx| validate(tx, run_id))?;
    let on_disk = file::read(&place.run_dir)?;
    if !receipt::is_terminal(&validated.last.object) || on_disk.object().is_some() {
        return Ok(());
    }
    done.push(Action::Validate { events: validated.head.sequence });
    if made {
        done.push(Action::MakeDirectory);
    }
    restore(store, &export, Plan::of(&validated, &on_disk, false), &validated, done)
}
