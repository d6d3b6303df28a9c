//! Where a run's directory is, and whether it may be made anew where it is gone. Changes nothing.

use std::path::{Path, PathBuf};

use crate::error::RecoveryError;

use super::table::Run;

/// Refuses to make the directory of `run` anew where it was moved, or is not mounted: it is gone, its workspace is gone
/// as well, and it does not lie in `runs/` beside the store. A second directory would stand where nobody looks.
///
/// Whatever else is gone is made anew, for the store alone holds all that is needed.
///
/// # Errors
/// [`RecoveryError::DirectoryGone`].
pub(crate) fn check_not_moved(store_folder: &Path, run: &Run) -> Result<(), RecoveryError> {
    let Some(run_dir) = run.run_dir.as_deref().filter(|run_dir| !run_dir.is_dir()) else { return Ok(()) };
    let workspace_gone = run.workspace.as_deref().is_some_and(|workspace| !workspace.is_dir());
    if !workspace_gone || run_dir.starts_with(store_folder.join("runs")) {
        return Ok(());
    }
    Err(RecoveryError::DirectoryGone {
        run_id: run.run_id.clone(),
        path: run_dir.to_path_buf(),
        found: beside_store(store_folder, run.run_id.as_str(), run_dir),
    })
}

/// `runs/<run_id>` beside the store, where it is there and `run_dir`, which the store knows, is not: a folder that was
/// moved with its store has the run directory there.
pub(crate) fn beside_store(store_folder: &Path, run_id: &str, run_dir: &Path) -> Option<PathBuf> {
    let beside = store_folder.join("runs").join(run_id);
    (!run_dir.is_dir() && beside.is_dir()).then_some(beside)
}
