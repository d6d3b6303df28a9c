//! Where a store is at home: whether a file is the store itself or a copy of it.
//!
//! Owns the table `home`: the path, the device and the inode that the store's file had when it was opened for writing
//! last. The rows of a store name run directories and locks outside it, so a copy that acted on them would change what
//! belongs to the original.
//!
//! * The same file (device and inode), under any path, or a file at the same path (a restored one) is the store. What has
//!   changed is noted by the first write.
//! * A file elsewhere is a *copy* while a store of the same id is at the home path, or while nobody can tell. A copy can be
//!   read; each write is refused with [`StoreError::Copy`].
//! * If nothing is at the home path, or something else, the store was moved: the first write makes its new place its home.
//!
//! The question is asked once for an open store, before its first write, in a transaction of its own if the home has to be
//! noted; a crash before or after it leaves a store that is asked again. A new store gets its home while it is made.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::change::{change, change_one, delete};
use super::{Store, column, inspect, open};
use crate::clock;
use crate::error::{Error, Result, StoreError};

/// What a file is to the store whose rows it holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The store, where it is known to be.
    Home,
    /// The store, in a place that is to be noted; with the old path if it was moved to another one.
    New { moved_from: Option<PathBuf> },
    /// A copy: the store is at `home`.
    Copy { home: PathBuf },
}

/// The place of the file `file` (device and inode) at `path`, which `connection` reads.
///
/// # Errors
/// SQLite's own.
pub(crate) fn place(connection: &Connection, path: &Path, file: (u64, u64)) -> Result<Place> {
    let kept = connection
        .prepare_cached("SELECT path, device, inode FROM home")?
        .query_row([], |row| {
            let home: Vec<u8> = column(row, 0)?;
            let file = (column::<i64>(row, 1)?.cast_unsigned(), column::<i64>(row, 2)?.cast_unsigned());
            Ok((PathBuf::from(OsStr::from_bytes(&home)), file))
        })
        .optional()?;
    let Some((home, kept)) = kept else { return Ok(Place::New { moved_from: None }) };
    Ok(match (home == path, kept == file) {
        (true, true) => Place::Home,
        (true, false) | (false, true) => Place::New { moved_from: None },
        (false, false) if is_at_home(connection, &home, kept)? => Place::Copy { home },
        (false, false) => Place::New { moved_from: Some(home) },
    })
}

/// Whether the store is at `home`, or nobody can tell that it is not.
fn is_at_home(connection: &Connection, home: &Path, kept: (u64, u64)) -> Result<bool> {
    match home.symlink_metadata() {
        Ok(there) if (there.dev(), there.ino()) == kept => return Ok(true),
        Ok(_) => {}
        Err(error) => {
            use std::io::ErrorKind::{NotADirectory, NotFound};
            return Ok(!matches!(error.kind(), NotFound | NotADirectory));
        }
    }
    let here = store_id(connection)?;
    Ok(match inspect::examine(home, false, store_id) {
        Ok(there) => there == here,
        Err(Error::Store(
            StoreError::Absent { .. }
            | StoreError::NotADatabase { .. }
            | StoreError::ForeignDatabase { .. }
            | StoreError::Unsafe { .. },
        )) => false,
        Err(_) => true,
    })
}

fn store_id(connection: &Connection) -> Result<String> {
    Ok(connection.query_row("SELECT store_id FROM store", [], |row| column(row, 0))?)
}

/// Notes that the file `file` at `path` is the store.
///
/// # Errors
/// SQLite's own.
pub(super) fn note(connection: &Connection, path: &Path, file: (u64, u64)) -> Result<()> {
    let values = params![path.as_os_str().as_bytes(), file.0.cast_signed(), file.1.cast_signed()];
    delete(connection, "home", [])?;
    change_one(connection, "INSERT INTO home (id, path, device, inode) VALUES (1, ?1, ?2, ?3)", values)
}

/// What [`Store::adopt`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adopted {
    /// The path that was the store's home before, if it was another one.
    pub moved_from: Option<PathBuf>,
    /// The new identity, if the copy was made a store of its own.
    pub new_store_id: Option<String>,
}

impl Store {
    /// Makes sure that this file is the store and not a copy of it, and notes a new place. Tells from where the store was
    /// moved, at the call that notes it.
    ///
    /// Each write asks this before it changes anything. A caller that changes files first, or tells a person of the move,
    /// asks beforehand.
    ///
    /// # Errors
    /// [`StoreError::Copy`] for a copy; SQLite's own.
    pub fn settle(&self) -> Result<Option<PathBuf>> {
        self.settle_in(&mut self.lock_main())
    }

    pub(super) fn settle_in(&self, connection: &mut Connection) -> Result<Option<PathBuf>> {
        if self.settled.get().is_some() {
            return Ok(None);
        }
        let moved_from = match place(connection, &self.path, self.file)? {
            Place::Home => None,
            Place::New { moved_from } => {
                self.write_in(connection, |tx| note(tx, &self.path, self.file))?;
                moved_from
            }
            Place::Copy { home } => {
                return Err(StoreError::Copy { path: self.path.clone(), home }.into());
            }
        };
        let _ = self.settled.set(());
        Ok(moved_from)
    }

    /// Makes this file the store, in the place where it is. A copy beside its original is refused unless `fork` says that it
    /// is to be a store of its own: then it gets a new id, and its runs get directories in `runs/` beside it, which
    /// `runs export` and `runs recover` make. The original is not touched.
    ///
    /// # Errors
    /// [`StoreError::Copy`] for a copy without `fork`; [`crate::error::RunError::PathNotUtf8`]; SQLite's own.
    pub fn adopt(&self, fork: bool) -> Result<Adopted> {
        let mut connection = self.lock_main();
        match place(&connection, &self.path, self.file)? {
            Place::Copy { .. } if fork => {
                let id = clock::random_hex(self.clock(), 16)
                    .map_err(Error::io("get random bytes for", &self.path))?;
                self.write_in(&mut connection, |tx| self.fork(tx, &id))?;
                let _ = self.settled.set(());
                Ok(Adopted { moved_from: None, new_store_id: Some(id) })
            }
            _ => Ok(Adopted { moved_from: self.settle_in(&mut connection)?, new_store_id: None }),
        }
    }

    fn fork(&self, tx: &Transaction<'_>, id: &str) -> Result<()> {
        let runs = self.folder().join("runs");
        let not_utf8 = || crate::error::RunError::PathNotUtf8(runs.clone());
        let runs = runs.to_str().ok_or_else(not_utf8)?;
        delete(tx, "home", [])?;
        change_one(tx, "UPDATE store SET store_id = ?1", [id])?;
        let given = "SELECT count(*) FROM runs WHERE run_dir IS NOT NULL";
        let rows = tx.query_row(given, [], |row| column(row, 0))?;
        let give = "UPDATE runs SET run_dir = ?1 || '/' || run_id WHERE run_dir IS NOT NULL";
        change(tx, rows, give, [runs])?;
        note(tx, &self.path, self.file)
    }
}

/// The place of the store at `path`, which `connection` reads without being able to write.
///
/// # Errors
/// SQLite's own; [`Error::Io`].
pub(crate) fn place_of_examined(connection: &Connection, path: &Path) -> Result<Place> {
    let path = open::real_path(path)?;
    place(connection, &path, open::file_identity(&path)?)
}
