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

/// `folder` as a workspace of its own: a folder inside the workspace `around` that takes a lock of its own.
///
/// # Errors
/// [`LockError::WorkspaceOutside`], [`LockError::WorkspaceNotUtf8`]; [`Error::Io`] if `folder` is missing.
pub(crate) fn workspace_within(around: &Path, folder: &Path) -> Result<PathBuf> {
    let real = fs::canonicalize(folder).map_err(Error::io("resolve", folder))?;
    if !real.is_dir() || !real.starts_with(around) {
        return Err(LockError::WorkspaceOutside { path: real, around: around.to_path_buf() }.into());
    }
    stored_path(&real)?;
    Ok(real)
}

/// `path` as the store keeps it.
pub(super) fn stored_path(path: &Path) -> Result<&str, LockError> {
    path.to_str().ok_or_else(|| LockError::WorkspaceNotUtf8 { path: path.to_path_buf() })
}
