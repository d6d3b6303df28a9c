//! Opening a connection: what a store's path may be, which flags and pragmas hold.
//!
//! Nothing here opens the store's files but SQLite: the system drops a process's locks on a file when any descriptor
//! of it is closed. What is asked of the path is asked by name (`lstat`).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::{functions, limits};
use crate::error::{Error, Result, StoreError};

/// How many KiB of pages a connection keeps: digests fall anywhere into their indexes, so a long import needs many.
const CACHE_KIB: i32 = 16 * 1024;

/// How many pages the WAL may have before a commit moves them into the database, which costs syncs of its own. Digests fall
/// anywhere into their indexes, so the more pages are moved at once, the fewer are moved in all.
const WAL_PAGES: i32 = 4_000;

/// The size of the smallest database: one page of the smallest size.
const SMALLEST_DATABASE: u64 = 512;

/// `lgbk`: what marks a file as a store of legbook.
pub const APPLICATION_ID: i32 = 0x6C67_626B;

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
/// [`StoreError::Unsafe`] for a link, a second name or no regular file; [`StoreError::Truncated`],
/// [`StoreError::NotADatabase`], [`StoreError::ForeignDatabase`], [`StoreError::Unmarked`]; SQLite's own.
pub(super) fn connect(path: &Path) -> Result<Connection> {
    check_files(path)?;
    let connection = Connection::open_with_flags(path, flags()).map_err(|error| opening(error, path))?;
    // If the -shm cannot be made, SQLite knows no frame of the -wal. Its close would then delete the -wal, and what was
    // committed in it, so a connection that never read the store leaves the -wal alone.
    keep_wal(&connection, true).map_err(|error| opening(error, path))?;
    check_identity(&connection, path)?;
    prepare(&connection).map_err(|error| opening(error, path))?;
    restore_wal(&connection).map_err(|error| opening(error, path))?;
    keep_wal(&connection, false).map_err(|error| opening(error, path))?;
    Ok(connection)
}

/// Says whether closing `connection` leaves the -wal as it is, instead of moving it into the file and deleting it.
fn keep_wal(connection: &Connection, keep: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(drop)
}

/// Puts a store that somebody took out of WAL mode back into it. In another mode readers and writers block each other.
/// It waits for those who have the store open, as every write does.
fn restore_wal(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode != "wal" && !connection.is_readonly("main")? {
        set_wal(connection)?;
    }
    Ok(())
}

/// Sets WAL mode, which is a property of the file.
pub(super) fn set_wal(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))
}

/// The file that SQLite keeps beside the store under the store's name and `suffix`.
pub(super) fn side_file(path: &Path, suffix: &str) -> PathBuf {
    let mut side = path.as_os_str().to_owned();
    side.push(suffix);
    PathBuf::from(side)
}

/// [`check_file`] for the store at `path` and for the side files that it has. A file that is too short to be a database is
/// refused before SQLite sees it: of an empty one SQLite would delete the -wal.
pub(super) fn check_files(path: &Path) -> Result<()> {
    let size = check_file(path)?;
    if size < SMALLEST_DATABASE {
        return Err(StoreError::Truncated { path: path.to_path_buf(), size }.into());
    }
    for suffix in ["-wal", "-shm"] {
        match check_file(&side_file(path, suffix)) {
            // There is none, or its last user took it away.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(Error::Store(StoreError::Unsafe { path, rule })) => {
                return Err(StoreError::UnsafeSideFile { path, rule }.into());
            }
            checked => {
                checked?;
            }
        }
    }
    Ok(())
}

/// Refuses a path that is not one regular file with one name (contract store.md, One file); gives the file's size.
fn check_file(path: &Path) -> Result<u64> {
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
        return Ok(metadata.len());
    };
    Err(StoreError::Unsafe { path: path.to_path_buf(), rule }.into())
}

/// What tells the file at `path` from another one that is put there later: its device and inode.
pub(super) fn file_identity(path: &Path) -> Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Refuses a database that is not legbook's. The first question to a connection, so how it waits is set here.
pub(super) fn check_identity(connection: &Connection, path: &Path) -> Result<()> {
    limits::wait_for_locks(connection)?;
    let application_id: i32 = connection
        .query_row("PRAGMA application_id", [], |row| row.get(0))
        .map_err(|error| opening(error, path))?;
    if application_id == APPLICATION_ID {
        return Ok(());
    }
    if application_id == 0 && has_own_tables(connection)? {
        return Err(StoreError::Unmarked { path: path.to_path_buf() }.into());
    }
    Err(StoreError::ForeignDatabase { path: path.to_path_buf(), application_id }.into())
}

/// Whether a database that no program has marked has tables of legbook's: then a dump of a store was read into it.
fn has_own_tables(connection: &Connection) -> Result<bool> {
    let sql =
        "SELECT count(*) = 3 FROM sqlite_schema WHERE type = 'table' AND name IN ('store', 'runs', 'events')";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
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

/// The pragmas of every connection. WAL is a property of the file: see [`set_wal`].
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    limits::wait_for_locks(connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // The library asks tables only: a view that stands where a table should is an error, not an answer.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Each page that is read is checked first: a damaged one is refused before anything is done by it.
    connection.pragma_update(None, "cell_size_check", true)?;
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
