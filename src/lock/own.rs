//! The owner's side: to take the lock, to prove it for a write, to keep it, to let it go.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, named_params};

use super::judge::{Judge, Verdict};
use super::row::{self, Lock, MAX_LEASE_SECONDS};
use super::token::OwnerToken;
use super::workspace::stored_path;
use crate::clock::{Clock, offset_time, store_time};
use crate::db::{change_one, column};
use crate::digest::Digest;
use crate::error::{Error, LockError, Result};
use crate::id::RunId;
use crate::process::Identity;

/// Who wants which lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The workspace, as [`workspace_of`](super::workspace_of) gives it.
    pub(crate) workspace: &'a Path,
    /// The run; its row must be in the store already.
    pub(crate) run_id: &'a RunId,
    /// The process that is to own the lock: a running one of this machine.
    pub(crate) owner: &'a Identity,
    /// For how long after each write the lock is to be live without any process; cut to whole seconds.
    pub(crate) lease: Option<Duration>,
    /// The token that the caller brings; `None`: a new one is made.
    pub(crate) token: Option<&'a OwnerToken>,
}

/// What came of taking a lock.
#[derive(Debug)]
pub(crate) enum Taken {
    /// The lock is the caller's, and this is its token.
    Token(OwnerToken),
    /// Nothing changed: the lock is that of a dead owner. Whose run has no journal may be ended and its lock removed
    /// (claim it first); one with a journal is for recovery alone.
    DeadOwner(Box<Lock>),
}

/// The proof that a caller may write a run: only [`hold`] makes one, and it is good in that transaction alone.
#[derive(Debug)]
pub(crate) struct Held(pub(super) Lock);

/// Takes the lock of a workspace for a run.
///
/// # Errors
/// [`LockError`]: `Held`, `OwnerUnknown`, `Claimed`, `Unreadable` by who has it; `LockedElsewhere` where the run has
/// the lock of another workspace; `OwnerNotRunning`, `Lease`, `TokenInUse` by what is asked for.
pub(crate) fn take(
    transaction: &Transaction<'_>,
    clock: &dyn Clock,
    judge: &Judge<'_>,
    request: &Request<'_>,
) -> Result<Taken> {
    if let Some(found) = row::find(transaction, None, Some(request.workspace))? {
        let lock = found.map_err(LockError::from)?;
        refuse_live(judge, &lock)?;
        return Ok(Taken::DeadOwner(Box::new(lock)));
    }
    if row::find(transaction, Some(request.run_id), None)?.is_some() {
        return Err(LockError::LockedElsewhere { run_id: request.run_id.clone() }.into());
    }
    // A pid that nobody has would be the name of whichever process gets it next.
    if matches!(judge.process(request.owner), Verdict::Dead(_)) {
        return Err(LockError::OwnerNotRunning { pid: request.owner.pid }.into());
    }
    let lease = request.lease.map(lease_seconds).transpose()?;
    let token = match request.token {
        Some(token) => unused(transaction, token)?,
        None => OwnerToken::mint(clock)?,
    };
    let owner = request.owner;
    change_one(
        transaction,
        include_str!("sql/insert.sql"),
        named_params! {
            ":workspace": stored_path(request.workspace)?,
            ":run_id": request.run_id.as_str(),
            ":token_sha256": token.digest().to_hex(),
            ":acquired_at": offset_time(judge.now),
            ":pid": owner.pid,
            ":start_time": owner.start_time,
            ":boot_id": owner.boot_id,
            ":machine_id": owner.machine_id,
            ":host_name": owner.host_name,
            ":pid_namespace": owner.pid_namespace,
            ":lease_seconds": lease,
            ":last_write_at": store_time(judge.now),
        },
    )?;
    Ok(Taken::Token(token))
}

/// A token that the caller brings: one token opens one lock.
fn unused(transaction: &Transaction<'_>, token: &OwnerToken) -> Result<OwnerToken> {
    match run_of_token(transaction, token.digest())? {
        Some(holder) => Err(LockError::TokenInUse { holder }.into()),
        None => Ok(token.clone()),
    }
}

/// Refuses where the lock's owner, or the recovery that has claimed it, lives or may live.
pub(super) fn refuse_live(judge: &Judge<'_>, lock: &Lock) -> Result<(), LockError> {
    if let Some(claimer) = &lock.claim {
        match judge.process(&claimer.identity) {
            Verdict::Dead(_) => {}
            Verdict::Live(_) | Verdict::Unknown(_) => {
                return Err(LockError::Claimed { claimer: lock.claimer_party(claimer) });
            }
        }
    }
    match judge.owner(lock) {
        Verdict::Dead(_) => Ok(()),
        Verdict::Live(why) => Err(LockError::Held { owner: lock.owner_party(), why }),
        Verdict::Unknown(_) if judge.owner_is_dead => {
            Err(LockError::OwnerVisible { owner: lock.owner_party() })
        }
        Verdict::Unknown(why) => Err(LockError::OwnerUnknown { owner: lock.owner_party(), why }),
    }
}

/// A lease in whole seconds, rounded down: it never holds longer than was asked for.
fn lease_seconds(lease: Duration) -> Result<i64, LockError> {
    if lease.as_secs() == 0 {
        return Err(LockError::Lease { rule: "it is shorter than a second" });
    }
    i64::try_from(lease.as_secs())
        .ok()
        .filter(|seconds| *seconds <= MAX_LEASE_SECONDS)
        .ok_or(LockError::Lease { rule: "it is longer than 366 days" })
}

/// Proves for a write that the caller holds the lock of `run_id`: the token is the lock's, and no recovery has
/// claimed it. Whether the owner's process lives does not matter (contract recovery.md, a run of many short calls).
///
/// # Errors
/// [`LockError`]: `NotLocked`, `NoToken`, `TokenOfAnotherRun`, `UnknownToken`, `Claimed`, `Unreadable`.
pub(crate) fn hold(
    transaction: &Transaction<'_>,
    run_id: &RunId,
    token: Option<&OwnerToken>,
) -> Result<Held> {
    let run = || run_id.clone();
    let Some(found) = row::find(transaction, Some(run_id), None)? else {
        return Err(LockError::NotLocked { run_id: run() }.into());
    };
    let lock = found.map_err(LockError::from)?;
    let Some(token) = token else {
        return Err(LockError::NoToken { run_id: run() }.into());
    };
    let digest = token.digest();
    if digest != lock.token {
        return Err(match run_of_token(transaction, digest)? {
            Some(holder) => LockError::TokenOfAnotherRun { run_id: run(), holder },
            None => LockError::UnknownToken { run_id: run() },
        }
        .into());
    }
    if let Some(claimer) = &lock.claim {
        return Err(LockError::Claimed { claimer: lock.claimer_party(claimer) }.into());
    }
    Ok(Held(lock))
}

/// Whether the lock of `run_id` has this token.
///
/// # Errors
/// [`LockError::Claimed`]: a recovery has claimed the lock, so that the token opens nothing at the moment.
pub(crate) fn is_held_with(
    transaction: &Transaction<'_>,
    run_id: &RunId,
    token: &OwnerToken,
) -> Result<bool> {
    match hold(transaction, run_id, Some(token)) {
        Ok(_) => Ok(true),
        Err(Error::Lock(error)) if !matches!(error, LockError::Claimed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The run whose lock has the token of this digest.
fn run_of_token(connection: &Connection, digest: Digest) -> Result<Option<RunId>> {
    let holder: Option<String> = connection
        .prepare_cached(include_str!("sql/find_token.sql"))?
        .query_row(named_params! { ":token_sha256": digest.to_hex() }, |row| column(row, 0))
        .optional()?;
    Ok(holder.and_then(|holder| RunId::parse(&holder).ok()))
}

/// Marks the write that `held` was proved for: the lease runs anew from `judge.now`, and where the owner's process is
/// dead, that of `pid` becomes the owner. Where it lives nothing else changes.
///
/// An owner of whom nothing can be told from here stays: it may live, and where it can be seen, an owner put in its
/// place would be the stranger. The write goes on, for it needs the token alone. A `pid` that nobody has is not put
/// on the row either: it would be the name of whichever process gets it next.
///
/// # Errors
/// The store's own.
pub(crate) fn rehome(transaction: &Transaction<'_>, held: &Held, judge: &Judge<'_>, pid: u32) -> Result<()> {
    let run_id = held.0.run_id.as_str();
    let touched = named_params! { ":run_id": run_id, ":last_write_at": store_time(judge.now) };
    change_one(transaction, include_str!("sql/touch.sql"), touched)?;
    if !matches!(judge.process(&held.0.owner), Verdict::Dead(_)) {
        return Ok(());
    }
    let heir = Identity::of(pid, judge.processes);
    if matches!(judge.process(&heir), Verdict::Dead(_)) {
        return Ok(());
    }
    change_one(
        transaction,
        include_str!("sql/rehome.sql"),
        named_params! {
            ":run_id": run_id,
            ":pid": heir.pid,
            ":start_time": heir.start_time,
            ":boot_id": heir.boot_id,
            ":machine_id": heir.machine_id,
            ":host_name": heir.host_name,
            ":pid_namespace": heir.pid_namespace,
        },
    )
}

/// Lets the lock go that `held` proves.
///
/// # Errors
/// The store's own.
pub(crate) fn release(transaction: &Transaction<'_>, held: Held) -> Result<()> {
    let of_run = named_params! { ":run_id": held.0.run_id.as_str() };
    change_one(transaction, include_str!("sql/release.sql"), of_run)
}
