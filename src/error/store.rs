//! The store as a file and as a database.

use std::path::PathBuf;

use super::lock::bounded;
use crate::db::OddValue;

/// Why the store can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no store at this path.
    #[error("there is no store at {}", path.display())]
    Absent {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The path holds a link, a directory, a device, or a file with a second name.
    #[error("the store's path {} is refused: {rule}", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A file beside the store under the name of its `-wal` or `-shm` that breaks the same rules.
    #[error("the store's side file {} is refused: {rule}", path.display())]
    UnsafeSideFile {
        /// The side file.
        path: PathBuf,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// A store found by looking upwards that another user owns.
    #[error("the store {} belongs to another user (uid {owner})", path.display())]
    ForeignOwner {
        /// The file.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// The file is no SQLite database.
    #[error("{} is not an SQLite database", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is an SQLite database of another program.
    #[error("{} is an SQLite database of another program (application id {application_id:#010x})", path.display())]
    ForeignDatabase {
        /// The file.
        path: PathBuf,
        /// What stands in its header; 0 where no program named itself.
        application_id: i32,
    },
    /// The file has the tables of a store and is not marked as one: a dump of a store was read into a new file.
    #[error("{} holds a store's tables, but is not marked as a store: a dump lacks application_id and user_version", path.display())]
    Unmarked {
        /// The file.
        path: PathBuf,
    },
    /// The file is too short to be a database.
    #[error("the store {} is truncated: it has {size} bytes, and the smallest database has 512", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: u64,
    },
    /// The store was written by a newer legbook.
    #[error("the store {} has schema version {found}; this legbook knows versions up to {known}", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that this build knows.
        known: i64,
    },
    /// The store was made while legbook was developed, before its first supported schema.
    #[error("the store {} has a development schema (version {found}); this legbook knows versions from {first} on", path.display())]
    DevelopmentSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The oldest version that this build knows.
        first: i64,
    },
    /// A table or trigger of the store is not the one of the schema: a statement of legbook's own has no meaning here.
    #[error("{}", bounded(format!("the store's schema was changed: {said}")))]
    Schema {
        /// What is wrong with it, in one line; SQLite's own words where it noticed.
        said: String,
    },
    /// SQLite cannot open the file or make its side files: permissions, a full disk, or a link that appeared.
    #[error("cannot open the store {}: permission denied, the disk is full, or its path changed meanwhile", path.display())]
    Unopenable {
        /// The file.
        path: PathBuf,
    },
    /// The file changed at each look of an examiner that holds no lock.
    #[error("the store {} changed at each of five looks", path.display())]
    Unsettled {
        /// The file.
        path: PathBuf,
    },
    /// A rollback journal stands beside a file that an examiner may not roll back.
    #[error("a rollback journal stands beside {}: its last writer has not finished", path.display())]
    RollbackJournal {
        /// The file.
        path: PathBuf,
    },
    /// No connection for a reader.
    #[error("no connection to read the store with: {0}")]
    Pool(String),
    /// The store's file was removed or replaced while it was open: what was committed is in a file without a name.
    #[error("the store {} was removed or replaced while it was in use", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The file is a copy: the store with this id is elsewhere.
    #[error("{} is a copy of the store {}; a copy is only read", path.display(), home.display())]
    Copy {
        /// The copy.
        path: PathBuf,
        /// The store.
        home: PathBuf,
    },
    /// A new store was not whole when it was examined, and was thrown away.
    #[error("the new store is not whole, and was removed: {rule}")]
    NotMade {
        /// What it lacks.
        rule: &'static str,
    },
    /// Another process kept the store locked for longer than the busy timeout of 10 seconds.
    #[error("the store is busy: another process has kept it locked for 10 seconds")]
    Busy,
    /// A transaction took more steps than any of legbook's own: a damaged page leads in circles, or the store computes
    /// something that legbook did not ask for. It was rolled back.
    #[error("the store does not come to an end: one transaction took more steps than any of legbook's own")]
    Endless,
    /// The disk is full, or the file may not grow.
    #[error("the store cannot grow: the disk is full or a quota is reached")]
    Full,
    /// The store, its folder or its file system is read-only.
    #[error("the store is read-only")]
    ReadOnly,
    /// SQLite found the file damaged, or a row holds what legbook never writes.
    #[error("{}", bounded(format!("the store is damaged: {_0}")))]
    Corrupt(String),
    /// A column holds what legbook never writes.
    #[error("{}", bounded(format!("the store is damaged: {_0}")))]
    Value(OddValue),
    /// A trigger of the store refused the statement: the rule's own words.
    #[error("the store refuses this: {0}")]
    Refused(String),
    /// Any other error of SQLite. The statement is left out: it may be long, and says nothing to a caller.
    #[error("{}", bounded(format!("SQLite: {}", without_statement(.0))))]
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for StoreError {
    fn from(source: rusqlite::Error) -> Self {
        use rusqlite::{Error, ErrorCode, ffi};
        if let Error::FromSqlConversionFailure(_, _, odd) = &source
            && let Some(odd) = odd.downcast_ref::<OddValue>()
        {
            return Self::Value(odd.clone());
        }
        let (failure, said) = match &source {
            Error::SqliteFailure(failure, said) => (failure, said.clone()),
            Error::SqlInputError { error, msg, .. } => (error, Some(msg.clone())),
            Error::InvalidColumnType(_, column, _) => {
                return Self::Corrupt(format!("a row holds what legbook never writes, in {column}"));
            }
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..) => {
                return Self::Corrupt("a row holds what legbook never writes".to_owned());
            }
            Error::QueryReturnedNoRows => {
                return Self::Corrupt("a row that every store has is not there".to_owned());
            }
            _ => return Self::Sqlite(source),
        };
        let said = || said.unwrap_or_else(|| failure.to_string());
        match failure.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Busy,
            ErrorCode::DiskFull => Self::Full,
            // The -shm is made at the first read, and cannot be if the disk is full.
            ErrorCode::SystemIoFailure if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Self::Full,
            ErrorCode::OperationInterrupted => Self::Endless,
            ErrorCode::ReadOnly => Self::ReadOnly,
            ErrorCode::DatabaseCorrupt => Self::Corrupt(said()),
            ErrorCode::NotADatabase => Self::Corrupt("the file's header is not SQLite's".to_owned()),
            ErrorCode::ConstraintViolation => Self::Refused(said()),
            // Every statement of legbook is fixed, so one that SQLite does not understand met another schema.
            ErrorCode::Unknown if failure.extended_code == ffi::SQLITE_ERROR => Self::Schema { said: said() },
            _ => Self::Sqlite(source),
        }
    }
}

/// SQLite's words alone: rusqlite adds the whole statement to an error of preparing one.
fn without_statement(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        error => error.to_string(),
    }
}
