//! How a run stands before anything is claimed, and which course recovery takes (contract recovery.md, Recovery, 1-4).
//!
//! One read transaction. The store is read before run.json: a recovery that is ending beside this one writes run.json
//! before it removes the lock, so whoever finds no lock finds the ended run too.

use std::path::PathBuf;

use rusqlite::{Transaction, named_params};

use crate::db::{Store, column};
use crate::digest::Digest;
use crate::error::{Error, RecoveryError, Result, RunError};
use crate::id::RunId;
use crate::json::{Object, Value};
use crate::lock::{self, Judge, LockState};
use crate::receipt;
use crate::run::Run;
use crate::run::directory;
use crate::run::file::{self, OnDisk};
use crate::run::last::{LastSnapshot, last_snapshot, was_snapshot};
use crate::run::table;
use crate::run::terminalize::Place;

use super::outcome::Options;

/// The run, its run.json, its last snapshot, its lock.
pub(super) struct Scene {
    run: Run,
    /// Whether the run has a journal: activated or not, where there are events.
    pub(super) journaled: bool,
    pub(super) place: Place,
    on_disk: OnDisk,
    /// Whether run.json is byte for byte a snapshot of this run that is not its last.
    superseded: bool,
    /// The store's last snapshot, where it ends the run.
    ending: Option<Object>,
    lock: LockState,
    /// The store's folder.
    folder: PathBuf,
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Course {
    /// The run has ended: its dead lock goes.
    Ended,
    /// The run has ended, and run.json does not say so: it is exported again.
    ExportAgain,
    /// The owner is dead and the run goes on.
    Stale,
}

/// The judge of this moment, with the operator's word.
pub(super) fn judge<'a>(store: &'a Store, options: &Options) -> Judge<'a> {
    Judge { owner_is_dead: options.owner_is_dead, ..Judge::new(store) }
}

impl Scene {
    /// Looks at `run_id`; changes nothing.
    ///
    /// # Errors
    /// [`RunError::Unknown`], [`RunError::NoDirectory`], [`RunError::DirectoryTaken`]; [`Error::Io`] where run.json is
    /// there and can't be read.
    pub(super) fn look(
        tx: &Transaction<'_>,
        store: &Store,
        run_id: &RunId,
        options: &Options,
    ) -> Result<Self> {
        let run = table::get(tx, run_id)?;
        let journaled = has_journal(tx, run_id)?;
        let last = if journaled { known_last(tx, run_id)? } else { None };
        let lock = lock::state_in(tx, &judge(store, options), run.workspace.as_deref(), run_id)?;
        let place = place(tx, &run, options)?;
        let on_disk = file::read(&place.run_dir)?;
        let superseded = match (&last, on_disk.bytes()) {
            (Some(last), Some(bytes)) if last.bytes != bytes => was_snapshot(tx, run_id, Digest::of(bytes))?,
            _ => false,
        };
        let ending = last.and_then(|last| last.object()).filter(receipt::is_terminal);
        Ok(Self {
            run,
            journaled,
            place,
            on_disk,
            superseded,
            ending,
            lock,
            folder: store.folder().to_path_buf(),
        })
    }

    /// The course to take.
    ///
    /// # Errors
    /// [`RecoveryError`]: `StillActive`, `ForeignLock`, `InvalidLock`, `NoLock`; `DirectoryGone`.
    pub(super) fn course(&self) -> Result<Course> {
        let course = match &self.on_disk {
            OnDisk::Missing | OnDisk::Unparseable(_) if self.ending.is_some() => Course::ExportAgain,
            OnDisk::Snapshot(_, object) if receipt::is_terminal(object) && !self.superseded => Course::Ended,
            _ => {
                self.gate()?;
                Course::Stale
            }
        };
        if course != Course::Ended && !self.place.moved {
            directory::check_not_moved(&self.folder, &self.run)?;
        }
        Ok(course)
    }

    /// Only a stale lock lets a recovery in.
    fn gate(&self) -> Result<(), RecoveryError> {
        let run_id = self.run.run_id.clone();
        Err(match &self.lock {
            LockState::Stale { .. } => return Ok(()),
            LockState::Live { lock, why, judged } => RecoveryError::StillActive {
                owner: lock.owner_party(),
                why: why.as_str().into(),
                judged: *judged,
            },
            LockState::Foreign { lock, .. } => {
                RecoveryError::ForeignLock { run_id, holder: lock.run_id.clone() }
            }
            LockState::Invalid { why } => RecoveryError::InvalidLock { run_id, why: why.clone() },
            LockState::Absent => RecoveryError::NoLock { run_id, journaled: self.journaled },
        })
    }

    /// Whether the run directory has to be made.
    pub(super) fn lacks_directory(&self) -> bool {
        !self.place.run_dir.is_dir()
    }

    /// What run.json is.
    pub(super) fn on_disk(&self) -> &OnDisk {
        &self.on_disk
    }

    /// Whether there is a lock of this run whose owner is dead.
    pub(super) fn has_dead_lock(&self) -> bool {
        matches!(self.lock, LockState::Stale { .. })
    }

    /// The snapshot that ended the run, where it has ended.
    pub(super) fn ended_as(&self) -> Option<&Object> {
        self.on_disk.object().filter(|object| receipt::is_terminal(object)).or(self.ending.as_ref())
    }
}

/// The status word of a snapshot.
pub(super) fn status_of(snapshot: &Object) -> Option<String> {
    snapshot.get("status".as_bytes()).and_then(Value::as_str).map(str::to_owned)
}

/// Whether the run has a journal: activated or not, where there are events.
fn has_journal(tx: &Transaction<'_>, run_id: &RunId) -> Result<bool> {
    let mut statement = tx.prepare_cached(include_str!("sql/has_journal.sql"))?;
    Ok(statement.query_row(named_params! { ":run_id": run_id.as_str() }, |row| column(row, 0))?)
}

/// The store's last snapshot, if it is whole. A damaged one is no answer here: whether that matters is decided after the
/// lock was looked at.
fn known_last(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<LastSnapshot>> {
    match last_snapshot(tx, run_id) {
        Ok(last) => Ok(last.filter(|last| last.is_whole())),
        Err(Error::Checkpoint(_) | Error::Journal(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where the run lives: the directory that was given, which must be there and no other run's, else the known one.
fn place(tx: &Transaction<'_>, run: &Run, options: &Options) -> Result<Place> {
    let Some(given) = &options.run_dir else {
        return Ok(Place { run_dir: run.directory()?.to_path_buf(), moved: false });
    };
    let run_dir = std::fs::canonicalize(given).map_err(Error::io("resolve", given))?;
    let taken = |path, rule| -> Result<Place> { Err(RunError::DirectoryTaken { path, rule }.into()) };
    if !run_dir.is_dir() {
        return taken(run_dir, "it is not a directory");
    }
    match table::by_directory(tx, &run_dir)? {
        Some(other) if other.run_id != run.run_id => taken(run_dir, "it is the directory of another run"),
        _ => Ok(Place { moved: run.run_dir.as_ref() != Some(&run_dir), run_dir }),
    }
}
