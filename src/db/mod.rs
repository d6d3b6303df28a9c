//! The one door to SQLite.
//!
//! A connection is opened here and nowhere else, so that permissions, pragmas and migrations hold for every room.
//! Rooms get a transaction from `Store::write` or `Store::read` and own the SQL that they run in it.
//!
//! * One write is one `BEGIN IMMEDIATE` transaction with `synchronous=FULL`: when `Store::write` returns, it is on
//!   disk; when it fails or the process dies before, nothing of it is there.
//! * One read is one deferred transaction: all that its closure sees is one state of the store.
//! * A process has one writing connection, behind a mutex. A read uses it where it is free, so that a command of one
//!   thread opens one connection; beside a busy one, reads are served by a pool.

mod change;
mod column;
mod create;
pub(crate) mod functions;
pub(crate) mod home;
pub(crate) mod inspect;
mod limits;
pub(crate) mod location;
mod migrate;
mod open;
pub(crate) mod schema;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use r2d2_sqlite::SqliteConnectionManager;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::clock::{Clock, SystemClock};
use crate::error::{Error, Result, StoreError};
use crate::process::{ProcessTable, SystemProcesses};
use crate::step::{Observer, Step, Unobserved};

pub(crate) use change::{attempt, change, change_one, delete, insert_new, swallowed};
pub use column::OddValue;
pub(crate) use column::column;
pub use home::Adopted;
pub use location::{Location, git_root, locate};
pub use migrate::SCHEMA_VERSION;
pub use open::APPLICATION_ID;

/// How many readers a process may have beside its writing connection.
const MAX_READERS: u32 = 8;

/// What a store is opened with.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The only source of time and randomness for everything done through this store.
    pub clock: Arc<dyn Clock>,
    /// Is told of each numbered step.
    pub observer: Arc<dyn Observer>,
    /// What can be seen of other processes; a lock's owner is judged by it.
    pub processes: Arc<dyn ProcessTable>,
}

impl Default for StoreOptions {
    /// The machine's clock and processes, and nobody looking on.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            observer: Arc::new(Unobserved),
            processes: Arc::new(SystemProcesses),
        }
    }
}

/// An open store.
pub struct Store {
    path: PathBuf,
    options: StoreOptions,
    main: Mutex<Connection>,
    /// What one transaction may take.
    steps: limits::Steps,
    /// The device and inode of the file that was opened.
    file: (u64, u64),
    /// Set once this file is known to be the store and no copy.
    settled: OnceLock<()>,
    readers: OnceLock<r2d2::Pool<SqliteConnectionManager>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store at `path`, making it (and missing folders, mode 0700) where there is none. An older schema is
    /// migrated in one transaction.
    ///
    /// # Errors
    /// [`StoreError`]: an unsafe path, a file that is no store, a schema that this build does not support, busy, full, read-only or damaged; or
    /// [`Error::Io`].
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let path = create::ensure(path.as_ref(), &*options.clock)?;
        Self::open_at(path, options)
    }

    /// Opens the store at `path`; where there is none, nothing is made.
    ///
    /// # Errors
    /// [`StoreError::Absent`] where there is no store; else as [`Store::open`].
    pub fn open_existing(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self> {
        let path = path.as_ref();
        if !open::exists(path)? {
            return Err(StoreError::Absent { path: path.to_path_buf() }.into());
        }
        Self::open_at(open::real_path(path)?, options)
    }

    fn open_at(path: PathBuf, options: StoreOptions) -> Result<Self> {
        let mut connection = open::connect(&path)?;
        migrate::SCHEMA.run(&mut connection, &path)?;
        let file = open::file_identity(&path)?;
        Ok(Self {
            path,
            options,
            main: Mutex::new(connection),
            steps: limits::Steps::USUAL,
            file,
            settled: OnceLock::new(),
            readers: OnceLock::new(),
        })
    }

    /// The store's file, absolute, links in its folder resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that holds the store's file; runs made without a directory of their own live in its `runs/`.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The clock that the store was opened with.
    pub fn clock(&self) -> &dyn Clock {
        &*self.options.clock
    }

    /// What can be seen of other processes from here.
    pub fn processes(&self) -> &dyn ProcessTable {
        &*self.options.processes
    }

    /// Tells the observer that `step` has been reached.
    pub(crate) fn reached(&self, step: Step) {
        self.options.observer.reached(step);
    }

    /// Runs `work` in one immediate transaction and commits it where `work` is content; else rolls back.
    ///
    /// # Errors
    /// What `work` gives, or the store's own error of beginning or committing; [`StoreError::Endless`] for a transaction
    /// that takes more steps than any of legbook's own, or [`StoreError::Schema`] with the foreign trigger that may be why;
    /// [`StoreError::Copy`] for a copy of a store.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.lock_main();
        self.settle_in(&mut connection)?;
        let answer = match self.write_in(&mut connection, work) {
            Err(Error::Store(StoreError::Endless)) => {
                limits::allow(&connection, self.steps.read)?;
                schema::refuse_changed(&connection)?;
                return Err(StoreError::Endless.into());
            }
            answer => answer?,
        };
        // Into a file that has lost its name nothing is kept.
        if open::file_identity(&self.path).ok() != Some(self.file) {
            return Err(StoreError::Replaced { path: self.path.clone() }.into());
        }
        Ok(answer)
    }

    /// Runs `work` in one read transaction.
    ///
    /// # Errors
    /// What `work` gives, or the store's own error.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        match self.main.try_lock() {
            Ok(mut connection) => self.read_in(&mut connection, work),
            Err(TryLockError::Poisoned(poisoned)) => self.read_in(&mut poisoned.into_inner(), work),
            Err(TryLockError::WouldBlock) => {
                let mut connection =
                    self.readers().get().map_err(|error| StoreError::Pool(error.to_string()))?;
                self.read_in(&mut connection, work)
            }
        }
    }

    /// A poisoned mutex is taken all the same: the transaction of the thread that panicked was rolled back when it
    /// was dropped, so the connection is as good as new.
    fn lock_main(&self) -> MutexGuard<'_, Connection> {
        self.main.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn readers(&self) -> &r2d2::Pool<SqliteConnectionManager> {
        self.readers.get_or_init(|| {
            let manager = SqliteConnectionManager::file(&self.path)
                .with_flags(open::flags())
                .with_init(|connection| open::prepare(connection).and_then(|()| open::only_read(connection)));
            r2d2::Pool::builder()
                .max_size(MAX_READERS)
                .min_idle(Some(0))
                .connection_timeout(limits::BUSY_TIMEOUT)
                .build_unchecked(manager)
        })
    }

    fn write_in<T>(
        &self,
        connection: &mut Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        limits::allow(connection, self.steps.write)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let answer = work(&transaction)?;
        transaction.commit()?;
        Ok(answer)
    }

    fn read_in<T>(
        &self,
        connection: &mut Connection,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        limits::allow(connection, self.steps.read)?;
        let transaction = connection.transaction()?;
        let answer = work(&transaction)?;
        transaction.finish().map_err(Error::from)?;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A query without an end.
    fn endless(tx: &Transaction<'_>) -> Result<i64> {
        let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        Ok(tx.query_row(sql, [], |row| row.get(0))?)
    }

    #[test]
    fn every_connection_ends_an_endless_query() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path().join("store.db"), StoreOptions::default()).unwrap();
        store.steps = limits::Steps { write: 3_000_000, read: 3_000_000 };
        let is_ended = |answer: Result<i64>| {
            assert!(matches!(answer, Err(Error::Store(StoreError::Endless))), "{answer:?}");
        };
        is_ended(store.read(endless));
        is_ended(store.write(endless));
        // While the writing connection is busy, a read gets one of the pool, and each transaction of it a new budget.
        store
            .write(|_| {
                for _ in 0..3 {
                    is_ended(store.read(endless));
                    let answer: i64 =
                        store.read(|tx| Ok(tx.query_row("SELECT 1", [], |row| row.get(0))?)).unwrap();
                    assert_eq!(answer, 1);
                }
                Ok(())
            })
            .unwrap();
    }
}
