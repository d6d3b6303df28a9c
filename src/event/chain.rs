//! What makes a journal of events: one run, sequences from 1 without a gap, links that hold, no key twice, within bounds.
//!
//! The verifier takes one line after another, so that a caller decides what it keeps: memory is one event and the set of
//! idempotency keys. It never skips or repairs; the first fault is the journal's.

use std::collections::HashSet;

use super::envelope::Event;
use super::payload::CheckpointPayload;
use crate::digest::Digest;
use crate::error::ChainFault;

/// How much of a journal is read at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalBounds {
    /// The most events.
    pub max_events: u64,
    /// The most bytes of all lines with their newlines.
    pub max_bytes: u64,
}

impl JournalBounds {
    /// The fixed bounds of the legacy programs: 512 events and 8 MiB. A store has its own bounds, in its settings.
    pub const LEGACY: Self = Self { max_events: 512, max_bytes: 8 * 1024 * 1024 };
}

/// A journal's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last event's sequence.
    pub sequence: i64,
    /// The last event's digest.
    pub digest: Digest,
}

/// Checks a journal line by line.
#[derive(Debug)]
pub struct ChainVerifier {
    bounds: JournalBounds,
    lines: u64,
    bytes: u64,
    run_id: String,
    head: Option<Head>,
    keys: HashSet<String>,
    fault: Option<ChainFault>,
}

impl ChainVerifier {
    /// A verifier that has seen nothing yet.
    pub fn new(bounds: JournalBounds) -> Self {
        Self {
            bounds,
            lines: 0,
            bytes: 0,
            run_id: String::new(),
            head: None,
            keys: HashSet::new(),
            fault: None,
        }
    }

    /// Takes the next line, without its newline, and gives its event where the journal is whole so far.
    ///
    /// After a fault the lines are only counted, no longer parsed: an exceeded bound comes before any other fault,
    /// wherever it is found, and [`ChainVerifier::finish`] tells which it was.
    pub fn push(&mut self, line: &[u8]) -> Option<Event> {
        self.lines += 1;
        self.bytes = self.bytes.saturating_add(line.len() as u64 + 1);
        if let Some(fault) = self.exceeded_bound() {
            self.fault = Some(fault);
        }
        if self.fault.is_some() {
            return None;
        }
        match self.next_event(line) {
            Ok(event) => Some(event),
            Err(fault) => {
                self.fault = Some(fault);
                None
            }
        }
    }

    fn exceeded_bound(&self) -> Option<ChainFault> {
        let JournalBounds { max_events, max_bytes } = self.bounds;
        if self.bytes > max_bytes {
            Some(ChainFault::TooManyBytes { limit: max_bytes })
        } else if self.lines > max_events {
            Some(ChainFault::TooManyEvents { limit: max_events })
        } else {
            None
        }
    }

    fn next_event(&mut self, line: &[u8]) -> Result<Event, ChainFault> {
        let event = Event::parse_line(line).map_err(|error| ChainFault::Event { line: self.lines, error })?;
        let line = self.lines;
        if u64::try_from(event.sequence()) != Ok(line) {
            return Err(ChainFault::Sequence { line });
        }
        if event.previous_digest() != self.head.map(|head| head.digest) {
            return Err(ChainFault::Link { line });
        }
        if self.head.is_none() {
            self.run_id = event.run_id().to_owned();
        } else if self.run_id != event.run_id() {
            return Err(ChainFault::MixedRuns { line });
        }
        if !self.keys.insert(event.idempotency_key().to_owned()) {
            return Err(ChainFault::RepeatedKey { line });
        }
        self.head = Some(Head { sequence: event.sequence(), digest: event.event_digest() });
        Ok(event)
    }

    /// Ends the journal, which is to be that of `run_id`, and gives its head.
    ///
    /// # Errors
    /// An exceeded bound, else the first fault, else that the journal is empty, else that it is another run's (in the
    /// order of contract recovery.md, Doctor).
    pub fn finish(self, run_id: &str) -> Result<Head, ChainFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let head = self.head.ok_or(ChainFault::Empty)?;
        if self.run_id == run_id { Ok(head) } else { Err(ChainFault::RunId) }
    }
}

/// A whole journal in memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// All events in order; one at least.
    pub events: Vec<Event>,
    /// The last one's sequence and digest.
    pub head: Head,
}

impl Chain {
    /// The latest checkpoint event and the events after it.
    pub fn latest_checkpoint(&self) -> Option<(&Event, &[Event])> {
        let at = self.events.iter().rposition(Event::is_checkpoint)?;
        let (before, tail) = self.events.split_at_checked(at + 1)?;
        Some((before.last()?, tail))
    }
}

/// Checks the lines (without newlines) of the journal of `run_id` and keeps the events. Cost: linear in the bytes; all
/// events are in memory, so a caller with a raised bound that needs a few of them uses a [`ChainVerifier`].
///
/// # Errors
/// As [`ChainVerifier::finish`].
pub fn verify_chain<L: AsRef<[u8]>>(
    lines: impl IntoIterator<Item = L>,
    run_id: &str,
    bounds: JournalBounds,
) -> Result<Chain, ChainFault> {
    let mut verifier = ChainVerifier::new(bounds);
    let mut events = Vec::new();
    for line in lines {
        events.extend(verifier.push(line.as_ref()));
    }
    Ok(Chain { head: verifier.finish(run_id)?, events })
}

/// Whether the latest checkpoint accounts for the end of its journal (seed recovery-checkpoints.txt, Coverage semantics).
///
/// `tail` holds the events after it, `status` is the string status of its snapshot. Covered: no event at all, or exactly
/// one, of the paired type, that tells this very status.
pub fn covered(checkpoint: &CheckpointPayload, tail: &[Event], status: Option<&str>) -> bool {
    match tail {
        [] => true,
        [event] => {
            checkpoint.paired_event_type == Some(event.event_type())
                && event.status().is_some_and(|told| Some(told) == status)
        }
        _ => false,
    }
}
