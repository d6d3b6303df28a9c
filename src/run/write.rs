//! The write path: one snapshot of a run, journaled and exported (contract events.md, The write path).
//!
//! One immediate transaction holds the checkpoint's body, the checkpoint event, the status event where the transition
//! is real, what `runs` shows of the snapshot, and the lock's last write. After its commit run.json is replaced by what
//! the store holds last by then.
//!
//! What a crash leaves (the numbers are those of [`Step`]):
//! * up to 1, before the commit: nothing of the write.
//! * from 2 to 3, after the commit and before the rename: the journal holds the write and run.json is the one before
//!   (perhaps with a `.run.json.*.tmp` beside it). The same write again appends nothing and exports; another write
//!   follows this one in the journal; recovery restores.
//! * from 4: the write is whole.
//!
//! Cost: linear in the snapshot, independent of the journal's length.

use std::path::PathBuf;

use rusqlite::Transaction;

use crate::checkpoint;
use crate::clock::{event_time, store_time};
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{CheckpointError, Error, LockError, Result, RunError};
use crate::event::{self, CHECKPOINT_EVENT_TYPE};
use crate::id::RunId;
use crate::journal::{self, NewEvent};
use crate::json::{self, Object, Text, Value};
use crate::lock::{self, Held, Judge, OwnerToken};
use crate::receipt;
use crate::shadow;
use crate::step::Step;

use super::file::{self, ExportLock, OnDisk};
use super::last::{LastSnapshot, label_to_keep, last_snapshot};
use super::table::{self, Run};

/// What a caller shows to write to a run.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// The token of the run's lock.
    pub token: Option<OwnerToken>,
    /// The process that is put on the lock where the owner on it is dead; `None`: this one.
    pub owner_pid: Option<u32>,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The run.
    pub run_id: RunId,
    /// The checkpoint event's sequence; `None` without a journal.
    pub sequence: Option<i64>,
    /// SHA-256 of the snapshot's bytes.
    pub sha256: Digest,
    /// Whether the journal held this write already, so that only the export was done.
    pub replayed: bool,
    /// The name, in the run directory, under which a run.json was kept that was never a snapshot of the run.
    pub kept_as: Option<String>,
}

/// Writes one snapshot of `run_id`: `payload` is the JSON text of an object.
///
/// Without a journal (the run never asked for one, or no lock is held yet) run.json is replaced and nothing else.
///
/// # Errors
/// [`Error::Json`] for a payload that is no object; [`RunError::NotOwner`] and the lock's own refusals; the journal's
/// and the checkpoint's bounds; `collision-mismatch`. Nothing has changed then. [`RunError::Export`]: the snapshot is
/// in the store, run.json could not be replaced.
pub fn write(store: &Store, run_id: &RunId, payload: &[u8], credentials: &Credentials) -> Result<Written> {
    // Reading and encoding come first: while the store is locked for this write nobody else can write.
    let draft = Draft::of(json::parse_object(payload)?);
    write_with(store, run_id, credentials, |_, _| Ok(draft))
}

/// A snapshot to be written, encoded.
pub(super) struct Draft {
    object: Object,
    bytes: Vec<u8>,
    sha256: Digest,
}

impl Draft {
    /// Encodes `object`.
    pub(super) fn of(object: Object) -> Self {
        let bytes = json::snapshot_bytes(&object);
        let sha256 = Digest::of(&bytes);
        Self { object, bytes, sha256 }
    }
}

/// [`write`] of the draft that `make` gives; it is called inside the transaction with the run as it is there.
pub(super) fn write_with(
    store: &Store,
    run_id: &RunId,
    credentials: &Credentials,
    make: impl FnOnce(&Transaction<'_>, &Run) -> Result<Draft>,
) -> Result<Written> {
    let placed = store.write(|tx| {
        let run = table::get(tx, run_id)?;
        let draft = make(tx, &run)?;
        place(tx, store, &run, draft, credentials)
    })?;
    store.reached(Step::Committed);
    placed.export(store, credentials)
}

/// A snapshot that is in the store (or, without a journal, checked), and not in run.json yet.
pub(super) struct Placed {
    run_dir: PathBuf,
    bytes: Vec<u8>,
    /// What run.json holds usually: the snapshot before.
    before: Option<Digest>,
    written: Written,
}

/// Puts `draft` into the transaction as the next snapshot of `run`.
pub(super) fn place(
    tx: &Transaction<'_>,
    store: &Store,
    run: &Run,
    draft: Draft,
    credentials: &Credentials,
) -> Result<Placed> {
    let run_dir = run.directory()?.to_path_buf();
    let Draft { object, bytes, sha256 } = draft;
    let held = authority(tx, run, credentials)?;
    let journaled = run.journaled || (held.is_some() && journal_requested(&run_dir, &object)?);
    let recorded = match journaled {
        true => Some(record(tx, store, run, &object, &bytes, sha256)?),
        false => None,
    };
    table::note_snapshot(tx, &run.run_id, &object)?;
    if let Some(held) = &held {
        let owner_pid = credentials.owner_pid.unwrap_or_else(std::process::id);
        lock::rehome(tx, held, &Judge::new(store), owner_pid)?;
    }
    store.reached(Step::BeforeCommit);
    let written = Written {
        run_id: run.run_id.clone(),
        sequence: recorded.as_ref().map(|recorded| recorded.sequence),
        sha256,
        replayed: recorded.as_ref().is_some_and(|recorded| recorded.replayed),
        kept_as: None,
    };
    Ok(Placed { run_dir, bytes, before: recorded.and_then(|recorded| recorded.before), written })
}

/// The last snapshot of `run` once more, to be exported; `None` if the store has none. The caller must hold the lock.
pub(super) fn place_again(
    tx: &Transaction<'_>,
    store: &Store,
    run: &Run,
    credentials: &Credentials,
) -> Result<Option<Placed>> {
    let Some(last) = last_snapshot(tx, &run.run_id)? else { return Ok(None) };
    let held = lock::hold(tx, &run.run_id, credentials.token.as_ref())?;
    let owner_pid = credentials.owner_pid.unwrap_or_else(std::process::id);
    lock::rehome(tx, &held, &Judge::new(store), owner_pid)?;
    let written = Written {
        run_id: run.run_id.clone(),
        sequence: Some(last.checkpoint.sequence),
        sha256: last.sha256,
        replayed: true,
        kept_as: None,
    };
    Ok(Some(Placed { run_dir: run.directory()?.to_path_buf(), bytes: last.bytes, before: None, written }))
}

/// The caller's hold on the run's lock.
///
/// A token that does not hold is refused whatever the run; none at all is refused where the run has a journal or a
/// lock. What is left, a run without journal and lock, is written to as the legacy programs do.
fn authority(tx: &Transaction<'_>, run: &Run, credentials: &Credentials) -> Result<Option<Held>> {
    match lock::hold(tx, &run.run_id, credentials.token.as_ref()) {
        Ok(held) => Ok(Some(held)),
        Err(Error::Lock(LockError::NotLocked { .. })) if credentials.token.is_none() => {
            if run.journaled {
                return Err(RunError::NotOwner(run.run_id.to_string()).into());
            }
            Ok(None)
        }
        Err(refusal) => Err(refusal),
    }
}

/// Whether the run asks for a journal: run.json says so or, where there is none yet, the incoming snapshot.
fn journal_requested(run_dir: &std::path::Path, incoming: &Object) -> Result<bool> {
    let on_disk = file::read(run_dir)?;
    let asked = match &on_disk {
        OnDisk::Missing => Some(incoming),
        OnDisk::Unparseable(_) => None,
        OnDisk::Snapshot(_, object) => Some(object),
    };
    Ok(asked.and_then(|object| object.get("lifecycle_journal_requested".as_bytes()))
        == Some(&Value::Bool(true)))
}

/// A snapshot in the journal.
struct Recorded {
    /// Of the checkpoint event.
    sequence: i64,
    /// Whether the event was there already.
    replayed: bool,
    /// The snapshot before.
    before: Option<Digest>,
}

/// Journals the snapshot.
fn record(
    tx: &Transaction<'_>,
    store: &Store,
    run: &Run,
    object: &Object,
    bytes: &[u8],
    sha256: Digest,
) -> Result<Recorded> {
    let run_id = run.run_id.as_str();
    let bounds = journal::bounds(tx)?;
    checkpoint::check_size(bytes, bounds.max_checkpoint_bytes)?;
    let last = last_snapshot(tx, &run.run_id)?;
    let prior = Prior::of(last.as_ref(), run)?;
    let paired = paired_event_type(tx, run_id, object, prior.status.as_deref())?;
    if let Some(last) = &last
        && is_replay(last, bytes, paired, run)?
    {
        let sequence = last.checkpoint.sequence;
        return Ok(Recorded { sequence, replayed: true, before: None });
    }

    let now = store.clock().now();
    let size = i64::try_from(bytes.len()).map_err(|_| CheckpointError::TooLarge {
        size: bytes.len() as u64,
        bound: bounds.max_checkpoint_bytes,
    })?;
    let mut new = vec![NewEvent {
        event_type: CHECKPOINT_EVENT_TYPE,
        key: event::checkpoint_key(sha256, paired),
        payload: event::checkpoint_payload(sha256, size, paired),
    }];
    if let (Some(event_type), Some(status)) = (paired, status_of(object)) {
        let payload = event::status_payload(event_type, status);
        let key = event::status_key(event_type, &payload, prior.digest)?;
        new.push(NewEvent { event_type, key, payload });
    }
    let tail = journal::believed_tail(tx, run_id)?;
    let (events, end) = journal::chain(tx, run_id, tail, &event_time(now), new)?;
    journal::check_bounds(run_id, end, receipt::is_terminal(object), bounds)?;
    checkpoint::put(tx, sha256, bytes)?;
    if !run.journaled {
        table::activate(tx, &run.run_id, &store_time(now))?;
    }
    journal::append(tx, tail, &events)?;
    shadow::compare(tx, &run.run_id, object, tail, &events, now)?;
    Ok(Recorded { sequence: tail.sequence + 1, replayed: false, before: prior.digest })
}

/// What came before the incoming snapshot.
struct Prior {
    digest: Option<Digest>,
    status: Option<String>,
}

impl Prior {
    /// The store's last snapshot; before the first, run.json on disk. A run.json that somebody edited is never prior.
    fn of(last: Option<&LastSnapshot>, run: &Run) -> Result<Self> {
        let (digest, status) = match last {
            Some(last) => (Some(last.sha256), last.status()),
            None => {
                let on_disk = file::read(run.directory()?)?;
                let status = on_disk.object().and_then(|object| object.get("status".as_bytes()));
                let status = status.and_then(Value::as_text).cloned();
                (on_disk.bytes().map(Digest::of), status)
            }
        };
        let status = status.as_ref().and_then(Text::as_str).map(str::to_owned);
        Ok(Self { digest, status })
    }
}

/// The event type that the status event of this write has, where the transition is real; else none.
fn paired_event_type(
    tx: &Transaction<'_>,
    run_id: &str,
    object: &Object,
    prior_status: Option<&str>,
) -> Result<Option<&'static str>> {
    let Some(status) = status_of(object) else { return Ok(None) };
    let Some(event_type) = event::event_type_of_status(status) else { return Ok(None) };
    let unchanged = prior_status == Some(status) && journal::has_status_event(tx, run_id)?;
    Ok((!unchanged).then_some(event_type))
}

/// Replay is decided once a write: the bytes are the store's last snapshot and the latest checkpoint's, and either
/// run.json is not those bytes (a commit that was never exported) or the latest checkpoint has this very pairing.
fn is_replay(last: &LastSnapshot, bytes: &[u8], paired: Option<&str>, run: &Run) -> Result<bool> {
    // Bytes that are stored under a digest and are not these go on to the collision that they are.
    if last.is_receipt || last.bytes != bytes {
        return Ok(false);
    }
    if last.checkpoint.paired_event_type.as_deref() == paired {
        return Ok(true);
    }
    Ok(file::read(run.directory()?)?.bytes() != Some(bytes))
}

fn status_of(object: &Object) -> Option<&str> {
    object.get("status".as_bytes()).and_then(Value::as_str)
}

impl Placed {
    /// The run directory.
    pub(super) fn run_dir(&self) -> &std::path::Path {
        &self.run_dir
    }

    /// Replaces run.json, keeping one that was never a snapshot of the run; to be called after the commit.
    ///
    /// # Errors
    /// [`RunError::Export`], with the reason in it.
    pub(super) fn export(mut self, store: &Store, credentials: &Credentials) -> Result<Written> {
        let run_id = self.written.run_id.clone();
        let direct = self.written.sequence.is_none();
        let exported = ExportLock::take(&self.run_dir, store.clock()).and_then(|lock| {
            let (current, keep) = store.read(|tx| {
                if direct && credentials.token.is_some() {
                    // A recovery may have ended the run while this process stood still.
                    lock::hold(tx, &run_id, credentials.token.as_ref())?;
                }
                // Without a journal run.json is the run itself, and nothing tells who wrote it.
                let Some(last) = last_snapshot(tx, &run_id)? else { return Ok((None, None)) };
                last.check(&run_id)?;
                let expected: Vec<Digest> = self.before.into_iter().chain([last.sha256]).collect();
                let found = file::digest(lock.run_dir())?;
                let keep = label_to_keep(tx, &run_id, found, &expected)?;
                Ok((Some(last), keep))
            })?;
            lock.replace(store, current.as_ref().map_or(self.bytes.as_slice(), |last| &last.bytes), keep)
        });
        match exported {
            Ok(kept_as) => {
                self.written.kept_as = kept_as;
                Ok(self.written)
            }
            // Without a journal nothing was committed that a reader could find.
            Err(error) if direct => Err(error),
            Err(source) => {
                Err(RunError::Export { run_id: run_id.to_string(), source: Box::new(source) }.into())
            }
        }
    }
}
