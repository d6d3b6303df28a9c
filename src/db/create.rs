//! Making a store.
//!
//! A new store is built whole under a private name in its folder (WAL set, schema made, identity minted, closed, synced)
//! and then given its own name by a rename that replaces nothing. So a store is absent or whole, never half made:
//! twenty processes that find none all build one, one rename wins, and the others use the winner's. A crash before
//! the rename leaves only a file `.store.*.tmp`, which nobody reads. A folder `.legbook` that is made here gets a
//! `.gitignore` that hides all of it.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::change::change_one;
use super::location::FOLDER;
use super::migrate::{SCHEMA, SCHEMA_VERSION};
use super::open;
use crate::clock::{self, Clock};
use crate::error::{Error, Result, StoreError};

/// Makes the store at `path` where there is none; gives its real path.
pub(super) fn ensure(path: &Path, clock: &dyn Clock) -> Result<PathBuf> {
    if !open::exists(path)? {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        private_folder(folder)?;
        let real = open::real_path(path)?;
        build(&real, clock)?;
        return Ok(real);
    }
    open::real_path(path)
}

/// Makes `folder` and its missing ancestors, each 0700 whatever the umask. A folder that exists is left as it is.
pub(crate) fn private_folder(folder: &Path) -> Result<()> {
    let mut missing = Vec::new();
    let mut at = Some(folder);
    while let Some(place) = at.filter(|place| !place.as_os_str().is_empty() && !place.is_dir()) {
        missing.push(place);
        at = place.parent();
    }
    for place in missing.into_iter().rev() {
        match DirBuilder::new().mode(0o700).create(place) {
            Ok(()) => {
                fs::set_permissions(place, Permissions::from_mode(0o700))
                    .map_err(Error::io("set the mode of", place))?;
                if place.file_name() == Some(OsStr::new(FOLDER)) {
                    ignore_all(place)?;
                }
            }
            // Another process made it meanwhile.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && place.is_dir() => {}
            Err(error) => return Err(Error::io("make the folder", place)(error)),
        }
    }
    Ok(())
}

/// Tells git to leave `folder`, which was made just now, alone: a journal is private, and `git add -A` adds what is not
/// ignored. A crash before it leaves a folder without the file, which is nobody's fault and made by nobody later.
fn ignore_all(folder: &Path) -> Result<()> {
    let path = folder.join(".gitignore");
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).and_then(|mut file| {
            file.set_permissions(Permissions::from_mode(0o600))?;
            file.write_all(b"*\n")
        });
    written.map_err(Error::io("write", path))
}

fn build(path: &Path, clock: &dyn Clock) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let temp = tempfile::Builder::new()
        .prefix(".store.")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder)
        .map_err(Error::io("make a file in", folder))?
        .into_temp_path();
    // The umask may have taken bits that the owner needs.
    fs::set_permissions(&temp, Permissions::from_mode(0o600)).map_err(Error::io("set the mode of", &temp))?;
    fill(&temp, clock)?;
    match temp.persist_noclobber(path) {
        Ok(()) => {}
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(Error::io("name the new store", path)(error.error)),
    }
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}

/// Writes an empty store into the private file and closes it, so that no side file is left.
fn fill(temp: &Path, clock: &dyn Clock) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(temp, flags)?;
    connection.pragma_update(None, "application_id", open::APPLICATION_ID)?;
    open::set_wal(&connection)?;
    open::prepare(&connection)?;
    let transaction = connection.transaction()?;
    SCHEMA.make(&transaction, SCHEMA_VERSION)?;
    let store_id = clock::random_hex(clock, 16).map_err(|source| Error::Io {
        action: "get random bytes for",
        path: temp.to_path_buf(),
        source,
    })?;
    change_one(
        &transaction,
        include_str!("sql/mint.sql"),
        params![store_id, clock::store_time(clock.now())],
    )?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    Ok(())
}
