//! Which workspace a folder belongs to: what one lock is for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::db::git_root;
use crate::error::{Error, LockError, Result};

/// The workspace of `cwd`: the git root of its real path, else that path itself (contract recovery.md, The run lock).
/// Two paths to one folder give one workspace.
///
/// # Errors
/// [`LockError::WorkspaceNotUtf8`]; [`Error::Io`] where `cwd` can't be resolved.
pub fn workspace_of(cwd: &Path) -> Result<PathBuf> {
    let real = fs::canonicalize(cwd).map_err(Error::io("resolve", cwd))?;
    let workspace = git_root(&real).unwrap_or(&real).to_path_buf();
    stored_path(&workspace)?;
    Ok(workspace)
}

/// `path` as the store keeps it.
pub(super) fn stored_path(path: &Path) -> Result<&str, LockError> {
    path.to_str().ok_or_else(|| LockError::WorkspaceNotUtf8 { path: path.to_path_buf() })
}
