//! What taking a directory writes, as values: so that one directory can be read while those before it are written.
//!
//! Nothing is decided here. What is asked of the store to decide it is for `directory` and `journal`, and they ask only
//! of a run that the store has.

use std::sync::mpsc::SyncSender;

use rusqlite::Transaction;

use super::Imported;
use crate::checkpoint;
use crate::digest::Digest;
use crate::error::Result;
use crate::event::Event;
use crate::id::RunId;
use crate::journal::{self, Tail};
use crate::json::Object;
use crate::legacy::kept::{self, Keepsakes};
use crate::run::{receipts, table};

/// One thing to be written of a run.
pub(super) enum Change {
    /// The run itself, which the store does not have.
    Run { journaled: bool },
    /// A checkpoint.
    Checkpoint { sha256: Digest, body: Vec<u8> },
    /// Events that follow `tail`.
    Events { tail: Tail, events: Vec<Event> },
    /// What stands beside the journal, of which the store has nothing.
    Keep(Keepsakes),
    /// run.json, where it is the receipt of a recovery.
    Receipt { after_sequence: i64, recovered_at: String, object: Object, bytes: Vec<u8> },
    /// What the run's last snapshot says.
    Note(Object),
}

impl Change {
    /// Writes it.
    pub(super) fn make(&self, tx: &Transaction<'_>, run_id: &RunId, now: &str) -> Result<()> {
        match self {
            Self::Run { journaled } => {
                table::insert_imported(tx, run_id, now, *journaled)?;
                kept::enter(tx, run_id, now)
            }
            Self::Checkpoint { sha256, body } => checkpoint::put(tx, *sha256, body),
            Self::Events { tail, events } => journal::append(tx, *tail, events),
            Self::Keep(keepsakes) => keepsakes.insert(tx, run_id, now),
            Self::Receipt { after_sequence, recovered_at, object, bytes } => {
                receipts::keep(tx, run_id, *after_sequence, recovered_at, object, bytes)
            }
            Self::Note(object) => table::note_snapshot(tx, run_id, object),
        }
    }

    /// About how many bytes it holds in memory.
    fn bytes(&self) -> usize {
        match self {
            Self::Checkpoint { body, .. } => body.len(),
            Self::Events { events, .. } => events.iter().map(|event| event.line().len()).sum(),
            Self::Keep(keepsakes) => keepsakes.bytes(),
            Self::Receipt { bytes, .. } => bytes.len(),
            Self::Run { .. } | Self::Note(_) => 0,
        }
    }
}

/// Where changes go.
pub(super) enum Changes<'a> {
    /// Into the transaction, at once.
    Now(&'a Transaction<'a>),
    /// To the thread that writes.
    Ahead(&'a mut Outbox),
}

impl Changes<'_> {
    /// Makes `change`, or sends it.
    pub(super) fn add(&mut self, run_id: &RunId, now: &str, change: Change) -> Result<()> {
        match self {
            Self::Now(tx) => change.make(tx, run_id, now),
            Self::Ahead(outbox) => {
                outbox.add(run_id, change);
                Ok(())
            }
        }
    }
}

/// Changes of a run in their order, and perhaps its end.
pub(super) struct Parcel {
    pub(super) run_id: RunId,
    pub(super) changes: Vec<Change>,
    /// What was taken, where these are the last changes of its directory.
    pub(super) taken: Option<Imported>,
}

/// No change is added to a parcel of so many bytes. A usual directory is one parcel, and a large one not in memory whole.
const MOST_BYTES: usize = 512 * 1024;

/// Changes that wait to be sent. Where nobody takes them any more they are dropped: whoever writes has ended with an error
/// of its own.
pub(super) struct Outbox {
    to: SyncSender<Result<Parcel>>,
    waiting: Vec<Change>,
    bytes: usize,
    closed: bool,
}

impl Outbox {
    pub(super) fn new(to: SyncSender<Result<Parcel>>) -> Self {
        Self { to, waiting: Vec::new(), bytes: 0, closed: false }
    }

    /// Whether nobody takes anything any more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    fn add(&mut self, run_id: &RunId, change: Change) {
        self.bytes += change.bytes();
        self.waiting.push(change);
        if self.bytes >= MOST_BYTES {
            self.send(run_id, None);
        }
    }

    /// Ends the directory that was read.
    pub(super) fn end(&mut self, outcome: Result<Imported>) {
        match outcome {
            Ok(taken) => self.send(&taken.run_id.clone(), Some(taken)),
            Err(error) => self.closed |= self.to.send(Err(error)).is_err(),
        }
    }

    fn send(&mut self, run_id: &RunId, taken: Option<Imported>) {
        self.bytes = 0;
        let changes = std::mem::take(&mut self.waiting);
        let parcel = Parcel { run_id: run_id.clone(), changes, taken };
        self.closed |= self.to.send(Ok(parcel)).is_err();
    }
}
