//! The table `runs`: a run's identity, where it lives, and what its last snapshot said.

use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::db::{change_one, column};
use crate::error::{Result, RunError};
use crate::id::RunId;
use crate::json::{Object, Value};

use super::file;

/// A run as the store knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub run_id: RunId,
    /// When it was made, RFC 3339 in UTC.
    pub created_at: String,
    /// Its run directory, absolute; `None` for a run that was imported and not exported or resumed since.
    pub run_dir: Option<PathBuf>,
    /// The workspace whose lock it takes, absolute and real.
    pub workspace: Option<PathBuf>,
    /// Whether it has a journal (activation: once, for good).
    pub journaled: bool,
    /// The status word of the last snapshot that legbook wrote.
    pub status: Option<String>,
    /// Its task.
    pub task: Option<String>,
    /// When it started, as the snapshot says.
    pub started_at: Option<String>,
    /// When its status began, as the snapshot says.
    pub status_started_at: Option<String>,
    /// When it finished, as the snapshot says.
    pub finished_at: Option<String>,
}

impl Run {
    /// The run directory.
    ///
    /// # Errors
    /// [`RunError::NoDirectory`].
    pub fn directory(&self) -> Result<&Path> {
        self.run_dir.as_deref().ok_or_else(|| RunError::NoDirectory(self.run_id.to_string()).into())
    }

    /// Takes over what `snapshot` says: status, task and times.
    pub(super) fn take_from(&mut self, snapshot: &Object) {
        let said = |key: &str| said(snapshot, key).map(str::to_owned);
        self.status = said("status");
        self.task = said("task");
        self.started_at = said("started_at");
        self.status_started_at = said("status_started_at");
        self.finished_at = said("finished_at");
    }

    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Result<Self>> {
        let run_id: String = column(row, "run_id")?;
        let run_dir: Option<String> = column(row, "run_dir")?;
        let workspace: Option<String> = column(row, "workspace")?;
        let journaled_at: Option<String> = column(row, "journaled_at")?;
        let made = |run_id| {
            Ok(Self {
                run_id,
                created_at: column(row, "created_at")?,
                run_dir: run_dir.map(PathBuf::from),
                workspace: workspace.map(PathBuf::from),
                journaled: journaled_at.is_some(),
                status: column(row, "status")?,
                task: column(row, "task")?,
                started_at: column(row, "started_at")?,
                status_started_at: column(row, "status_started_at")?,
                finished_at: column(row, "finished_at")?,
            })
        };
        // Another program may have written the row: the id is checked again.
        match RunId::parse(&run_id) {
            Ok(run_id) => made(run_id).map(Ok),
            Err(error) => Ok(Err(error.into())),
        }
    }
}

/// The run `run_id`, where the store knows it.
pub(crate) fn find(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Run>> {
    let mut statement = tx.prepare_cached(include_str!("sql/find.sql"))?;
    statement.query_row([run_id.as_str()], Run::from_row).optional()?.transpose()
}

/// The run `run_id`.
///
/// # Errors
/// [`RunError::Unknown`].
pub(crate) fn get(tx: &Transaction<'_>, run_id: &RunId) -> Result<Run> {
    find(tx, run_id)?.ok_or_else(|| RunError::Unknown(run_id.to_string()).into())
}

/// Enters a new run. Paths are absolute and real.
///
/// # Errors
/// [`RunError::Exists`]; [`RunError::DirectoryTaken`] where another run has this directory; [`RunError::PathNotUtf8`].
pub(crate) fn insert(
    tx: &Transaction<'_>,
    run_id: &RunId,
    run_dir: &Path,
    workspace: &Path,
    created_at: &str,
) -> Result<()> {
    if find(tx, run_id)?.is_some() {
        return Err(RunError::Exists(run_id.to_string()).into());
    }
    if by_directory(tx, run_dir)?.is_some() {
        let path = run_dir.to_path_buf();
        return Err(RunError::DirectoryTaken { path, rule: "it is the directory of another run" }.into());
    }
    change_one(
        tx,
        include_str!("sql/insert.sql"),
        params![run_id.as_str(), created_at, file::utf8(run_dir)?, file::utf8(workspace)?],
    )
}

/// Enters a run that has no directory: it comes from a legacy one, maybe with a journal.
pub(crate) fn insert_imported(
    tx: &Transaction<'_>,
    run_id: &RunId,
    created_at: &str,
    journaled: bool,
) -> Result<()> {
    let journaled_at = journaled.then_some(created_at);
    change_one(
        tx,
        include_str!("sql/insert_imported.sql"),
        params![run_id.as_str(), created_at, journaled_at],
    )
}

/// The run whose directory is `run_dir` (absolute and real).
pub(crate) fn by_directory(tx: &Transaction<'_>, run_dir: &Path) -> Result<Option<Run>> {
    let Some(run_dir) = run_dir.to_str() else { return Ok(None) };
    let mut statement = tx.prepare_cached(include_str!("sql/by_directory.sql"))?;
    statement.query_row([run_dir], Run::from_row).optional()?.transpose()
}

/// Gives the run another directory (a moved workspace, or an imported run that gets one).
pub(crate) fn move_to(tx: &Transaction<'_>, run_id: &RunId, run_dir: &Path, workspace: &Path) -> Result<()> {
    change_one(
        tx,
        include_str!("sql/move.sql"),
        params![run_id.as_str(), file::utf8(run_dir)?, file::utf8(workspace)?],
    )
}

/// Gives the run another directory and leaves its workspace as it is: recovery was told where the directory is now.
pub(crate) fn relocate(tx: &Transaction<'_>, run_id: &RunId, run_dir: &Path) -> Result<()> {
    change_one(tx, include_str!("sql/relocate.sql"), params![run_id.as_str(), file::utf8(run_dir)?])
}

/// Keeps what `snapshot` says, for people.
pub(crate) fn note_snapshot(tx: &Transaction<'_>, run_id: &RunId, snapshot: &Object) -> Result<()> {
    change_one(
        tx,
        include_str!("sql/note_snapshot.sql"),
        params![
            run_id.as_str(),
            said(snapshot, "status"),
            said(snapshot, "task"),
            said(snapshot, "started_at"),
            said(snapshot, "status_started_at"),
            said(snapshot, "finished_at")
        ],
    )
}

/// The text under `key`.
fn said<'a>(snapshot: &'a Object, key: &str) -> Option<&'a str> {
    snapshot.get(key.as_bytes()).and_then(Value::as_str)
}

/// Notes that the run has a journal from `moment` on; once.
pub(crate) fn activate(tx: &Transaction<'_>, run_id: &RunId, moment: &str) -> Result<()> {
    change_one(tx, include_str!("sql/activate.sql"), params![run_id.as_str(), moment])
}
