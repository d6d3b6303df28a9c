//! Which directories share a transaction, and what becomes of them where one has a fault.
//!
//! A fault rolls the whole transaction back; the directories before it, which had none, are taken again without it. So a
//! directory is taken twice at most, unless the store itself is in trouble. (A savepoint for each would undo one alone, but
//! as long as it is open SQLite keeps the pages that each statement changes: many times what the directory holds, and of a
//! long journal without end. Faults are rare.)
//! Not here: what is taken of a directory.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;

use rusqlite::Transaction;

use super::Imported;
use super::change::{Changes, Outbox, Parcel};
use super::directory::{Import, Known};
use crate::clock::store_time;
use crate::db::Store;
use crate::error::{Error, Result};
use crate::id::RunId;
use crate::journal::{self, Bounds};
use crate::legacy::source::Source;
use crate::run::table;
use crate::step::Step;

/// How many directories share a transaction at most. Other writers wait until it ends, about a tenth of a second with
/// usual directories, and a crash loses so much work; with more of them the cost of its sync would hardly be less of each.
const MOST_DIRECTORIES: usize = 128;

/// No directory is added to a transaction for which so many bytes have been read, for the same reasons.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Below so many directories no other thread is worth its beginning.
const FEW_DIRECTORIES: usize = 4;

/// How many parcels wait to be written: enough that the reading thread hardly waits, few enough to bound memory.
const PARCELS_AHEAD: usize = 4;

/// Takes one directory in a transaction of its own.
pub(super) fn alone(store: &Store, directory: &Path) -> Result<Imported> {
    let source = Source::open(directory)?;
    let imported = store.write(|tx| {
        let now = store_time(store.clock().now());
        let known = Known::find(tx, &source.run_id)?;
        let imported = Import::begin(Changes::Now(tx), &source, known, &now, journal::bounds(tx)?).take()?;
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
    let sound = match together(store, directories) {
        Ok(taken) => return taken.into_iter().map(Ok).collect(),
        Err(RolledBack { sound: 0, error }) => return vec![Err(error)],
        // What kept the one behind them out is found again when it is the first.
        Err(RolledBack { sound, .. }) => directories.get(..sound).unwrap_or_default(),
    };
    match together(store, sound) {
        Ok(taken) => taken.into_iter().map(Ok).collect(),
        // The trouble is the store's, or they have changed: each alone comes to what it would come to without the others.
        Err(_) => one_by_one(store, sound, keep_going),
    }
}

fn one_by_one(store: &Store, directories: &[PathBuf], keep_going: bool) -> Vec<Result<Imported>> {
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

/// A transaction of which nothing is in the store.
struct RolledBack {
    /// How many directories were taken in it without a fault.
    sound: usize,
    /// Why the next one was not; or why the transaction was not begun, or not committed.
    error: Error,
}

/// Takes directories from the front of `directories` in one transaction, until it has enough of them.
fn together(store: &Store, directories: &[PathBuf]) -> Result<Vec<Imported>, RolledBack> {
    let directories = directories.get(..MOST_DIRECTORIES).unwrap_or(directories);
    let mut taken = Vec::new();
    let committed = store.write(|tx| {
        let now = store_time(store.clock().now());
        let bounds = journal::bounds(tx)?;
        if directories.len() < FEW_DIRECTORIES || !are_new(tx, directories)? {
            in_turn(tx, directories, &now, bounds, &mut taken)?;
        } else {
            ahead(tx, directories, &now, bounds, &mut taken)?;
        }
        store.reached(Step::BeforeCommit);
        Ok(())
    });
    match committed {
        Ok(()) => {
            store.reached(Step::Committed);
            Ok(taken)
        }
        Err(error) => Err(RolledBack { sound: taken.len(), error }),
    }
}

/// Reads and writes one directory after the other.
fn in_turn(
    tx: &Transaction<'_>,
    directories: &[PathBuf],
    now: &str,
    bounds: Bounds,
    taken: &mut Vec<Imported>,
) -> Result<()> {
    let mut bytes = 0;
    for directory in directories {
        let source = Source::open(directory)?;
        let known = Known::find(tx, &source.run_id)?;
        let mut import = Import::begin(Changes::Now(tx), &source, known, now, bounds);
        taken.push(import.take()?);
        bytes += import.bytes_read;
        if bytes >= MOST_BYTES {
            break;
        }
    }
    Ok(())
}

/// Writes one directory while another thread reads those behind it. To read one and to check all digests in it takes about
/// half as long as to write it, and nothing has to be asked of the store for a run that is new.
fn ahead(
    tx: &Transaction<'_>,
    directories: &[PathBuf],
    now: &str,
    bounds: Bounds,
    taken: &mut Vec<Imported>,
) -> Result<()> {
    thread::scope(|scope| {
        let (to, parcels) = sync_channel(PARCELS_AHEAD);
        let read = move || read_ahead(Outbox::new(to), directories, now, bounds);
        if thread::Builder::new().spawn_scoped(scope, read).is_err() {
            // The system gives no thread: slower, and no fault.
            return in_turn(tx, directories, now, bounds, taken);
        }
        for parcel in parcels {
            let Parcel { run_id, changes, taken: whole } = parcel?;
            for change in changes {
                change.make(tx, &run_id, now)?;
            }
            taken.extend(whole);
        }
        Ok(())
    })
}

/// Reads directories, all of new runs, until there are enough of them, one has a fault, or nobody wants them any more.
fn read_ahead(mut outbox: Outbox, directories: &[PathBuf], now: &str, bounds: Bounds) {
    let mut bytes = 0;
    for directory in directories {
        let outcome = Source::open(directory).and_then(|source| {
            let mut import = Import::begin(Changes::Ahead(&mut outbox), &source, None, now, bounds);
            let taken = import.take();
            bytes += import.bytes_read;
            taken
        });
        let is_last = outcome.is_err() || bytes >= MOST_BYTES;
        outbox.end(outcome);
        if is_last || outbox.is_closed() {
            break;
        }
    }
}

/// Whether the store has none of these runs. (One that comes twice is a fault the second time, and known the next time.)
fn are_new(tx: &Transaction<'_>, directories: &[PathBuf]) -> Result<bool> {
    for directory in directories {
        let name = directory.file_name().and_then(|name| name.to_str());
        // Of a name that is no run's the reading tells.
        let Some(run_id) = name.and_then(|name| RunId::parse(name).ok()) else { return Ok(false) };
        if table::find(tx, &run_id)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}
