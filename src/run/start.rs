//! Beginning a run, or taking one up again.
//!
//! One transaction enters the run, takes the workspace's lock and journals the opening snapshot; then run.json is
//! exported. A crash before the commit leaves at most an empty run directory; one after it leaves a run in status
//! `started` with a lock: the same start again goes on with it if its caller brought the token, else recovery ends it
//! once the owner is dead.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::Transaction;

use crate::clock::store_time;
use crate::db::Store;
use crate::error::{Error, LockError, Result, RunError};
use crate::id::RunId;
use crate::json::Object;
use crate::lock::{self, Judge, OwnerToken, Taken};
use crate::process::Identity;
use crate::publish;
use crate::receipt;
use crate::step::Step;

use super::directory;
use super::file::{self, OnDisk};
use super::snapshot::{self, Opening};
use super::status;
use super::table::{self, Run};
use super::terminalize;
use super::write::{Credentials, Draft, Placed, Written, place, place_again};

/// How often `wait` looks whether the lock is free.
const POLL: Duration = Duration::from_millis(200);

/// What a run is begun with.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// Its id.
    pub run_id: RunId,
    /// What it is to do; empty if nobody says. A resumed run keeps the task that it has.
    pub task: String,
    /// Where it works: the workspace is the git root of this, else this itself.
    pub cwd: PathBuf,
    /// A folder inside that workspace that takes a lock of its own. `None`: the workspace itself, or the folder that a
    /// resumed run was started in.
    pub workspace: Option<PathBuf>,
    /// Its run directory; `None`: `runs/<run id>` beside the store, for a resumed run the one that it has.
    pub run_dir: Option<PathBuf>,
    /// The process that owns the lock: one that lives as long as the run's legs go on.
    pub owner_pid: u32,
    /// How long the lock stays live without any process after the last write.
    pub lease: Option<Duration>,
    /// The token that the caller brings, so that it can call again after a failure; `None`: a new one is made.
    pub token: Option<OwnerToken>,
    /// Whether the run keeps a journal.
    pub journal: bool,
    /// Whether the run is known and taken up again.
    pub resume: bool,
    /// How long to wait for the workspace's lock.
    pub wait: Duration,
}

/// A run that has begun.
#[derive(Debug)]
pub struct Started {
    /// The run.
    pub run_id: RunId,
    /// Its run directory, absolute and real.
    pub run_dir: PathBuf,
    /// The token of its lock: kept nowhere else.
    pub token: OwnerToken,
    /// The opening snapshot; of a replay the run's last one.
    pub written: Written,
}

/// Begins a run: enters it, takes the lock, writes `started`.
///
/// The same start again, with the token that its caller brings, is a replay: it writes no event, exports the last snapshot
/// and answers the same.
///
/// A dead owner's lock is taken over if its run has no journal; that run is ended first, as recovery would.
///
/// # Errors
/// [`RunError::Exists`] (without `resume`), [`RunError::Unknown`] (with it), [`RunError::DirectoryTaken`],
/// [`RunError::DeadOwner`]; a live owner's lock, [`LockError::HeldByItself`] if that is the run's own;
/// [`RecoveryError::DirectoryGone`](crate::error::RecoveryError::DirectoryGone) if a run that is to be resumed was
/// moved and no directory is given; and as [`super::write`]. [`RunError::Export`]: the run has begun and run.json could
/// not be written. A caller that brought its token holds the lock then, and may call again. Else the lock is released,
/// for the token is lost with the error; the run can be resumed.
pub fn start(store: &Store, request: &StartRequest) -> Result<Started> {
    store.settle()?;
    let workspace = workspace(store, request)?;
    let wanted = wanted_directory(store, request)?;
    let (wanted, made) = file::make_run_dir(&wanted)?;
    let begun = with_lock(store, request, &workspace, &wanted);
    let is_used = begun.as_ref().is_ok_and(|(_, placed)| placed.run_dir() == wanted);
    if made && !is_used {
        // Only an empty directory goes: what is not ours is never removed.
        let _ = std::fs::remove_dir(&wanted);
    }
    let (token, placed) = begun?;
    publish::remove_leftovers(placed.run_dir(), file::RUN_JSON);
    store.reached(Step::Committed);
    let run_dir = placed.run_dir().to_path_buf();
    let credentials = Credentials { token: Some(token), owner_pid: Some(request.owner_pid) };
    let written = placed.export(store, &credentials).inspect_err(|_| {
        // A lock for which nobody has the token would stay as long as the owner lives.
        if request.token.is_none() {
            let _ = let_go(store, &request.run_id, &credentials);
        }
    })?;
    let token = credentials.token.ok_or_else(|| RunError::NotOwner(request.run_id.to_string()))?;
    Ok(Started { run_id: request.run_id.clone(), run_dir, token, written })
}

/// The workspace to lock.
fn workspace(store: &Store, request: &StartRequest) -> Result<PathBuf> {
    let around = lock::workspace_of(&request.cwd)?;
    if let Some(folder) = &request.workspace {
        return lock::workspace_within(&around, &request.cwd.join(folder));
    }
    if request.resume
        && let Some(run) = store.read(|tx| table::find(tx, &request.run_id))?
        && let Some(own) = run.workspace.filter(|own| own.starts_with(&around) && own.is_dir())
    {
        return Ok(own);
    }
    Ok(around)
}

/// Lets the run's lock go and leaves the run as it is: for a caller that can't hand its token on. The run can be taken up
/// again.
///
/// # Errors
/// As a write with these `credentials`: the lock is another's, or there is none.
pub fn let_go(store: &Store, run_id: &RunId, credentials: &Credentials) -> Result<()> {
    store.write(|tx| lock::release(tx, lock::hold(tx, run_id, credentials.token.as_ref())?))
}

/// Enters a run and takes its lock without writing a snapshot: for a caller that writes the first one itself.
///
/// `run_dir` is made (0700) where it is missing, and may hold a run.json already: the first write then decides by it
/// whether the run gets a journal. The lock is that of the workspace of `cwd`.
///
/// # Errors
/// [`RunError::Exists`], [`RunError::DirectoryTaken`], [`RunError::DeadOwner`]; a live owner's lock;
/// [`crate::Error::Io`].
pub fn register(
    store: &Store,
    run_id: &RunId,
    run_dir: &Path,
    cwd: &Path,
    owner_pid: u32,
) -> Result<OwnerToken> {
    let workspace = lock::workspace_of(cwd)?;
    let (run_dir, _) = file::make_run_dir(run_dir)?;
    store.write(|tx| {
        table::insert(tx, run_id, &run_dir, &workspace, &store_time(store.clock().now()))?;
        let owner = Identity::of(owner_pid, store.processes());
        let workspace = &workspace;
        take_lock(tx, store, &lock::Request { workspace, run_id, owner: &owner, lease: None, token: None })
    })
}

fn take_lock(tx: &Transaction<'_>, store: &Store, wanted: &lock::Request<'_>) -> Result<OwnerToken> {
    let taken = lock::take(tx, store.clock(), &Judge::new(store), wanted);
    match taken.map_err(|error| own(error, wanted.run_id))? {
        Taken::Token(token) => Ok(token),
        Taken::DeadOwner(lock) => {
            let journaled = table::get(tx, &lock.run_id)?.journaled;
            Err(RunError::DeadOwner { run_id: lock.run_id, pid: lock.owner.pid, journaled }.into())
        }
    }
}

/// A lock that keeps out the run that holds it is named as that.
fn own(error: Error, run_id: &RunId) -> Error {
    match error {
        Error::Lock(LockError::Held { owner, why }) if owner.run_id == *run_id => {
            LockError::HeldByItself { owner, why }.into()
        }
        other => other,
    }
}

fn wanted_directory(store: &Store, request: &StartRequest) -> Result<PathBuf> {
    if let Some(run_dir) = &request.run_dir {
        return Ok(request.cwd.join(run_dir));
    }
    let known = match request.resume {
        true => {
            let run = store.read(|tx| table::get(tx, &request.run_id))?;
            directory::check_not_moved(store.folder(), &run)?;
            run.run_dir
        }
        false => None,
    };
    Ok(known.unwrap_or_else(|| store.folder().join("runs").join(request.run_id.as_str())))
}

/// Tries until the lock is free, for `request.wait` at most.
fn with_lock(
    store: &Store,
    request: &StartRequest,
    workspace: &Path,
    run_dir: &Path,
) -> Result<(OwnerToken, Placed)> {
    // A wait beyond what the calendar can tell is one without an end.
    let wait = TimeDelta::from_std(request.wait).unwrap_or(TimeDelta::MAX);
    let deadline = store.clock().now().checked_add_signed(wait).unwrap_or(DateTime::<Utc>::MAX_UTC);
    loop {
        match store.write(|tx| attempt(tx, store, request, workspace, run_dir)) {
            Err(Error::Run(RunError::DeadOwner { run_id, journaled: false, .. })) => {
                terminalize::dead_owner(store, &run_id)?;
            }
            Err(Error::Lock(error)) if error.may_become_free() && store.clock().now() < deadline => {
                store.clock().sleep(POLL)
            }
            answer => return answer,
        }
    }
}

/// One try, to be committed only where it gives a token.
fn attempt(
    tx: &Transaction<'_>,
    store: &Store,
    request: &StartRequest,
    workspace: &Path,
    run_dir: &Path,
) -> Result<(OwnerToken, Placed)> {
    let now = store.clock().now();
    let known = table::find(tx, &request.run_id)?;
    if let (Some(run), Some(token)) = (&known, &request.token)
        && lock::is_held_with(tx, &run.run_id, token)?
    {
        return again(tx, store, request, run, token);
    }
    match (&known, request.resume) {
        (Some(_), false) => return Err(RunError::Exists(request.run_id.to_string()).into()),
        (None, true) => return Err(RunError::Unknown(request.run_id.to_string()).into()),
        (None, false) => {
            if file::read(run_dir)? != OnDisk::Missing {
                let path = run_dir.to_path_buf();
                return Err(RunError::DirectoryTaken { path, rule: "it holds a run.json" }.into());
            }
            table::insert(tx, &request.run_id, run_dir, workspace, &store_time(now))?;
        }
        (Some(_), true) => table::move_to(tx, &request.run_id, run_dir, workspace)?,
    }
    let owner = Identity::of(request.owner_pid, store.processes());
    let wanted = lock::Request {
        workspace,
        run_id: &request.run_id,
        owner: &owner,
        lease: request.lease,
        token: request.token.as_ref(),
    };
    let token = take_lock(tx, store, &wanted)?;
    let run = table::get(tx, &request.run_id)?;
    let object = first_snapshot(tx, store, request, &run, workspace, run_dir)?;
    let credentials = Credentials { token: Some(token), owner_pid: Some(request.owner_pid) };
    let placed = place(tx, store, &run, Draft::of(object), &credentials)?;
    let token = credentials.token.ok_or_else(|| RunError::NotOwner(request.run_id.to_string()))?;
    Ok((token, placed))
}

/// The caller holds the run's lock already: an earlier call of the same start took it. Nothing is written anew, but a run
/// that has ended under its lock is resumed if that is asked for.
fn again(
    tx: &Transaction<'_>,
    store: &Store,
    request: &StartRequest,
    run: &Run,
    token: &OwnerToken,
) -> Result<(OwnerToken, Placed)> {
    let credentials = Credentials { token: Some(token.clone()), owner_pid: Some(request.owner_pid) };
    let base = status::base(tx, run)?;
    let placed = if !receipt::is_terminal(&base) {
        match place_again(tx, store, run, &credentials)? {
            Some(placed) => placed,
            None => place(tx, store, run, Draft::of(base), &credentials)?,
        }
    } else if request.resume {
        let run_dir = file::utf8(run.directory()?)?;
        let resumed = snapshot::resumed(&base, run_dir, store.clock().now());
        place(tx, store, run, Draft::of(resumed), &credentials)?
    } else {
        return Err(RunError::Exists(request.run_id.to_string()).into());
    };
    Ok((token.clone(), placed))
}

fn first_snapshot(
    tx: &Transaction<'_>,
    store: &Store,
    request: &StartRequest,
    run: &Run,
    workspace: &Path,
    run_dir: &Path,
) -> Result<Object> {
    let now = store.clock().now();
    let run_dir = file::utf8(run_dir)?;
    if request.resume {
        return Ok(snapshot::resumed(&status::base(tx, run)?, run_dir, now));
    }
    let opening = Opening {
        task: &request.task,
        cwd: file::utf8(&request.cwd)?,
        workspace: file::utf8(workspace)?,
        run_dir,
        journal: request.journal,
    };
    Ok(snapshot::opening(&opening, now))
}
