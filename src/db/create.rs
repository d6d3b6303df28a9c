//! Making a store.
//!
//! A new store is built in a temporary folder beside its place (`.store.*.tmp`): WAL set, schema made, identity minted. Then
//! the WAL is moved into the file, and the file is closed and examined by itself: its size, its pages, its version, its
//! identity. Only then a rename that replaces nothing gives it its own name. SQLite reports neither a failed sync nor a full
//! disk when it closes a file, so nothing less shows that the file is whole.
//!
//! So a store is absent or whole, never half made: twenty processes that find none all build one, one rename wins, and the
//! others use the winner's. A crash before the rename leaves only the temporary folder; the next process that makes a
//! store there removes it. A folder `.legbook` that is made here gets a `.gitignore` that hides all of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use super::change::change_one;
use super::location::FOLDER;
use super::migrate::{SCHEMA, SCHEMA_VERSION};
use super::{home, inspect, open};
use crate::clock::{self, Clock};
use crate::error::{Error, Result, StoreError};
use crate::publish::{self, NewFile, NewFolder};

/// What the temporary folders of new stores are called.
const TEMPORARY: &str = "store";
/// The new store in its temporary folder.
const NEW: &str = "store.db";
const GITIGNORE: &str = ".gitignore";

/// Makes the store at `path` if none exists; gives its real path.
pub(super) fn ensure(path: &Path, clock: &dyn Clock) -> Result<PathBuf> {
    if !open::exists(path)? {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if publish::make_folders(folder)? && folder.file_name() == Some(OsStr::new(FOLDER)) {
            ignore_all(folder);
        }
        let real = open::real_path(path)?;
        build(&real, clock)?;
        return Ok(real);
    }
    open::real_path(path)
}

fn build(path: &Path, clock: &dyn Clock) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let building = NewFolder::begin(folder, TEMPORARY)?;
    let new = building.path().join(NEW);
    drop(publish::create(&new)?);
    fill(&new, path, clock)?;
    check(&new)?;
    // If another process was faster, its store is the one.
    building.place_file(NEW, path)?;
    Ok(())
}

/// Tells git to leave `folder` alone: a journal is private, and `git add -A` adds what is not ignored.
///
/// The store matters more: if the file cannot be written, the store is made without it.
fn ignore_all(folder: &Path) {
    let made = NewFile::begin(folder, GITIGNORE).and_then(|mut file| {
        file.fill(b"*\n")?;
        file.place(&folder.join(GITIGNORE))
    });
    drop(made);
}

/// Writes an empty store into the file, moves the WAL into it and closes it. `place` is where it will be.
fn fill(new: &Path, place: &Path, clock: &dyn Clock) -> Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(new, flags)?;
    connection.pragma_update(None, "application_id", open::APPLICATION_ID)?;
    open::set_wal(&connection)?;
    open::prepare(&connection)?;
    let transaction = connection.transaction()?;
    SCHEMA.make(&transaction, SCHEMA_VERSION)?;
    let store_id = clock::random_hex(clock, 16).map_err(Error::io("get random bytes for", new))?;
    let values = params![store_id, clock::store_time(clock.now())];
    change_one(&transaction, include_str!("sql/mint.sql"), values)?;
    home::note(&transaction, place, open::file_identity(new)?)?;
    transaction.commit()?;
    let checkpoint = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    })?;
    if checkpoint != (0, 0, 0) {
        return Err(incomplete("the WAL was not moved into it"));
    }
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    Ok(())
}

/// Refuses a new store that is not whole by itself. Without a WAL beside it, nothing but the file is read.
fn check(new: &Path) -> Result<()> {
    let wal = open::side_file(new, "-wal");
    match wal.symlink_metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Ok(_) => return Err(incomplete("its WAL is still beside it")),
        Err(error) => return Err(Error::io("look at", wal)(error)),
    }
    let size = new.metadata().map_err(Error::io("look at", new))?.len();
    inspect::examine(new, false, |connection| {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let pages = number("PRAGMA page_count")?.saturating_mul(number("PRAGMA page_size")?);
        if u64::try_from(pages).ok() != Some(size) {
            return Err(incomplete("pages are missing"));
        }
        if connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))? != "ok" {
            return Err(incomplete("a page is damaged"));
        }
        if SCHEMA.check(connection, new)? != SCHEMA_VERSION {
            return Err(incomplete("its schema is missing"));
        }
        if number("SELECT count(*) FROM store")? != 1 {
            return Err(incomplete("its identity is missing"));
        }
        Ok(())
    })
}

fn incomplete(rule: &'static str) -> Error {
    StoreError::NotMade { rule }.into()
}
