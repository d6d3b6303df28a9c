//! The journal of a run: its events in a hash chain. Owns the table `events`.
//!
//! Appending is the caller's transaction: events that belong together become durable together. The triggers of the
//! table hold sequence, link, registry and bounds for every writer; what SQL cannot do, hashing, was done when the
//! [`Event`] was made. Cost of an append: a few index look-ups, however long the journal is.

use rusqlite::{OptionalExtension, Transaction, named_params, params};

use crate::db::{change, change_one, column};
use crate::digest::Digest;
use crate::error::{JournalError, Result};
use crate::event::{Event, EventInput, recurring_key};
use crate::json::Object;

/// Events kept free for a terminal status (contract events.md, The write path).
const RESERVED_EVENTS: u64 = 2;
/// Bytes kept free for a terminal status.
const RESERVED_BYTES: u64 = 32 * 1024;

/// The store's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Events that one run's journal may hold.
    pub max_journal_events: u64,
    /// Bytes of one run's journal, newlines counted.
    pub max_journal_bytes: u64,
    /// Bytes of one snapshot.
    pub max_checkpoint_bytes: u64,
}

/// Reads the bounds from `settings`.
pub(crate) fn bounds(tx: &Transaction<'_>) -> Result<Bounds> {
    let mut statement = tx.prepare_cached(include_str!("sql/bounds.sql"))?;
    Ok(statement.query_row([], |row| {
        Ok(Bounds {
            max_journal_events: column(row, 0)?,
            max_journal_bytes: column(row, 1)?,
            max_checkpoint_bytes: column(row, 2)?,
        })
    })?)
}

/// Whether `used` is three quarters of `bound` or more.
pub(crate) fn is_near(used: u64, bound: u64) -> bool {
    used >= bound.div_ceil(4) * 3
}

/// A bound of which a run has used three quarters or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearBound {
    /// The setting.
    pub key: &'static str,
    /// What the run uses of it.
    pub used: u64,
    /// Its value.
    pub bound: u64,
}

/// The bounds that the journal of `run_id` and its latest snapshot are near.
pub(crate) fn near_bounds(tx: &Transaction<'_>, run_id: &str) -> Result<Vec<NearBound>> {
    let bounds = bounds(tx)?;
    let end = tail(tx, run_id)?;
    let mut statement = tx.prepare_cached(include_str!("sql/latest_size.sql"))?;
    let snapshot: Option<u64> =
        statement.query_row(named_params! { ":run_id": run_id }, |row| column(row, 0)).optional()?;
    let used = [
        ("max-journal-events", end.sequence.unsigned_abs(), bounds.max_journal_events),
        ("max-journal-bytes", end.bytes, bounds.max_journal_bytes),
        ("max-checkpoint-bytes", snapshot.unwrap_or(0), bounds.max_checkpoint_bytes),
    ];
    let near = used.into_iter().filter(|(_, used, bound)| is_near(*used, *bound));
    Ok(near.map(|(key, used, bound)| NearBound { key, used, bound }).collect())
}

/// Where a journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    /// The last sequence; 0 for an empty journal.
    pub(crate) sequence: i64,
    /// The last event's digest; `None` for an empty journal.
    pub(crate) digest: Option<Digest>,
    /// Bytes of all lines with their newlines.
    pub(crate) bytes: u64,
}

/// The tail of `run_id`'s journal, as its last row says.
pub(crate) fn tail(tx: &Transaction<'_>, run_id: &str) -> Result<Tail> {
    Ok(last(tx, run_id)?.0)
}

/// The tail of `run_id`'s journal, for a write: its last event is believed only after its digests were computed anew,
/// because what is written is chained onto it.
pub(crate) fn believed_tail(tx: &Transaction<'_>, run_id: &str) -> Result<Tail> {
    let (tail, line) = last(tx, run_id)?;
    let Some(line) = line else { return Ok(tail) };
    let is_last = |event: &Event| {
        event.run_id() == run_id
            && event.sequence() == tail.sequence
            && Some(event.event_digest()) == tail.digest
    };
    match Event::parse_line(line.as_bytes()) {
        Ok(event) if is_last(&event) => Ok(tail),
        _ => Err(JournalError::Damaged {
            run_id: run_id.to_owned(),
            sequence: tail.sequence,
            rule: "the last event is not the one that its digest is of",
        }
        .into()),
    }
}

/// The tail and the last line, as the last row says.
fn last(tx: &Transaction<'_>, run_id: &str) -> Result<(Tail, Option<String>)> {
    let mut statement = tx.prepare_cached(include_str!("sql/tail.sql"))?;
    let row: Option<(i64, Option<String>, u64, String)> = statement
        .query_row([run_id], |row| Ok((column(row, 0)?, column(row, 1)?, column(row, 2)?, column(row, 3)?)))
        .optional()?;
    let Some((sequence, digest, bytes, line)) = row else {
        return Ok((Tail { sequence: 0, digest: None, bytes: 0 }, None));
    };
    let digest = digest.as_deref().and_then(Digest::parse).ok_or_else(|| JournalError::Damaged {
        run_id: run_id.to_owned(),
        sequence,
        rule: "the last event has no digest",
    })?;
    Ok((Tail { sequence, digest: Some(digest), bytes }, Some(line)))
}

/// The latest checkpoint event of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LatestCheckpoint {
    /// Its sequence.
    pub(crate) sequence: i64,
    /// The checkpoint that it names.
    pub(crate) sha256: Digest,
    /// The type of the status event that was written with it.
    pub(crate) paired_event_type: Option<String>,
}

/// The latest checkpoint event at or before `up_to` (`i64::MAX`: of all).
pub(crate) fn latest_checkpoint(
    tx: &Transaction<'_>,
    run_id: &str,
    up_to: i64,
) -> Result<Option<LatestCheckpoint>> {
    let mut statement = tx.prepare_cached(include_str!("sql/latest_checkpoint.sql"))?;
    let row: Option<(i64, Option<String>, Option<String>)> = statement
        .query_row(params![run_id, up_to], |row| Ok((column(row, 0)?, column(row, 1)?, column(row, 2)?)))
        .optional()?;
    let Some((sequence, sha256, paired_event_type)) = row else { return Ok(None) };
    let sha256 = sha256.as_deref().and_then(Digest::parse).ok_or_else(|| JournalError::Damaged {
        run_id: run_id.to_owned(),
        sequence,
        rule: "the checkpoint event names no digest",
    })?;
    Ok(Some(LatestCheckpoint { sequence, sha256, paired_event_type }))
}

/// Whether the journal holds an event other than a checkpoint.
pub(crate) fn has_status_event(tx: &Transaction<'_>, run_id: &str) -> Result<bool> {
    Ok(tx.prepare_cached(include_str!("sql/has_status_event.sql"))?.exists([run_id])?)
}

/// An event before it has its place in the chain.
pub(crate) struct NewEvent<'a> {
    /// A registered type.
    pub(crate) event_type: &'a str,
    /// Its key; where the journal holds it already, the new sequence is put behind it.
    pub(crate) key: String,
    /// Its payload.
    pub(crate) payload: Object,
}

/// Makes the events that follow `tail` in order, and gives them with the tail that they lead to. Nothing is written.
///
/// # Errors
/// What the envelope refuses; SQLite's own.
pub(crate) fn chain(
    tx: &Transaction<'_>,
    run_id: &str,
    tail: Tail,
    recorded_at: &str,
    new: Vec<NewEvent<'_>>,
) -> Result<(Vec<Event>, Tail)> {
    let mut has_key = tx.prepare_cached(include_str!("sql/has_key.sql"))?;
    let mut events = Vec::with_capacity(new.len());
    let mut at = tail;
    for NewEvent { event_type, key, payload } in new {
        let sequence = at.sequence + 1;
        let taken = has_key.exists(params![run_id, key])?;
        let event = Event::new(EventInput {
            run_id,
            sequence,
            event_type,
            recorded_at,
            idempotency_key: &if taken { recurring_key(&key, sequence) } else { key },
            previous_digest: at.digest,
            payload,
        })?;
        let bytes = at.bytes + event.line().len() as u64 + 1;
        at = Tail { sequence, digest: Some(event.event_digest()), bytes };
        events.push(event);
    }
    Ok((events, at))
}

/// Refuses a write that would cross a bound; one that does not end the run leaves room for one that does.
///
/// # Errors
/// [`JournalError::TooManyEvents`], [`JournalError::TooManyBytes`].
pub(crate) fn check_bounds(
    run_id: &str,
    end: Tail,
    ends_run: bool,
    bounds: Bounds,
) -> Result<(), JournalError> {
    let (reserved_events, reserved_bytes) = if ends_run { (0, 0) } else { (RESERVED_EVENTS, RESERVED_BYTES) };
    let events = end.sequence.unsigned_abs();
    if events + reserved_events > bounds.max_journal_events {
        return Err(JournalError::TooManyEvents {
            run_id: run_id.to_owned(),
            would_hold: events,
            bound: bounds.max_journal_events,
            reserved: !ends_run,
        });
    }
    if end.bytes + reserved_bytes > bounds.max_journal_bytes {
        return Err(JournalError::TooManyBytes {
            run_id: run_id.to_owned(),
            would_hold: end.bytes,
            bound: bounds.max_journal_bytes,
            reserved: !ends_run,
        });
    }
    Ok(())
}

/// Appends `events`, which follow `tail`. Two of them are one statement: a checkpoint and its status event mostly come
/// together, and what a statement costs by itself is a good part of what an event costs.
pub(crate) fn append(tx: &Transaction<'_>, tail: Tail, events: &[Event]) -> Result<()> {
    let mut bytes = tail.bytes;
    let mut up_to = |event: &Event| {
        bytes += event.line().len() as u64 + 1;
        bytes
    };
    for pair in events.chunks(2) {
        match pair {
            [one, two] => {
                let lines = params![one.line(), up_to(one), two.line(), up_to(two)];
                change(tx, 2, include_str!("sql/append_two.sql"), lines)?;
            }
            rest => {
                for event in rest {
                    change_one(tx, include_str!("sql/append.sql"), params![event.line(), up_to(event)])?;
                }
            }
        }
    }
    Ok(())
}

/// The lines after sequence `after`, in order, at most `limit`, as stored.
pub(crate) fn lines(tx: &Transaction<'_>, run_id: &str, after: i64, limit: usize) -> Result<Vec<String>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = tx.prepare_cached(include_str!("sql/lines.sql"))?;
    let rows = statement.query_map(params![run_id, after, limit], |row| column(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
