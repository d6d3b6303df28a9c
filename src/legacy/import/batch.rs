//! Which directories share a transaction, and what becomes of them where it fails.
//!
//! Not here: what is taken of a directory.

use std::path::{Path, PathBuf};

use rusqlite::Transaction;

use super::Imported;
use super::directory::Import;
use crate::clock::store_time;
use crate::db::Store;
use crate::error::Result;
use crate::journal::{self, Bounds};
use crate::legacy::source::Source;
use crate::step::Step;

/// How many directories share a transaction at most. Other writers wait until it ends, some tens of milliseconds with
/// usual directories, and a crash loses so much work; with more of them the cost of its sync would hardly be less of each.
const MOST_DIRECTORIES: usize = 64;

/// No directory is added to a transaction for which so many bytes have been read, for the same reasons.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Takes one directory in a transaction of its own.
pub(super) fn alone(store: &Store, directory: &Path) -> Result<Imported> {
    let source = Source::open(directory)?;
    let imported = store.write(|tx| {
        let now = store_time(store.clock().now());
        let imported = Import::begin(tx, &source, &now, journal::bounds(tx)?)?.take()?;
        store.reached(Step::BeforeCommit);
        Ok(imported)
    })?;
    store.reached(Step::Committed);
    Ok(imported)
}

/// Takes directories from the front of `directories`, as many as share a transaction, and gives what came of each; at least
/// of the first. What is given as taken is committed. Without `keep_going` a fault is the last.
pub(super) fn front(store: &Store, directories: &[PathBuf], keep_going: bool) -> Vec<Result<Imported>> {
    if let [only] = directories {
        return vec![alone(store, only)];
    }
    let mut outcomes = Vec::new();
    let committed = store.write(|tx| {
        together(store, tx, directories, keep_going, &mut outcomes)?;
        store.reached(Step::BeforeCommit);
        Ok(())
    });
    match committed {
        Ok(()) => {
            store.reached(Step::Committed);
            outcomes
        }
        // It could not be begun, or the first directory ended it.
        Err(error) if outcomes.is_empty() => vec![Err(error)],
        // Nothing of these is in the store, though they may be without fault: a later directory ended the transaction, or
        // it could not be committed. Each alone comes to what it would have come to without the others.
        Err(_) => one_by_one(store, directories.iter().take(outcomes.len()), keep_going),
    }
}

fn one_by_one<'a>(
    store: &Store,
    directories: impl Iterator<Item = &'a PathBuf>,
    keep_going: bool,
) -> Vec<Result<Imported>> {
    let mut outcomes = Vec::new();
    for directory in directories {
        let outcome = alone(store, directory);
        let is_last = outcome.is_err() && !keep_going;
        outcomes.push(outcome);
        if is_last {
            break;
        }
    }
    outcomes
}

/// Adds directories to the transaction until it has enough, and what came of each to `outcomes`.
///
/// # Errors
/// What ended the whole transaction, the directory at hand is not among `outcomes` then.
fn together(
    store: &Store,
    tx: &Transaction<'_>,
    directories: &[PathBuf],
    keep_going: bool,
    outcomes: &mut Vec<Result<Imported>>,
) -> Result<()> {
    let bounds = journal::bounds(tx)?;
    let mut bytes = 0;
    for directory in directories.iter().take(MOST_DIRECTORIES) {
        let now = store_time(store.clock().now());
        let outcome = in_savepoint(tx, || taken(tx, directory, &now, bounds, &mut bytes))?;
        let is_last = outcome.is_err() && !keep_going;
        outcomes.push(outcome);
        if is_last || bytes >= MOST_BYTES {
            break;
        }
    }
    Ok(())
}

/// Takes one directory, and adds what was read of it to `bytes`, a fault or not.
fn taken(
    tx: &Transaction<'_>,
    directory: &Path,
    now: &str,
    bounds: Bounds,
    bytes: &mut u64,
) -> Result<Imported> {
    let source = Source::open(directory)?;
    let mut import = Import::begin(tx, &source, now, bounds)?;
    let outcome = import.take();
    *bytes += import.bytes_read;
    outcome
}

/// Runs `work` in a savepoint, and undoes it where `work` fails.
///
/// # Errors
/// What ended the transaction itself, which SQLite does at a full disk, say; or why the savepoint can't be undone.
fn in_savepoint<T>(tx: &Transaction<'_>, work: impl FnOnce() -> Result<T>) -> Result<Result<T>> {
    let run = |sql| tx.prepare_cached(sql)?.execute([]);
    run("SAVEPOINT directory")?;
    let outcome = work();
    match outcome {
        Err(error) if tx.is_autocommit() => return Err(error),
        Err(_) => run("ROLLBACK TO directory")?,
        Ok(_) => 0,
    };
    run("RELEASE directory")?;
    Ok(outcome)
}
