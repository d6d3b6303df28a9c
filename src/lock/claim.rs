//! Recovery's side: to claim the lock of a dead owner, and to remove it.
//!
//! A claim outlives its transaction: files are restored between the one that sets it and the one that removes the row.
//! While it stands no write is accepted. A recovery that dies in between leaves the claim, and the next takes it over.

use rusqlite::{Transaction, named_params};

use super::judge::Judge;
use super::own::refuse_live;
use super::row::{self, Lock};
use crate::clock::{self, Clock, store_time};
use crate::db::{change_one, column};
use crate::error::{Error, LockError, Result};
use crate::id::RunId;
use crate::process::Identity;

/// How many random bytes name a claim.
const CLAIM_ID_BYTES: usize = 16;

/// A claim that the caller has set, and the lock as it was found.
#[derive(Debug)]
pub(crate) struct Claim {
    id: String,
    lock: Lock,
}

impl Claim {
    /// The lock that is claimed, its dead owner and the time at which it was taken included.
    pub(crate) fn lock(&self) -> &Lock {
        &self.lock
    }
}

/// The lock of `run_id`, where it may be claimed; nothing changes.
///
/// # Errors
/// As [`claim`].
pub(crate) fn claimable(transaction: &Transaction<'_>, judge: &Judge<'_>, run_id: &RunId) -> Result<Lock> {
    let found = row::find(transaction, Some(run_id), None)?
        .ok_or_else(|| LockError::NotLocked { run_id: run_id.clone() })?;
    let lock = found.map_err(LockError::from)?;
    refuse_live(judge, &lock)?;
    Ok(lock)
}

/// Claims the lock of `run_id` for the process `claimer`. A dead claimer's claim is taken over, and stands no more.
///
/// # Errors
/// [`LockError`]: `NotLocked`; `Held`, `OwnerUnknown` or `OwnerVisible` where the owner is not dead; `Claimed` by a
/// process that is not; `Unreadable`.
pub(crate) fn claim(
    transaction: &Transaction<'_>,
    clock: &dyn Clock,
    judge: &Judge<'_>,
    run_id: &RunId,
    claimer: &Identity,
) -> Result<Claim> {
    let lock = claimable(transaction, judge, run_id)?;
    let id =
        clock::random_hex(clock, CLAIM_ID_BYTES).map_err(Error::io("get random bytes from", "the system"))?;
    change_one(
        transaction,
        include_str!("sql/claim.sql"),
        named_params! {
            ":run_id": run_id.as_str(),
            ":claim_id": id,
            ":claimed_at": store_time(judge.now),
            ":pid": claimer.pid,
            ":start_time": claimer.start_time,
            ":boot_id": claimer.boot_id,
            ":machine_id": claimer.machine_id,
            ":host_name": claimer.host_name,
            ":pid_namespace": claimer.pid_namespace,
        },
    )?;
    Ok(Claim { id, lock })
}

/// Whether `claim` still is the one on the lock's row.
///
/// # Errors
/// The store's own.
pub(crate) fn claim_stands(transaction: &Transaction<'_>, claim: &Claim) -> Result<bool> {
    let mut statement = transaction.prepare_cached(include_str!("sql/claim_stands.sql"))?;
    Ok(statement.query_row(named_params! { ":claim_id": claim.id }, |row| column(row, 0))?)
}

/// Gives `claim` back: the lock is its dead owner's again. Says whether the claim stood until now.
///
/// # Errors
/// The store's own.
pub(crate) fn unclaim(transaction: &Transaction<'_>, claim: &Claim) -> Result<bool> {
    end_claim(transaction, include_str!("sql/unclaim.sql"), claim)
}

/// Removes the lock that `claim` stands on. Says whether the claim stood until now; else nothing is removed.
///
/// # Errors
/// The store's own.
pub(crate) fn remove_claimed(transaction: &Transaction<'_>, claim: &Claim) -> Result<bool> {
    end_claim(transaction, include_str!("sql/remove_claimed.sql"), claim)
}

fn end_claim(transaction: &Transaction<'_>, sql: &str, claim: &Claim) -> Result<bool> {
    let stands = claim_stands(transaction, claim)?;
    if stands {
        change_one(transaction, sql, named_params! { ":claim_id": claim.id })?;
    }
    Ok(stands)
}

/// Removes the lock of `run_id` where its owner is dead, and a claim's process too. For a run that has ended: there
/// is nothing left to recover. Says whether a lock was removed.
///
/// # Errors
/// The store's own. A lock that is live, claimed or unreadable is left, and is no error.
pub(crate) fn clear_dead(transaction: &Transaction<'_>, judge: &Judge<'_>, run_id: &RunId) -> Result<bool> {
    match row::find(transaction, Some(run_id), None)? {
        Some(Ok(lock)) if refuse_live(judge, &lock).is_ok() => {
            let of_run = named_params! { ":run_id": run_id.as_str() };
            change_one(transaction, include_str!("sql/clear.sql"), of_run)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}
