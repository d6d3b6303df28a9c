//! Questions about runs. Each is one read transaction and changes nothing.

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Transaction};

use crate::checkpoint;
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{CheckpointError, Error, Result, RunError, StoreError};
use crate::event::Event;
use crate::id::RunId;
use crate::journal::{self, NearBound};
use crate::json::Object;

use super::directory;
use super::file::{self, OnDisk};
use super::last::{LastSnapshot, last_snapshot, was_snapshot};
use super::table::{self, Run};

/// The run that `text` names: a run id, a run directory (relative to `cwd`), or `latest`, the run made last. An id
/// wins over a path (contract store.md, Commands).
///
/// # Errors
/// [`RunError::Unknown`], [`RunError::NoRuns`]; [`crate::Error::Id`] where `text` can be neither id nor path.
pub fn resolve(store: &Store, text: &str, cwd: &Path) -> Result<RunId> {
    store.read(|tx| {
        if text == "latest" {
            let mut statement = tx.prepare_cached(include_str!("sql/latest.sql"))?;
            let run = statement.query_row([], Run::from_row).optional()?.transpose()?;
            return run.map(|run| run.run_id).ok_or_else(|| RunError::NoRuns.into());
        }
        let parsed = RunId::parse(text);
        if let Ok(run_id) = &parsed
            && table::find(tx, run_id)?.is_some()
        {
            return Ok(run_id.clone());
        }
        if let Ok(path) = std::fs::canonicalize(cwd.join(text))
            && let Some(run) = table::by_directory(tx, &path)?
        {
            return Ok(run.run_id);
        }
        // A directory that is gone is still the run's name.
        if let Some(run) = table::by_directory(tx, &cwd.join(text))? {
            return Ok(run.run_id);
        }
        match parsed {
            Err(error) if !text.contains('/') => Err(error.into()),
            _ => Err(RunError::Unknown(text.chars().take(128).collect()).into()),
        }
    })
}

/// The runs of a store.
#[derive(Debug, Default)]
pub struct Listed {
    /// Those that can be read, the newest first.
    pub runs: Vec<Run>,
    /// How many have an id that is not valid, so that no command can name them. Doctor names them.
    pub invalid_ids: usize,
    /// One error for each run whose row holds what legbook never writes. The error names the run and the column.
    pub damaged: Vec<Error>,
}

/// All runs. One that cannot be read hides no other.
///
/// # Errors
/// The store's own.
pub fn list(store: &Store) -> Result<Listed> {
    store.read(|tx| {
        let mut statement = tx.prepare_cached(include_str!("sql/list.sql"))?;
        let mut listed = Listed::default();
        for row in statement.query_map([], Run::from_row)? {
            match row.map_err(Error::from).flatten() {
                Ok(run) => listed.runs.push(run),
                Err(Error::Id(_)) => listed.invalid_ids += 1,
                Err(error @ Error::Store(StoreError::Value(_))) => listed.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        Ok(listed)
    })
}

/// The run with this id.
///
/// # Errors
/// [`RunError::Unknown`].
pub fn get(store: &Store, run_id: &RunId) -> Result<Run> {
    store.read(|tx| table::get(tx, run_id))
}

/// What run.json is, beside the store's last snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunJson {
    /// The store's last snapshot, to the byte.
    Last,
    /// It is not there.
    Missing,
    /// It is no JSON object.
    Unparseable,
    /// An earlier snapshot of the run, to the byte.
    Older,
    /// A JSON object that the store does not know.
    Other,
}

impl RunJson {
    /// Its stable word: `last`, `missing`, `unparseable`, `older` or `other`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Last => "last",
            Self::Missing => "missing",
            Self::Unparseable => "unparseable",
            Self::Older => "older",
            Self::Other => "other",
        }
    }

    fn of(tx: &Transaction<'_>, run_id: &RunId, last: &LastSnapshot, on_disk: &OnDisk) -> Result<Self> {
        Ok(match on_disk {
            OnDisk::Missing => Self::Missing,
            OnDisk::Snapshot(bytes, _) | OnDisk::Unparseable(bytes) if *bytes == last.bytes => Self::Last,
            OnDisk::Unparseable(_) => Self::Unparseable,
            OnDisk::Snapshot(bytes, _) if was_snapshot(tx, run_id, Digest::of(bytes))? => Self::Older,
            OnDisk::Snapshot(_, _) => Self::Other,
        })
    }
}

/// A run with its journal's measure and its snapshots.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// The run. Status, task and times are what `snapshot` says, where there is one.
    pub run: Run,
    /// Events in its journal.
    pub events: i64,
    /// Bytes of its journal, newlines counted.
    pub journal_bytes: u64,
    /// The last event's digest.
    pub last_digest: Option<Digest>,
    /// SHA-256 of the store's last snapshot, and whether that is a recovery's receipt.
    pub last_snapshot: Option<(Digest, bool)>,
    /// The snapshot that counts: the store's last, without a journal run.json. `None` where that holds no object.
    pub snapshot: Option<Object>,
    /// What run.json on disk is; `None` without a journal or a directory.
    pub run_json: Option<RunJson>,
    /// Whether run.json on disk is the store's last snapshot; `None` without a journal or a directory.
    pub run_json_current: Option<bool>,
    /// `runs/<run id>` beside the store, where that is there and the run's own directory is not.
    pub moved_to: Option<PathBuf>,
}

/// The bounds of the store of which `run_id` has used three quarters or more.
///
/// # Errors
/// The store's own.
pub fn near_bounds(store: &Store, run_id: &RunId) -> Result<Vec<NearBound>> {
    store.read(|tx| journal::near_bounds(tx, run_id.as_str()))
}

/// All that is known of `run_id`.
///
/// # Errors
/// [`RunError::Unknown`]; [`crate::Error::Io`] where run.json can't be read.
pub fn show(store: &Store, run_id: &RunId) -> Result<Details> {
    store.read(|tx| {
        let mut run = table::get(tx, run_id)?;
        let tail = journal::tail(tx, run_id.as_str())?;
        let last = last_snapshot(tx, run_id)?;
        let on_disk = match &run.run_dir {
            Some(run_dir) => Some(file::read(run_dir)?),
            None => None,
        };
        let run_json = match (&last, &on_disk) {
            (Some(last), Some(on_disk)) => Some(RunJson::of(tx, run_id, last, on_disk)?),
            _ => None,
        };
        let snapshot = match &last {
            Some(last) => last.object(),
            None => on_disk.as_ref().and_then(OnDisk::object).cloned(),
        };
        if let Some(snapshot) = &snapshot {
            run.take_from(snapshot);
        }
        let beside = |run_dir: &PathBuf| directory::beside_store(store.folder(), run_id.as_str(), run_dir);
        let moved_to = run.run_dir.as_ref().and_then(beside);
        Ok(Details {
            run,
            events: tail.sequence,
            journal_bytes: tail.bytes,
            last_digest: tail.digest,
            last_snapshot: last.map(|last| (last.sha256, last.is_receipt)),
            snapshot,
            run_json,
            run_json_current: run_json.map(|run_json| run_json == RunJson::Last),
            moved_to,
        })
    })
}

/// The events of `run_id` after sequence `after`, in order, at most `limit`. Each line is checked as it is read.
///
/// # Errors
/// [`RunError::Unknown`]; [`crate::Error::Event`] for a line that is no event.
pub fn events(store: &Store, run_id: &RunId, after: i64, limit: usize) -> Result<Vec<Event>> {
    store.read(|tx| {
        table::get(tx, run_id)?;
        journal::lines(tx, run_id.as_str(), after, limit)?
            .iter()
            .map(|line| Ok(Event::parse_line(line.as_bytes())?))
            .collect()
    })
}

/// run.json as it was at event `sequence`, to the byte: the body of the latest checkpoint at or before it.
///
/// # Errors
/// [`RunError::NoJournal`], [`RunError::NoSnapshotAt`]; [`CheckpointError`] where the stored body is not what its
/// digest says: nothing spoiled is shown as what was.
pub fn at(store: &Store, run_id: &RunId, sequence: i64) -> Result<Vec<u8>> {
    store.read(|tx| {
        let run = table::get(tx, run_id)?;
        if !run.journaled {
            return Err(RunError::NoJournal(run_id.to_string()).into());
        }
        let nothing = || RunError::NoSnapshotAt { run_id: run_id.to_string(), sequence };
        if sequence > journal::tail(tx, run_id.as_str())?.sequence {
            return Err(nothing().into());
        }
        let checkpoint = journal::latest_checkpoint(tx, run_id.as_str(), sequence)?.ok_or_else(nothing)?;
        let sha256 = checkpoint.sha256;
        let body = checkpoint::get(tx, sha256)?.ok_or(CheckpointError::Missing { sha256 })?;
        if Digest::of(&body) != sha256 {
            return Err(CheckpointError::DigestMismatch { sha256 }.into());
        }
        Ok(body)
    })
}
