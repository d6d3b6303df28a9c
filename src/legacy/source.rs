//! One legacy run directory, open for reading.

use std::path::{Path, PathBuf};

use super::folder::{Folder, Opened, Trouble};
use super::layout::{EVENTS, JOURNAL, JOURNAL_PATH, ROOT, RUN_JSON};
use super::newer::Newer;
use crate::error::{Error, LegacyError, Result};
use crate::id::RunId;

/// A run directory whose name is a run's id.
#[derive(Debug)]
pub(super) struct Source {
    /// Its real path.
    pub(super) directory: PathBuf,
    /// Its name.
    pub(super) run_id: RunId,
    pub(super) root: Folder,
    /// Its folder `events`, where it has one.
    pub(super) events: Option<Folder>,
    /// Whether there is a journal, of whatever kind.
    pub(super) journaled: bool,
}

impl Source {
    /// Opens the run directory at `path`.
    ///
    /// # Errors
    /// [`LegacyError::NotARun`]; [`LegacyError::Refused`] for a link, or a name that is no run id; [`Error::Io`].
    pub(super) fn open(path: &Path) -> Result<Self> {
        let not_a_run = || LegacyError::NotARun { directory: path.to_path_buf() };
        let (root, directory) =
            Folder::open(path).map_err(|trouble| error(path, ROOT, trouble))?.ok_or_else(not_a_run)?;
        let name = directory.file_name().and_then(|name| name.to_str()).ok_or_else(not_a_run)?;
        let run_id =
            RunId::parse(name).map_err(|fault| refused(&directory, ROOT, None, fault.to_string()))?;
        let in_root = |opened: Opened<Folder>| opened.map_err(|trouble| error(&directory, EVENTS, trouble));
        let events = in_root(root.folder(EVENTS))?;
        let has = |folder: &Folder, name, path| {
            folder.has(name).map_err(|trouble| error(&directory, path, trouble))
        };
        let journaled = match &events {
            Some(events) => has(events, JOURNAL, JOURNAL_PATH)?,
            None => false,
        };
        if !journaled && !has(&root, RUN_JSON, RUN_JSON)? {
            return Err(not_a_run().into());
        }
        Ok(Self { directory, run_id, root, events, journaled })
    }

    /// Refuses the directory for `file`, relative to it.
    pub(super) fn refuse(&self, file: &str, rule: impl Into<String>) -> Error {
        refused(&self.directory, file, None, rule)
    }

    /// Refuses the directory for a line of its journal.
    pub(super) fn refuse_line(&self, line: u64, rule: &str) -> Error {
        refused(&self.directory, JOURNAL_PATH, Some(line), format!("line {line}: {rule}"))
    }

    /// Refuses the directory because a newer program has written it.
    pub(super) fn newer(&self, newer: Newer) -> Error {
        let Newer { what, events } = newer;
        LegacyError::NewerFormat { directory: self.directory.clone(), what, events }.into()
    }

    /// The error that `trouble` with `file` is.
    pub(super) fn error(&self, file: &str, trouble: Trouble) -> Error {
        error(&self.directory, file, trouble)
    }
}

/// Refuses `directory` for `file`, relative to it.
pub(super) fn refused(directory: &Path, file: &str, line: Option<u64>, rule: impl Into<String>) -> Error {
    let directory = directory.to_path_buf();
    LegacyError::Refused { directory, file: file.to_owned(), line, rule: rule.into() }.into()
}

/// The error that `trouble` with `file` of `directory` is.
pub(super) fn error(directory: &Path, file: &str, trouble: Trouble) -> Error {
    match trouble {
        Trouble::Io(source) if file == ROOT => Error::io("read", directory)(source),
        Trouble::Io(source) => Error::io("read", directory.join(file))(source),
        other => refused(directory, file, None, other.rule()),
    }
}
