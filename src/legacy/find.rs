//! Which run directories a path means: a workspace (its `.brigade/runs`), a folder of run directories, or one.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::Folder;
use super::layout::{EVENTS, ROOT, RUN_JSON};
use super::source;
use crate::error::{Error, Result};

/// How many names of a folder are taken at most.
const MOST_NAMES: usize = 1_000_000;

/// A directory that may be a run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    /// Its path.
    pub path: PathBuf,
    /// Whether it holds a run.json or a journal.
    pub holds_run: bool,
    /// When it was last modified: seconds and nanoseconds; what was named itself has no time.
    modified: (i64, i64),
}

/// The run directories that `path` means, by name. Of a folder, links and files are none; what was named itself is one,
/// whatever it is, unless it is a folder of others.
///
/// # Errors
/// [`Error::Io`]; [`LegacyError::Refused`](crate::error::LegacyError::Refused) for a link.
pub fn run_directories(path: &Path) -> Result<Vec<RunDirectory>> {
    let error = |name: &str, trouble| source::error(path, name, trouble);
    let (folder, real) = Folder::open(path)
        .map_err(|trouble| error(ROOT, trouble))?
        .ok_or_else(|| Error::io("read", path)(io::ErrorKind::NotFound.into()))?;
    let brigade = folder.folder(".brigade").map_err(|trouble| error(".brigade", trouble))?;
    let runs = match brigade {
        Some(brigade) => brigade.folder("runs").map_err(|trouble| error(".brigade/runs", trouble))?,
        None => None,
    };
    if let Some(runs) = runs {
        return children(&runs, &real.join(".brigade/runs"));
    }
    let holds = |name| folder.has(name).map_err(|trouble| error(name, trouble));
    if holds(RUN_JSON)? || holds(EVENTS)? {
        return Ok(vec![RunDirectory { path: real, holds_run: true, modified: (0, 0) }]);
    }
    children(&folder, &real)
}

fn children(folder: &Folder, path: &Path) -> Result<Vec<RunDirectory>> {
    let error = |trouble| source::error(path, ROOT, trouble);
    let mut found = Vec::new();
    for name in folder.names(MOST_NAMES).map_err(error)? {
        // One that cannot be looked at may be a run; its own examination says why it cannot.
        let Some(modified) = folder.directory_time(&name).unwrap_or(Some((0, 0))) else { continue };
        let holds_run = holds_run(folder, &name);
        found.push(RunDirectory { path: path.join(&name), holds_run, modified });
    }
    Ok(found)
}

/// Whether the folder `name` looks like a run's; whether it can be read is asked later.
fn holds_run(folder: &Folder, name: &OsString) -> bool {
    match folder.folder(name) {
        Ok(Some(run)) => run.has(RUN_JSON).unwrap_or(true) || run.has(EVENTS).unwrap_or(true),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// The newest first.
pub(super) fn newest_first(directories: &mut [RunDirectory]) {
    directories.sort_by(|one, other| (other.modified, &other.path).cmp(&(one.modified, &one.path)));
}
