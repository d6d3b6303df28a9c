//! The lines of a journal and the checkpoints that they name: compared with the stored ones, and appended where new.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read};

use rusqlite::Transaction;

use super::change::Change;
use super::directory::{Import, Known};
use crate::checkpoint;
use crate::digest::Digest;
use crate::error::{ChainFault, Error, Result};
use crate::event::{ChainVerifier, CheckpointPayload, Event, JournalBounds};
use crate::id::RunId;
use crate::journal::{self, Tail};
use crate::json::Object;
use crate::legacy::folder::{Folder, Found, Trouble};
use crate::legacy::layout::{self, CHECKPOINTS, CHECKPOINTS_PATH, FILE_MODE, JOURNAL, JOURNAL_PATH};
use crate::legacy::newer;
use crate::legacy::source;
use crate::run::table;

/// How many stored lines are compared at once.
const LINES_AT_ONCE: usize = 64;
/// How many events are appended at once.
const EVENTS_AT_ONCE: usize = 8;

/// What reading a journal came to.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// How many whole lines it has.
    pub(super) lines: u64,
    /// The checkpoints that its events name, each with the permission bits of its file.
    pub(super) named: HashMap<Digest, u32>,
    /// The one that is named last.
    pub(super) latest: Option<Digest>,
    /// The one that was read last, mostly the same, and what it holds.
    read_last: Option<(Digest, Object)>,
    /// What the latest one's event says of it.
    latest_payload: Option<CheckpointPayload>,
    /// The line at its end that has no newline, and its digest.
    pub(super) partial: Option<(Vec<u8>, Digest)>,
    /// Its folder of checkpoints.
    pub(super) checkpoints: Option<Folder>,
}

impl Journal {
    /// What the latest checkpoint holds; `None` where there is none.
    pub(super) fn latest_object(&mut self) -> Option<Object> {
        self.read_last.take().map(|(_, object)| object)
    }
}

impl Import<'_> {
    /// Compares the journal with the stored one, and appends what is new.
    pub(super) fn journal(&mut self) -> Result<Journal> {
        let source = self.source;
        let Some(events) = source.events.as_ref().filter(|_| source.journaled) else {
            if self.stored().sequence > 0 {
                return Err(self.fewer_lines(0));
            }
            return Ok(Journal::default());
        };
        let error = |trouble| source.error(JOURNAL_PATH, trouble);
        let gone = || Trouble::Rule("it went away meanwhile");
        let found = events.file(JOURNAL).map_err(error)?.ok_or_else(|| error(gone()))?;
        found.check_size(self.bounds.max_journal_bytes).map_err(error)?;
        if let Some(Known { tx, own: false, .. }) = &self.known {
            table::activate(tx, &source.run_id, self.now)?;
        }
        if found.mode != FILE_MODE {
            self.list(JOURNAL_PATH, found.mode, None, None);
        }
        self.lines(found, events)
    }

    fn lines(&mut self, found: Found, events: &Folder) -> Result<Journal> {
        let source = self.source;
        let checkpoints = self.open(events, CHECKPOINTS, CHECKPOINTS_PATH)?;
        let mut journal = Journal { checkpoints, ..Journal::default() };
        let error = |fault: std::io::Error| source.error(JOURNAL_PATH, fault.into());
        let mut verifier = ChainVerifier::new(JournalBounds {
            max_events: self.bounds.max_journal_events,
            max_bytes: self.bounds.max_journal_bytes,
        });
        // What is written behind the end of now is for the next import.
        let mut reader = BufReader::new(found.file.take(found.size));
        let mut stored = self.known.as_ref().map(|known| StoredLines::new(known.tx, &source.run_id));
        let mut new = NewEvents { tail: self.stored(), events: Vec::new() };
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(error)? > 0 {
            self.bytes_read += line.len() as u64;
            if line.pop_if(|last| *last == b'\n').is_none() {
                let sha256 = Digest::of(&line);
                journal.partial = Some((line, sha256));
                break;
            }
            journal.lines += 1;
            // Of another run, the end of the journal tells.
            let event = verifier.push(&line).filter(|event| event.run_id() == source.run_id.as_str());
            if let Some(event) = event {
                self.event(event, stored.as_mut(), &mut new, &mut journal)?;
            }
            line.clear();
        }
        self.append(&mut new)?;
        match verifier.finish(source.run_id.as_str()) {
            Ok(_) | Err(ChainFault::Empty) => {}
            Err(fault) => {
                let verified = JournalBounds {
                    max_events: self.bounds.max_journal_events,
                    max_bytes: self.bounds.max_journal_bytes,
                };
                if let Some(newer) = newer::in_journal(events, source.run_id.as_str(), verified) {
                    return Err(source.newer(newer));
                }
                let rule = match &fault {
                    ChainFault::RunId => {
                        "run_id mismatch: its events are of another run than the directory's name".to_owned()
                    }
                    fault => fault.to_string(),
                };
                return Err(source::refused(&source.directory, JOURNAL_PATH, fault.line(), rule));
            }
        }
        if journal.lines < self.stored().sequence.unsigned_abs() {
            return Err(self.fewer_lines(journal.lines));
        }
        self.read_latest(&mut journal)?;
        Ok(journal)
    }

    fn fewer_lines(&self, lines: u64) -> Error {
        let stored = self.stored().sequence;
        self.source.refuse(
            JOURNAL_PATH,
            format!("it has {lines} lines, and the store has {stored} of it: a journal never goes back"),
        )
    }

    /// Compares an event, the journal's last so far, with the stored one, or adds it to `new` and stores its checkpoint.
    fn event(
        &mut self,
        event: Event,
        stored: Option<&mut StoredLines<'_>>,
        new: &mut NewEvents,
        journal: &mut Journal,
    ) -> Result<()> {
        let (source, line) = (self.source, journal.lines);
        let payload = event
            .is_checkpoint()
            .then(|| CheckpointPayload::parse(event.payload(), self.bounds.max_checkpoint_bytes))
            .transpose()
            .map_err(|fault| source.refuse_line(line, &fault.to_string()))?;
        let stored = stored.filter(|_| event.sequence() <= self.stored().sequence);
        let is_new = stored.is_none();
        if let Some(stored) = stored {
            if stored.next()?.as_deref() != Some(event.line()) {
                return Err(source.refuse_line(line, "it is not the line that the store has in this place"));
            }
        } else if self.own() {
            let rule = "it is new, and the run lives in a directory of this store's own";
            return Err(source.refuse_line(line, rule));
        }
        if let Some(payload) = payload {
            if !journal.named.contains_key(&payload.sha256) {
                let (mode, body, object) = self.read_checkpoint(&payload, journal)?;
                journal.named.insert(payload.sha256, mode);
                journal.read_last = Some((payload.sha256, object));
                self.change(Change::Checkpoint { sha256: payload.sha256, body })?;
            }
            journal.latest = Some(payload.sha256);
            journal.latest_payload = Some(payload);
        }
        if is_new {
            new.events.push(event);
            if new.events.len() == EVENTS_AT_ONCE {
                self.append(new)?;
            }
        }
        Ok(())
    }

    /// Appends what has been read; the checkpoints are in the store already.
    fn append(&mut self, new: &mut NewEvents) -> Result<()> {
        let events = std::mem::take(&mut new.events);
        let tail = new.tail;
        let Some(last) = events.last() else { return Ok(()) };
        new.tail = Tail {
            sequence: last.sequence(),
            digest: Some(last.event_digest()),
            bytes: events.iter().fold(tail.bytes, |bytes, event| bytes + event.line().len() as u64 + 1),
        };
        self.change(Change::Events { tail, events })
    }

    /// Reads the latest checkpoint again where another one was read after it: a line named it that had been named before.
    fn read_latest(&mut self, journal: &mut Journal) -> Result<()> {
        let is_at_hand = journal.read_last.as_ref().map(|(sha256, _)| *sha256) == journal.latest;
        if let Some(payload) = journal.latest_payload.take()
            && !is_at_hand
        {
            let (_, _, object) = self.read_checkpoint(&payload, journal)?;
            journal.read_last = Some((payload.sha256, object));
        }
        Ok(())
    }

    /// Reads the checkpoint that the last line names: the mode of its file, its bytes, and what it holds. The file's name is
    /// made of the digest, whatever the payload says.
    fn read_checkpoint(
        &mut self,
        payload: &CheckpointPayload,
        journal: &Journal,
    ) -> Result<(u32, Vec<u8>, Object)> {
        let source = self.source;
        let name = layout::checkpoint_name(payload.sha256);
        let path = format!("{CHECKPOINTS_PATH}/{name}");
        let found = journal.checkpoints.as_ref().map(|folder| folder.file(&name)).transpose();
        let Some(found) = found.map_err(|trouble| source.error(&path, trouble))?.flatten() else {
            let line = journal.lines;
            return Err(
                source.refuse(&path, format!("line {line} of the journal names it, and it is not there"))
            );
        };
        let mode = found.mode;
        let body = self.read(found, &path, self.bounds.max_checkpoint_bytes)?;
        let object =
            checkpoint::validate(payload, &body).map_err(|fault| source.refuse(&path, fault.to_string()))?;
        Ok((mode, body, object))
    }
}

/// Events that the store does not have yet, and what they follow.
struct NewEvents {
    tail: Tail,
    events: Vec<Event>,
}

/// The stored journal of a run, line by line.
struct StoredLines<'a> {
    tx: &'a Transaction<'a>,
    run_id: &'a RunId,
    read: i64,
    lines: VecDeque<String>,
}

impl<'a> StoredLines<'a> {
    fn new(tx: &'a Transaction<'a>, run_id: &'a RunId) -> Self {
        Self { tx, run_id, read: 0, lines: VecDeque::new() }
    }

    fn next(&mut self) -> Result<Option<String>> {
        if self.lines.is_empty() {
            self.lines = journal::lines(self.tx, self.run_id.as_str(), self.read, LINES_AT_ONCE)?.into();
            self.read += self.lines.len() as i64;
        }
        Ok(self.lines.pop_front())
    }
}
