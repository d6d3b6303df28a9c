//! Opening a connection: what a store's path may be, which flags and pragmas hold.
//!
//! Nothing here opens the store's files but SQLite: the system drops a process's locks on a file when any descriptor
//! of it is closed. What is asked of the path is asked by name (`lstat`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::functions;
use crate::error::{Error, Result, StoreError};

/// How long a connection waits for another one's lock (contract store.md).
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How many KiB of pages a connection keeps: digests fall anywhere into their indexes, so a long import needs many.
const CACHE_KIB: i32 = 16 * 1024;

/// How many pages the WAL may have before a commit moves them into the database, which costs syncs of its own. Digests fall
/// anywhere into their indexes, so the more pages are moved at once, the fewer are moved in all.
const WAL_PAGES: i32 = 4_000;

/// `lgbk`: what marks a file as a store of legbook.
pub(super) const APPLICATION_ID: i32 = 0x6C67_626B;

/// The flags of every connection to a store. The path was made real before, so a link that SQLite meets was put there
/// meanwhile and is refused.
pub(super) fn flags() -> OpenFlags {
    OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW
}

/// Whether anything stands at `path`; a link counts.
pub(super) fn exists(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error)
            if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            Ok(false)
        }
        Err(error) => Err(Error::io("look at", path)(error)),
    }
}

/// `path` absolute, with the links of its folder resolved; the file's own name is kept, so that a link there is seen.
pub(super) fn real_path(path: &Path) -> Result<PathBuf> {
    let unsafe_path = |rule| StoreError::Unsafe { path: path.to_path_buf(), rule };
    // `Path` leaves these endings out, and with them the caller's word that it is a directory.
    if [b"/".as_slice(), b"/."].iter().any(|ending| path.as_os_str().as_encoded_bytes().ends_with(ending)) {
        return Err(unsafe_path("it names a directory").into());
    }
    let name = path.file_name().ok_or_else(|| unsafe_path("it names no file"))?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = fs::canonicalize(folder).map_err(Error::io("resolve", folder))?;
    Ok(folder.join(name))
}

/// Opens a connection to the store at `path` (made real) and checks that it is one.
///
/// # Errors
/// [`StoreError::Unsafe`] for a link, a second name or no regular file; [`StoreError::NotADatabase`],
/// [`StoreError::ForeignDatabase`]; SQLite's own.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    check_files(path)?;
    let connection = Connection::open_with_flags(path, flags()).map_err(|error| opening(error, path))?;
    check_identity(&connection, path)?;
    prepare(&connection).map_err(|error| opening(error, path))?;
    Ok(connection)
}

/// The file that SQLite keeps beside the store under the store's name and `suffix`.
pub(super) fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut side = path.as_os_str().to_owned();
    side.push(suffix);
    PathBuf::from(side)
}

/// [`check_file`] for the store at `path` and for the side files that it has.
pub(super) fn check_files(path: &Path) -> Result<()> {
    check_file(path)?;
    for suffix in ["-wal", "-shm"] {
        match check_file(&side_file(path, suffix)) {
            // There is none, or its last user took it away.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(Error::Store(StoreError::Unsafe { path, rule })) => {
                return Err(StoreError::UnsafeSideFile { path, rule }.into());
            }
            checked => checked?,
        }
    }
    Ok(())
}

/// Refuses a path that is not one regular file with one name (contract store.md, One file).
fn check_file(path: &Path) -> Result<()> {
    let metadata = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
    let rule = if metadata.file_type().is_symlink() {
        "it is a symbolic link"
    } else if metadata.is_dir() {
        "it is a directory"
    } else if !metadata.is_file() {
        "it is not a regular file"
    } else if metadata.nlink() > 1 {
        "it has a second name (hard link)"
    } else {
        return Ok(());
    };
    Err(StoreError::Unsafe { path: path.to_path_buf(), rule }.into())
}

/// What tells the file at `path` from another one that is put there later: its device and inode.
pub(super) fn file_identity(path: &Path) -> Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Refuses a database that is not legbook's. The first question to a connection, so its busy timeout is set here.
pub(super) fn check_identity(connection: &Connection, path: &Path) -> Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    let application_id: i32 = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .map_err(|error| opening(error, path))?;
    if application_id == APPLICATION_ID {
        return Ok(());
    }
    Err(StoreError::ForeignDatabase { path: path.to_path_buf(), application_id }.into())
}

/// SQLite's error of opening, where the path makes it clearer.
pub(super) fn opening(error: rusqlite::Error, path: &Path) -> Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            StoreError::NotADatabase { path: path.to_path_buf() }.into()
        }
        Some(rusqlite::ErrorCode::CannotOpen) => StoreError::Unopenable { path: path.to_path_buf() }.into(),
        _ => error.into(),
    }
}

/// The pragmas of every connection. WAL is a property of the file and was set when it was made.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // The library asks tables only: a view that stands where a table should is an error, not an answer.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    connection.pragma_update(None, "wal_autocheckpoint", WAL_PAGES)?;
    // So that REPLACE fires the DELETE triggers for our own statements too.
    connection.pragma_update(None, "recursive_triggers", true)?;
    connection.set_prepared_statement_cache_capacity(128);
    functions::register(connection)
}

/// Makes a connection refuse every write.
pub(super) fn only_read(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "query_only", true)
}
