//! The lines of a journal and the checkpoints that they name: compared with the stored ones, and appended where new.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read};

use rusqlite::Transaction;

use super::directory::Import;
use crate::checkpoint;
use crate::digest::Digest;
use crate::error::{ChainFault, Error, Result};
use crate::event::{ChainVerifier, CheckpointPayload, Event, JournalBounds};
use crate::id::RunId;
use crate::journal::{self, Tail};
use crate::json::Object;
use crate::legacy::folder::{Folder, Found, Trouble};
use crate::legacy::layout::{self, CHECKPOINTS, CHECKPOINTS_PATH, FILE_MODE, JOURNAL, JOURNAL_PATH};
use crate::legacy::source;
use crate::run::table;

/// How many stored lines are compared at once.
const LINES_AT_ONCE: usize = 64;

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
    /// The line at its end that has no newline, and its digest.
    pub(super) partial: Option<(Vec<u8>, Digest)>,
    /// Its folder of checkpoints.
    pub(super) checkpoints: Option<Folder>,
}

impl Journal {
    /// What the latest checkpoint holds, where that is still at hand.
    pub(super) fn latest_at_hand(&mut self) -> Option<Object> {
        let (sha256, object) = self.read_last.take()?;
        (self.latest == Some(sha256)).then_some(object)
    }
}

impl Import<'_> {
    /// Compares the journal with the stored one, and appends what is new.
    pub(super) fn journal(&mut self) -> Result<Journal> {
        let source = self.source;
        let Some(events) = source.events.as_ref().filter(|_| source.journaled) else {
            if self.stored.sequence > 0 {
                return Err(self.fewer_lines(0));
            }
            return Ok(Journal::default());
        };
        let error = |trouble| source.error(JOURNAL_PATH, trouble);
        let gone = || Trouble::Rule("it went away meanwhile");
        let found = events.file(JOURNAL).map_err(error)?.ok_or_else(|| error(gone()))?;
        found.check_size(self.bounds.max_journal_bytes).map_err(error)?;
        if self.known && !self.own {
            table::activate(self.tx, &source.run_id, self.now)?;
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
        let mut stored = StoredLines::new(self.tx, &source.run_id);
        let mut tail = self.stored;
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
                tail = self.event(&event, tail, &mut stored, &mut journal)?;
            }
            line.clear();
        }
        match verifier.finish(source.run_id.as_str()) {
            Ok(_) | Err(ChainFault::Empty) => {}
            Err(fault) => {
                let rule = match &fault {
                    ChainFault::RunId => {
                        "run_id mismatch: its events are of another run than the directory's name".to_owned()
                    }
                    fault => fault.to_string(),
                };
                return Err(source::refused(&source.directory, JOURNAL_PATH, fault.line(), rule));
            }
        }
        if journal.lines < self.stored.sequence.unsigned_abs() {
            return Err(self.fewer_lines(journal.lines));
        }
        Ok(journal)
    }

    fn fewer_lines(&self, lines: u64) -> Error {
        let stored = self.stored.sequence;
        self.source.refuse(
            JOURNAL_PATH,
            format!("it has {lines} lines, and the store has {stored} of it: a journal never goes back"),
        )
    }

    /// Compares an event, the journal's last so far, with the stored one, or appends it with its checkpoint. Gives the tail
    /// after it.
    fn event(
        &mut self,
        event: &Event,
        tail: Tail,
        stored: &mut StoredLines<'_>,
        journal: &mut Journal,
    ) -> Result<Tail> {
        let (source, line) = (self.source, journal.lines);
        let payload = event
            .is_checkpoint()
            .then(|| CheckpointPayload::parse(event.payload(), self.bounds.max_checkpoint_bytes))
            .transpose()
            .map_err(|fault| source.refuse_line(line, &fault.to_string()))?;
        if event.sequence() <= self.stored.sequence {
            if stored.next()?.as_deref() != Some(event.line()) {
                return Err(source.refuse_line(line, "it is not the line that the store has in this place"));
            }
        } else if self.own {
            let rule = "it is new, and the run lives in a directory of this store's own";
            return Err(source.refuse_line(line, rule));
        }
        if let Some(payload) = payload {
            if !journal.named.contains_key(&payload.sha256) {
                self.checkpoint(&payload, journal)?;
            }
            journal.latest = Some(payload.sha256);
        }
        self.append(event, tail)
    }

    fn append(&self, event: &Event, tail: Tail) -> Result<Tail> {
        if event.sequence() <= self.stored.sequence {
            return Ok(tail);
        }
        journal::append(self.tx, tail, std::slice::from_ref(event))?;
        Ok(Tail {
            sequence: event.sequence(),
            digest: Some(event.event_digest()),
            bytes: tail.bytes + event.line().len() as u64 + 1,
        })
    }

    /// Stores the checkpoint that the last line names. The file's name is made of the digest, whatever the payload says.
    fn checkpoint(&mut self, payload: &CheckpointPayload, journal: &mut Journal) -> Result<()> {
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
        checkpoint::put(self.tx, payload.sha256, &body)?;
        journal.named.insert(payload.sha256, mode);
        journal.read_last = Some((payload.sha256, object));
        Ok(())
    }
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
