//! A new status for a run: the store's last snapshot with that status, through the write path.

use rusqlite::Transaction;

use crate::db::Store;
use crate::error::{Error, LockError, Result, RunError};
use crate::id::RunId;
use crate::json::{Object, Value};
use crate::lock;
use crate::publish;
use crate::receipt;
use crate::step::Step;

use super::export::put_back;
use super::file::{self, OnDisk};
use super::last::last_snapshot;
use super::snapshot::{self, Failure};
use super::table::Run;
use super::write::{Credentials, Draft, Written, write_with};

/// A change of status.
#[derive(Debug, Clone, Default)]
pub struct StatusChange {
    /// One of [`super::known_statuses`].
    pub status: String,
    /// Why the run failed, where it did.
    pub failure: Option<Failure>,
    /// Keys of the snapshot to set beside it; never `status`, which is left out.
    pub set: Vec<(String, Value)>,
}

/// Writes the run's last snapshot with a new status, `status_started_at` and, where it ends the run, `finished_at` and
/// `duration_seconds` (contract store.md, Commands).
///
/// # Errors
/// [`RunError::UnknownStatus`]; [`RunError::Ended`] for a status that would make an ended run go on, and for any
/// once a run with a journal has let its lock go;
/// [`RunError::NoSnapshot`]; and as [`super::write`].
pub fn set_status(
    store: &Store,
    run_id: &RunId,
    change: &StatusChange,
    credentials: &Credentials,
) -> Result<Written> {
    if !snapshot::known_statuses().any(|known| known == change.status) {
        let known = snapshot::known_statuses().collect::<Vec<_>>().join(", ");
        return Err(RunError::UnknownStatus { status: change.status.clone(), known }.into());
    }
    write_with(store, run_id, credentials, |tx, run| {
        let base = base(tx, run)?;
        let locked = has_lock(tx, run_id)?;
        // Without a journal a run may be written to without a lock, as the legacy programs do.
        if receipt::is_terminal(&base) && (!snapshot::ends_run(&change.status) || (run.journaled && !locked))
        {
            return Err(ended(run_id, &base, locked).into());
        }
        let now = store.clock().now();
        let next = snapshot::with_status(&base, &change.status, change.failure.as_ref(), &change.set, now);
        Ok(Draft::of(next))
    })
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The end that was written now; `None`: the run had ended before.
    pub written: Option<Written>,
    /// The name, in the run directory, under which a run.json was kept that was never a snapshot of the run.
    pub kept_as: Option<String>,
}

impl From<Written> for Finished {
    fn from(written: Written) -> Self {
        let kept_as = written.kept_as.clone();
        Self { written: Some(written), kept_as }
    }
}

/// Ends the run and lets its lock go. `change` None: a run that has ended keeps its status, any other ends `ok`.
/// A run that has ended so and holds no lock any more stays so: a caller that did not hear the answer may ask again.
///
/// The end is in run.json before the lock goes. A crash or a failed export before that leaves an ended run with a lock;
/// the same call again, or recovery, exports the end and lets the lock go. A run.json that is another file is kept as
/// `run.json.replaced-<32 hex>` then.
///
/// # Errors
/// [`RunError::NotTerminal`]; [`RunError::Ended`] where it has ended with another status and let its lock go;
/// [`RunError::Unreleased`]; and as [`set_status`].
pub fn finish(
    store: &Store,
    run_id: &RunId,
    change: Option<&StatusChange>,
    credentials: &Credentials,
) -> Result<Finished> {
    if let Some(run_dir) = store.read(|tx| super::table::get(tx, run_id))?.run_dir {
        publish::remove_leftovers(&run_dir, file::RUN_JSON);
    }
    if has_finished(store, run_id, change)? {
        return show_end(store, run_id);
    }
    let finished = match change {
        Some(change) => {
            let known = snapshot::known_statuses().any(|known| known == change.status);
            if known && !snapshot::ends_run(&change.status) {
                return Err(RunError::NotTerminal(change.status.clone()).into());
            }
            set_status(store, run_id, change, credentials)?.into()
        }
        None if has_ended(store, run_id)? => {
            // Nobody may write this run without a lock: shown first, then let go.
            store.read(|tx| lock::hold(tx, run_id, credentials.token.as_ref()).map(drop))?;
            show_end(store, run_id)?
        }
        None => {
            let ok = StatusChange { status: "ok".to_owned(), ..StatusChange::default() };
            set_status(store, run_id, &ok, credentials)?.into()
        }
    };
    store.reached(Step::BeforeRelease);
    let released = store.write(|tx| lock::release(tx, lock::hold(tx, run_id, credentials.token.as_ref())?));
    match released {
        Ok(()) => Ok(finished),
        Err(source @ (Error::Store(_) | Error::Io { .. })) => {
            Err(RunError::Unreleased { run_id: run_id.to_string(), source: Box::new(source) }.into())
        }
        Err(refusal) => Err(refusal),
    }
}

/// Puts the end of a run into run.json where an earlier call committed it and could not.
fn show_end(store: &Store, run_id: &RunId) -> Result<Finished> {
    let run = store.read(|tx| super::table::get(tx, run_id))?;
    let kept_as = match run.journaled && run.run_dir.is_some() {
        true => put_back(store, &run, |_| Ok(()))?.kept_as,
        false => None,
    };
    Ok(Finished { written: None, kept_as })
}

/// Whether a finish with `change` was done already: the run has ended, with that status, and its lock is gone.
///
/// # Errors
/// [`RunError::Ended`] where it has ended with another one.
fn has_finished(store: &Store, run_id: &RunId, change: Option<&StatusChange>) -> Result<bool> {
    store.read(|tx| {
        let run = super::table::get(tx, run_id)?;
        if has_lock(tx, run_id)? {
            return Ok(false);
        }
        let base = base(tx, &run)?;
        match change {
            _ if !receipt::is_terminal(&base) => Ok(false),
            Some(change) if status_of(&base) != Some(change.status.as_str()) => {
                Err(ended(run_id, &base, false).into())
            }
            _ => Ok(true),
        }
    })
}

fn has_lock(tx: &Transaction<'_>, run_id: &RunId) -> Result<bool> {
    match lock::hold(tx, run_id, None) {
        Err(Error::Lock(LockError::NotLocked { .. })) => Ok(false),
        // Whatever else is refused to a caller without a token is refused for the lock that there is.
        Ok(_) | Err(Error::Lock(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

fn ended(run_id: &RunId, base: &Object, locked: bool) -> RunError {
    let status = status_of(base).unwrap_or("finished").to_owned();
    RunError::Ended { run_id: run_id.to_string(), status, locked }
}

fn status_of(snapshot: &Object) -> Option<&str> {
    snapshot.get("status".as_bytes()).and_then(Value::as_str)
}

/// Whether the run's last snapshot is terminal.
///
/// # Errors
/// [`RunError::Unknown`], [`RunError::NoSnapshot`].
pub fn has_ended(store: &Store, run_id: &RunId) -> Result<bool> {
    store.read(|tx| {
        let run = super::table::get(tx, run_id)?;
        Ok(receipt::is_terminal(&base(tx, &run)?))
    })
}

/// The snapshot to go on from: the store's last, without a journal run.json.
pub(super) fn base(tx: &Transaction<'_>, run: &Run) -> Result<Object> {
    let no_snapshot = |fault| -> Result<RunError> {
        let path = run.directory()?.join(file::RUN_JSON);
        Ok(RunError::NoSnapshot { run_id: run.run_id.to_string(), path, fault })
    };
    if let Some(last) = last_snapshot(tx, &run.run_id)? {
        return match last.object() {
            Some(object) => Ok(object),
            None => Err(no_snapshot("the checkpoint in the store is not a JSON object")?.into()),
        };
    }
    match file::read(run.directory()?)? {
        OnDisk::Snapshot(_, object) => Ok(object),
        OnDisk::Missing => Err(no_snapshot("it is missing")?.into()),
        OnDisk::Unparseable(_) => Err(no_snapshot("it is not a JSON object")?.into()),
    }
}
