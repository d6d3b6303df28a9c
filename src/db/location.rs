//! Where the store is, when nobody names it (contract store.md, One file).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, StoreError};

/// The folder that holds a store found by looking upwards.
pub(super) const FOLDER: &str = ".legbook";
/// The store's file in it.
const FILE: &str = "store.db";

/// Where a store is or would be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The store's file.
    pub path: PathBuf,
    /// Whether something stands there already.
    pub exists: bool,
}

/// Whether a file at `path` can only be meant as a store: the place where a store is made by default.
pub(crate) fn is_usual_place(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    path.file_name() == Some(FILE.as_ref()) && folder == Some(FOLDER.as_ref())
}

/// Finds the store for `cwd`: `.legbook/store.db` in the nearest folder upwards that has one, else where it would be
/// made: at the git root, else in `cwd`.
///
/// # Errors
/// [`StoreError::ForeignOwner`] where another user owns the one that was found; [`Error::Io`].
pub fn locate(cwd: &Path) -> Result<Location> {
    for folder in cwd.ancestors() {
        let path = folder.join(FOLDER).join(FILE);
        if super::open::exists(&path)? {
            let owner = fs::symlink_metadata(&path).map_err(Error::io("look at", &path))?.uid();
            if owner != nix::unistd::geteuid().as_raw() {
                return Err(StoreError::ForeignOwner { path, owner }.into());
            }
            return Ok(Location { path, exists: true });
        }
    }
    let root = git_root(cwd).unwrap_or(cwd);
    Ok(Location { path: root.join(FOLDER).join(FILE), exists: false })
}

/// The nearest folder upwards from `cwd`, itself included, that holds `.git`.
pub fn git_root(cwd: &Path) -> Option<&Path> {
    cwd.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok())
}
