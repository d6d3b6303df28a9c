//! Opening a store that is only examined: nothing is written, and nobody who writes is disturbed.
//!
//! What the side files say decides how SQLite is asked (contract recovery.md, Doctor):
//!
//! * No `-wal`: nobody has the store open. It is read as an immutable file, without locks and without side files. SQLite
//!   would not notice a writer that comes meanwhile, so afterwards no `-wal` may have appeared and the file's size, mtime
//!   and inode must be the same; else all is asked again.
//! * `-wal` and `-shm`: an ordinary read-only connection, one more reader beside the writer. If nobody has the store open, SQLite
//!   reads the `-wal` itself and believes nothing of the `-shm`. It gives up ("locking protocol") after ten seconds if the
//!   header of the `-wal` is not valid. Then a private copy is read. A `-wal` that is its header and nothing else, as a
//!   writer leaves it that died before its first frame, always ends so; there the copy is read at once.
//! * `-wal` without `-shm`: the store was not closed, and nobody has it open. SQLite can't read it without making a `-shm`, so
//!   a private copy is read.
//!
//! A private copy is the bytes of the database file and of its `-wal`, and is opened with both: in the middle of a checkpoint
//! the database file alone is torn, and the `-wal` holds every page that is. The copy counts only if neither file changed meanwhile.
//!
//! The system drops all locks that a process has on a file when any descriptor of it is closed, SQLite's own too. The
//! command line's doctor has the store open nowhere else (`alone`). In another process the database file is read past SQLite only
//! when nobody has it open; if somebody came meanwhile, the descriptor stays open until the process ends ([`read_bare`]).
//! A `-wal` carries no locks.
//!
//! A crash while a store is examined leaves nothing but, at most, the private copy in the system's temporary folder.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::IntoRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{functions, migrate, open};
use crate::error::{Error, Result, StoreError};

/// How often a store that changes under an immutable look is looked at again.
const ATTEMPTS: u32 = 5;

/// The size of the header of a `-wal` (SQLite's file format, 4.1), in bytes.
const WAL_HEADER: u64 = 32;

/// The longest text or blob that a question takes in: what `max-checkpoint-bytes` can be raised to, and a row's rest.
const LONGEST_VALUE: i32 = 600 * 1024 * 1024;

/// How many steps of SQLite's machine lie between two looks at the budget.
const BUDGET_GRAIN: i32 = 10_000;

/// How many steps all questions together may take: so many, and so many more for each byte of the store. A damaged file
/// can make a question walk in circles; this ends it.
const BUDGET_BASE: u64 = 100_000_000;
const BUDGET_PER_BYTE: u64 = 50;

/// Runs `work` on a connection to the store at `path` that can only read. It may be run more than once: its last answer
/// counts. It should read in one transaction.
///
/// `alone` says that this process opens the store in no other way meanwhile, as is so for the command line's doctor. Then
/// even the `-shm` of a store whose writer was killed stays as it is, byte for byte. (A connection for writing that is
/// opened in the same process beside such a look would get a read-only `-shm`.)
///
/// # Errors
/// [`StoreError::Absent`], [`StoreError::Unsafe`], [`StoreError::Truncated`], [`StoreError::NotADatabase`],
/// [`StoreError::ForeignDatabase`], [`StoreError::Unmarked`], [`StoreError::NewerSchema`],
/// [`StoreError::DevelopmentSchema`], [`StoreError::RollbackJournal`]; [`StoreError::Unsettled`] where the file changed at
/// each of five looks; what `work` gives; [`Error::Io`].
pub(crate) fn examine<T>(
    path: &Path,
    alone: bool,
    mut work: impl FnMut(&Connection) -> Result<T>,
) -> Result<T> {
    if !open::exists(path)? {
        return Err(StoreError::Absent { path: path.to_path_buf() }.into());
    }
    let store = Examined { path: open::real_path(path)?, alone };
    for _ in 0..ATTEMPTS {
        open::check_files(&store.path)?;
        // A store is in WAL mode; one that somebody took out of it may be in the middle of a commit.
        if open::exists(&open::side_file(&store.path, "-journal"))? {
            return Err(StoreError::RollbackJournal { path: store.path }.into());
        }
        let answer = match (open::exists(&store.wal())?, open::exists(&store.shm())?) {
            (false, _) => store.as_immutable(&mut work),
            (true, true) if !store.wal_is_a_header() => store.as_reader(&mut work),
            (true, _) => store.as_copy(&mut work),
        };
        match answer {
            Ok(Some(answer)) => return answer,
            Ok(None) => {}
            // A side file went away between two looks: its last user closed the store.
            Err(Error::Io { source, path, .. })
                if source.kind() == std::io::ErrorKind::NotFound && path != store.path => {}
            Err(error) => return Err(error),
        }
    }
    Err(StoreError::Unsettled { path: path.to_path_buf() }.into())
}

/// A new in-memory database with the schema of `version`, reference tables filled: what a store of that version must
/// look like.
///
/// # Errors
/// SQLite's own.
pub(crate) fn expected_schema(version: i64) -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    migrate::SCHEMA.make(&connection, version)?;
    Ok(connection)
}

/// A new in-memory database with the tables that `sql` makes, on which doctor's questions can be asked.
///
/// # Errors
/// SQLite's own.
pub(crate) fn tables_in_memory(sql: &str) -> Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    functions::register(&connection)?;
    connection.execute_batch(sql)?;
    Ok(connection)
}

/// Whether the store at `path` behind `connection` is in WAL mode. A connection to an immutable file does not tell, so there
/// the file's header is read. `alone`: see [`examine`].
///
/// # Errors
/// [`Error::Io`]; SQLite's own.
pub(crate) fn is_wal(connection: &Connection, path: &Path, alone: bool) -> Result<bool> {
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(true);
    }
    let mut header = [0; 20];
    read_bare(path, alone, |file| file.read_exact(&mut header))?;
    // SQLite's file format, 1.3: the versions to write and to read the file with; 2 is WAL.
    Ok(header[18..] == [2, 2])
}

/// Whether the header of the file at `path` marks it as a store, whatever else is damaged. `alone`: see [`examine`].
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn is_marked(path: &Path, alone: bool) -> Result<bool> {
    let mut header = Vec::new();
    // SQLite's file format, 1.3: the application id.
    read_bare(path, alone, |file| file.take(72).read_to_end(&mut header))?;
    Ok(header.get(68..) == Some(&open::APPLICATION_ID.to_be_bytes()))
}

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    mtime: (i64, i64),
}

struct Examined {
    path: PathBuf,
    alone: bool,
}

impl Examined {
    fn wal(&self) -> PathBuf {
        open::side_file(&self.path, "-wal")
    }

    fn shm(&self) -> PathBuf {
        open::side_file(&self.path, "-shm")
    }

    fn wal_is_a_header(&self) -> bool {
        stamp(&self.wal()).is_ok_and(|stamp| stamp.size == WAL_HEADER)
    }

    /// `None`: somebody came meanwhile, what was read may be torn.
    fn as_immutable<T>(&self, work: &mut impl FnMut(&Connection) -> Result<T>) -> Result<Option<Result<T>>> {
        let before = stamp(&self.path)?;
        let answer = self.ask(&self.path, "immutable=1", work);
        let settled = !open::exists(&self.wal())? && stamp(&self.path)? == before;
        Ok(settled.then_some(answer))
    }

    /// `None`: the last user closed the store before it could be read.
    fn as_reader<T>(&self, work: &mut impl FnMut(&Connection) -> Result<T>) -> Result<Option<Result<T>>> {
        // Where nobody holds the -shm, `readonly_shm` makes SQLite read the -wal into memory of its own instead of
        // rebuilding the -shm. Where that can't be (a writer is there, and no read mark is free), it says read-only.
        let quiet = self.alone.then(|| self.ask(&self.path, "readonly_shm=1", work));
        let answer = match quiet {
            None | Some(Err(Error::Store(StoreError::ReadOnly))) => self.ask(&self.path, "", work),
            Some(answer) => answer,
        };
        if matches!(&answer, Err(Error::Store(StoreError::Sqlite(error)))
            if error.sqlite_error_code() == Some(ErrorCode::FileLockingProtocolFailed))
        {
            return self.as_copy(work);
        }
        let closed = answer.is_err() && !(open::exists(&self.wal())? && open::exists(&self.shm())?);
        Ok((!closed).then_some(answer))
    }

    /// `None`: somebody opened or changed the store while it was copied.
    fn as_copy<T>(&self, work: &mut impl FnMut(&Connection) -> Result<T>) -> Result<Option<Result<T>>> {
        let state =
            || -> Result<_> { Ok((stamp(&self.path)?, stamp(&self.wal())?, open::exists(&self.shm())?)) };
        let before = state()?;
        let folder = tempfile::Builder::new()
            .prefix("legbook-doctor.")
            .tempdir()
            .map_err(Error::io("make a folder for a private copy of", &self.path))?;
        let copy = folder.path().join("store.db");
        let copy_to = |path: &Path| {
            let path = path.to_path_buf();
            move |source: &mut File| {
                File::create_new(path).and_then(|mut target| io::copy(source, &mut target))
            }
        };
        read_bare(&self.path, self.alone, copy_to(&copy))?;
        let mut wal = File::open(self.wal()).map_err(Error::io("copy", self.wal()))?;
        copy_to(&open::side_file(&copy, "-wal"))(&mut wal).map_err(Error::io("copy", self.wal()))?;
        if state()? != before {
            return Ok(None);
        }
        Ok(Some(self.ask(&copy, "", work)))
    }

    fn ask<T>(
        &self,
        path: &Path,
        parameters: &str,
        work: &mut impl FnMut(&Connection) -> Result<T>,
    ) -> Result<T> {
        work(&self.connect(path, parameters)?)
    }

    fn budget(&self) -> Result<u64> {
        let mut bytes = stamp(&self.path)?.size;
        if open::exists(&self.wal())? {
            bytes += stamp(&self.wal())?.size;
        }
        Ok(BUDGET_BASE.saturating_add(bytes.saturating_mul(BUDGET_PER_BYTE)))
    }

    fn connect(&self, path: &Path, parameters: &str) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(uri(path, parameters), flags)
            .map_err(|error| open::opening(error, &self.path))?;
        // A store of a killed writer keeps its side files: whoever opens it for writing recovers it.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        // A view that stands where a table should is an error, not an answer.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
        open::check_identity(&connection, &self.path)?;
        migrate::SCHEMA.check(&connection, &self.path)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        open::only_read(&connection)?;
        functions::register(&connection)?;
        let mut left = self.budget()? / u64::from(BUDGET_GRAIN.unsigned_abs());
        let spent = move || {
            left = left.saturating_sub(1);
            left == 0
        };
        connection.progress_handler(BUDGET_GRAIN, Some(spent))?;
        Ok(connection)
    }
}

fn stamp(path: &Path) -> Result<Stamp> {
    let metadata = fs::symlink_metadata(path).map_err(Error::io("look at", path))?;
    Ok(Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime: (metadata.mtime(), metadata.mtime_nsec()),
    })
}

/// Reads the database file at `path` past SQLite, while nobody has it open. See the module's header for what closing
/// its descriptor would do to somebody of this process who opens it meanwhile.
fn read_bare<T>(path: &Path, alone: bool, read: impl FnOnce(&mut File) -> io::Result<T>) -> Result<T> {
    let mut file = File::open(path).map_err(Error::io("read", path))?;
    let answer = read(&mut file);
    if !alone && open::exists(&open::side_file(path, "-shm"))? {
        let _kept_open = file.into_raw_fd();
    }
    answer.map_err(Error::io("copy", path))
}

/// `path` (absolute) as an URI with `parameters`: every byte that means something in an URI is escaped.
fn uri(path: &Path, parameters: &str) -> String {
    let mut uri = String::from("file://");
    for byte in OsString::from(path).as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    if !parameters.is_empty() {
        uri.push('?');
        uri.push_str(parameters);
    }
    uri
}
