//! Taking legacy run directories into the store (contract legacy-files.md).
//!
//! A directory is taken whole or not at all: run, journal, checkpoints, run.json, evidence, partial lines. [`import`]
//! takes one in an immediate transaction of its own. [`import_all`] takes many, and many of them share a transaction, which
//! costs a sync of the disk however little is in it. A fault keeps out the directory that has it, and no other. The
//! directories are only read.
//!
//! What a crash leaves of a transaction:
//!
//! * before its commit (step 1): nothing, of none of its directories;
//! * after its commit (step 2): all of all of its directories.
//!
//! Nobody has been told of a directory before its commit. Importing the same directories again takes what is missing, and
//! writes nothing of the others.
//!
//! What is read may be written meanwhile by a legacy program, which writes run.json last. So run.json is read first: it
//! may then be behind the journal, as after a crash, but is never one that the journal does not know yet. In memory are one
//! line, one checkpoint, run.json, the evidence file and the partial lines of one directory, and what waits to be written.
//!
//! Of runs that the store does not have, the directories behind are read and checked by a second thread while those before
//! are written; it gets nothing of the store, and what it gives is bounded. All else is done in one thread.
//!
//! * `batch`: which directories share a transaction, who reads them, and what becomes of them where it fails. `change`: what
//!   is written, as values.
//! * `directory`: one directory, from its first file to what its run's row says. `journal`: the lines, and the checkpoints
//!   that they name. `folders`: what stands beside the journal.

mod batch;
mod change;
mod directory;
mod folders;
mod journal;

use std::path::{Path, PathBuf};

use crate::db::Store;
use crate::digest::Digest;
use crate::error::Result;
use crate::id::RunId;

/// What came of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The run was not known.
    New,
    /// The journal has grown since.
    Extended,
    /// The journal is the one that the store has; run.json, the evidence or another file was new.
    Updated,
    /// All was there already, and nothing was written.
    Unchanged,
}

impl Outcome {
    /// `new`, `extended`, `updated` or `unchanged`.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Extended => "extended",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A partial line at the end of a journal: kept in the quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partial {
    /// How many whole lines stand before it.
    pub whole_lines: u64,
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// Their number.
    pub byte_size: u64,
}

/// A run that was taken in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its id: the directory's name.
    pub run_id: RunId,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether it has a journal.
    pub journaled: bool,
    /// Events in its journal.
    pub events: u64,
    /// How many of them are new.
    pub new_events: u64,
    /// The partial line at the end of its journal, where there is one.
    pub partial: Option<Partial>,
    /// How many files of the directory are none that an import keeps: temporary ones, and those of other programs.
    pub left_out: u64,
}

/// Takes the legacy run directory at `directory` into the store.
///
/// Taken again it is compared with what is there: a journal that has grown is extended, and run.json, the evidence and the
/// listing are those of now. A run that was made, exported or resumed here has a directory of its own; it is compared and
/// never changed.
///
/// # Errors
/// [`LegacyError`](crate::error::LegacyError): the first fault with its file, line and rule, a journal that differs from
/// the stored one included; [`crate::Error::Io`]; the store's own. Nothing of the directory is in the store then.
pub fn import(store: &Store, directory: &Path) -> Result<Imported> {
    batch::alone(store, directory)
}

/// Takes each of the legacy run directories in turn, as [`import`] does, many in one transaction.
///
/// `each` is told of every directory that was looked at, in order: what was taken, or why nothing of it was. It is told
/// after the transaction that holds the directory is committed, so no crash undoes what it heard. After a fault the
/// directories behind it are taken where `keep_going` is set; else they are not touched, and the fault is the last thing
/// that is told. Other writers of the store wait while a transaction lasts: for 128 directories, or those of 4 MiB.
///
/// # Errors
/// What `each` gives. It is told nothing more then, and no further transaction is begun; of the last one there may be
/// directories in the store that it was not told of.
pub fn import_all<E>(
    store: &Store,
    directories: &[PathBuf],
    keep_going: bool,
    mut each: impl FnMut(&Path, Result<Imported>) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = directories;
    while !rest.is_empty() {
        let outcomes = batch::front(store, rest, keep_going);
        let later = rest.get(outcomes.len()..).unwrap_or_default();
        for (directory, outcome) in rest.iter().zip(outcomes) {
            let is_last = outcome.is_err() && !keep_going;
            each(directory, outcome)?;
            if is_last {
                return Ok(());
            }
        }
        rest = later;
    }
    Ok(())
}
