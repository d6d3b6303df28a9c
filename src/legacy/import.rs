//! Taking a legacy run directory into the store (contract legacy-files.md).
//!
//! One directory is one immediate transaction: run, journal, checkpoints, run.json, evidence, partial lines. A fault
//! anywhere, or a crash before the commit (step 1), leaves the store as it was; after it (step 2) all is there. The
//! directory is only read. In memory are one line, one checkpoint, run.json and the evidence file.
//!
//! What is read may be written meanwhile by a legacy program, which writes run.json last. So run.json is read first: it
//! may then be behind the journal, as after a crash, but is never one that the journal does not know yet.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use rusqlite::Transaction;

use super::folder::{Folder, Found, Trouble};
use super::kept::{self, Keepsakes, KeptFile, KeptPartial};
use super::layout::{
    self, CHECKPOINTS, CHECKPOINTS_PATH, EVENTS, EVIDENCE, EVIDENCE_PATH, FILE_MODE, JOURNAL, JOURNAL_PATH,
    QUARANTINE, QUARANTINE_PATH, ROOT, RUN_JSON,
};
use super::source::Source;
use crate::checkpoint;
use crate::clock::store_time;
use crate::db::Store;
use crate::digest::Digest;
use crate::doctor::RECEIPT_ROOM;
use crate::error::{ChainFault, Result};
use crate::event::{ChainVerifier, CheckpointPayload, Event, JournalBounds};
use crate::id::RunId;
use crate::journal::{self, Bounds, Tail};
use crate::json;
use crate::receipt;
use crate::run::last::last_snapshot;
use crate::run::{receipts, table};
use crate::step::Step;

/// The most bytes of an evidence file: sixteen records and sixteen names need far less.
const MAX_EVIDENCE: u64 = 1 << 20;
/// How many files more than events a folder may hold.
const SPARE_FILES: u64 = 1_024;
/// How many stored lines are compared at once.
const LINES_AT_ONCE: usize = 64;

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
    let source = Source::open(directory)?;
    let now = store_time(store.clock().now());
    let imported = store.write(|tx| {
        let imported = Import::begin(tx, &source, &now)?.take()?;
        store.reached(Step::BeforeCommit);
        Ok(imported)
    })?;
    store.reached(Step::Committed);
    Ok(imported)
}

/// What reading a journal came to.
#[derive(Debug, Default)]
struct Journal {
    lines: u64,
    /// The checkpoints that its events name.
    named: HashSet<Digest>,
    partial: Option<Vec<u8>>,
}

struct Import<'a> {
    tx: &'a Transaction<'a>,
    source: &'a Source,
    now: &'a str,
    bounds: Bounds,
    /// Whether the run is in the store.
    known: bool,
    /// Whether it lives in a directory of this store's.
    own: bool,
    stored: Tail,
    keep: Keepsakes,
    left_out: u64,
}

impl<'a> Import<'a> {
    fn begin(tx: &'a Transaction<'a>, source: &'a Source, now: &'a str) -> Result<Self> {
        let run = table::find(tx, &source.run_id)?;
        let own = match &run {
            Some(run) => run.run_dir.is_some() || !kept::is_import(tx, &source.run_id)?,
            None => false,
        };
        Ok(Self {
            tx,
            source,
            now,
            bounds: journal::bounds(tx)?,
            known: run.is_some(),
            own,
            stored: journal::tail(tx, source.run_id.as_str())?,
            keep: Keepsakes::default(),
            left_out: 0,
        })
    }

    fn take(mut self) -> Result<Imported> {
        let Source { run_id, events, .. } = self.source;
        let run_json = self.run_json()?;
        if !self.known {
            table::insert_imported(self.tx, run_id, self.now)?;
            kept::enter(self.tx, run_id, self.now)?;
        }
        let journal = self.journal()?;
        let partial = journal.partial.as_ref().map(|bytes| Partial {
            whole_lines: journal.lines,
            sha256: Digest::of(bytes),
            byte_size: bytes.len() as u64,
        });
        let new_events = journal.lines - self.stored.sequence.unsigned_abs();
        let mut is_new = new_events > 0;
        if !self.own {
            if let Some(events) = events {
                self.events_folder(events, journal)?;
            }
            is_new = self.keep(is_new, run_json.as_deref())?;
        }
        let outcome = match (self.known, new_events > 0, is_new) {
            (false, _, _) => Outcome::New,
            (true, true, _) => Outcome::Extended,
            (true, false, true) => Outcome::Updated,
            (true, false, false) => Outcome::Unchanged,
        };
        if matches!(outcome, Outcome::Extended | Outcome::Updated) {
            kept::touch(self.tx, run_id, self.now)?;
        }
        Ok(Imported {
            run_id: run_id.clone(),
            outcome,
            journaled: self.source.journaled,
            events: self.stored.sequence.unsigned_abs() + new_events,
            new_events,
            partial,
            left_out: self.left_out,
        })
    }

    /// Reads run.json, and lists it with the run directory itself.
    fn run_json(&mut self) -> Result<Option<Vec<u8>>> {
        let root = &self.source.root;
        self.list(ROOT, root.mode(), None, None);
        let most = self.bounds.max_checkpoint_bytes.saturating_add(RECEIPT_ROOM);
        let bytes = self.file(root, RUN_JSON, RUN_JSON, most)?;
        for name in self.names(root, ROOT)? {
            if name != RUN_JSON && name != EVENTS {
                self.left_out += 1;
            }
        }
        Ok(bytes)
    }

    /// Reads the file `name` of `folder`, whose path is `path`, and lists it with its bytes.
    fn file(&mut self, folder: &Folder, name: &str, path: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let error = |trouble| self.source.error(path, trouble);
        let Some(found) = folder.file(name).map_err(error)? else { return Ok(None) };
        let mode = found.mode;
        let bytes = found.read(most).map_err(error)?;
        self.list(path, mode, Some(Digest::of(&bytes)), Some(bytes.clone()));
        Ok(Some(bytes))
    }

    /// Compares the journal with the stored one, and appends what is new.
    fn journal(&mut self) -> Result<Journal> {
        let Some(events) = self.source.events.as_ref().filter(|_| self.source.journaled) else {
            if self.known && self.stored.sequence > 0 {
                return Err(self.fewer_lines(0));
            }
            return Ok(Journal::default());
        };
        let error = |trouble| self.source.error(JOURNAL_PATH, trouble);
        let gone = || Trouble::Rule("it went away meanwhile");
        let found = events.file(JOURNAL).map_err(error)?.ok_or_else(|| error(gone()))?;
        found.check_size(self.bounds.max_journal_bytes).map_err(error)?;
        if !self.own {
            table::activate(self.tx, &self.source.run_id, self.now)?;
        }
        if found.mode != FILE_MODE {
            self.list(JOURNAL_PATH, found.mode, None, None);
        }
        let error = |fault| self.source.error(CHECKPOINTS_PATH, fault);
        let checkpoints = events.folder(CHECKPOINTS).map_err(error)?;
        self.lines(found, checkpoints.as_ref())
    }

    fn lines(&self, found: Found, checkpoints: Option<&Folder>) -> Result<Journal> {
        let error = |fault: std::io::Error| self.source.error(JOURNAL_PATH, fault.into());
        let mut verifier = ChainVerifier::new(JournalBounds {
            max_events: self.bounds.max_journal_events,
            max_bytes: self.bounds.max_journal_bytes,
        });
        // What is written behind the end of now is for the next import.
        let mut reader = BufReader::new(found.file.take(found.size));
        let mut stored = StoredLines::new(self.tx, &self.source.run_id);
        let mut journal = Journal::default();
        let mut tail = self.stored;
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).map_err(error)? > 0 {
            if line.pop_if(|last| *last == b'\n').is_none() {
                journal.partial = Some(line);
                break;
            }
            journal.lines += 1;
            let event = verifier.push(&line);
            // Of another run, the end of the journal tells.
            if let Some(event) = event.filter(|event| event.run_id() == self.source.run_id.as_str()) {
                tail =
                    self.event(&event, journal.lines, tail, &mut stored, &mut journal.named, checkpoints)?;
            }
            line.clear();
        }
        match verifier.finish(self.source.run_id.as_str()) {
            Ok(_) | Err(ChainFault::Empty) => {}
            Err(fault) => {
                let rule = match &fault {
                    ChainFault::RunId => {
                        "run_id mismatch: its events are of another run than the directory's name".to_owned()
                    }
                    fault => fault.to_string(),
                };
                return Err(super::source::refused(&self.source.directory, JOURNAL_PATH, fault.line(), rule));
            }
        }
        if journal.lines < self.stored.sequence.unsigned_abs() {
            return Err(self.fewer_lines(journal.lines));
        }
        Ok(journal)
    }

    fn fewer_lines(&self, lines: u64) -> crate::Error {
        let stored = self.stored.sequence;
        self.source.refuse(
            JOURNAL_PATH,
            format!("it has {lines} lines, and the store has {stored} of it: a journal never goes back"),
        )
    }

    /// Compares an event with the stored one, or appends it with its checkpoint. Gives the tail after it.
    fn event(
        &self,
        event: &Event,
        line: u64,
        tail: Tail,
        stored: &mut StoredLines<'_>,
        named: &mut HashSet<Digest>,
        checkpoints: Option<&Folder>,
    ) -> Result<Tail> {
        let payload = event
            .is_checkpoint()
            .then(|| CheckpointPayload::parse(event.payload(), self.bounds.max_checkpoint_bytes))
            .transpose()
            .map_err(|fault| self.source.refuse_line(line, &fault.to_string()))?;
        if event.sequence() <= self.stored.sequence {
            if stored.next()?.as_deref() != Some(event.line()) {
                return Err(self
                    .source
                    .refuse_line(line, "it is not the line that the store has in this place"));
            }
        } else if self.own {
            let rule = "it is new, and the run lives in a directory of this store's own";
            return Err(self.source.refuse_line(line, rule));
        }
        if let Some(payload) = payload
            && named.insert(payload.sha256)
        {
            self.checkpoint(line, &payload, checkpoints)?;
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

    /// Stores the checkpoint that `line` names. The file's name is made of the digest, whatever the payload says.
    fn checkpoint(&self, line: u64, payload: &CheckpointPayload, folder: Option<&Folder>) -> Result<()> {
        let name = layout::checkpoint_name(payload.sha256);
        let path = format!("{CHECKPOINTS_PATH}/{name}");
        let error = |trouble| self.source.error(&path, trouble);
        let found = folder.map(|folder| folder.file(&name)).transpose().map_err(error)?.flatten();
        let Some(found) = found else {
            return Err(self
                .source
                .refuse(&path, format!("line {line} of the journal names it, and it is not there")));
        };
        let body = found.read(self.bounds.max_checkpoint_bytes).map_err(error)?;
        checkpoint::validate(payload, &body).map_err(|fault| self.source.refuse(&path, fault.to_string()))?;
        checkpoint::put(self.tx, payload.sha256, &body)
    }

    /// Lists what stands beside the journal.
    fn events_folder(&mut self, events: &Folder, journal: Journal) -> Result<()> {
        self.list(EVENTS, events.mode(), None, None);
        self.file(events, EVIDENCE, EVIDENCE_PATH, MAX_EVIDENCE)?;
        let open = |name, path| events.folder(name).map_err(|trouble| self.source.error(path, trouble));
        let checkpoints = open(CHECKPOINTS, CHECKPOINTS_PATH)?;
        let quarantine = open(QUARANTINE, QUARANTINE_PATH)?;
        for name in self.names(events, EVENTS)? {
            if ![JOURNAL, CHECKPOINTS, EVIDENCE, QUARANTINE].contains(&name.as_str()) {
                self.left_out += 1;
            }
        }
        if let Some(folder) = checkpoints {
            self.checkpoints_folder(&folder, &journal.named)?;
        }
        if let Some(folder) = quarantine {
            self.quarantine_folder(&folder)?;
        }
        if let Some(bytes) = journal.partial {
            self.partial(journal.lines, bytes);
        }
        Ok(())
    }

    /// Lists the checkpoints of which there is something to say, and stores those that no event names.
    fn checkpoints_folder(&mut self, folder: &Folder, named: &HashSet<Digest>) -> Result<()> {
        self.list(CHECKPOINTS_PATH, folder.mode(), None, None);
        for name in self.names(folder, CHECKPOINTS_PATH)? {
            let Some(sha256) = layout::checkpoint_of(&name) else {
                self.left_out += 1;
                continue;
            };
            let path = format!("{CHECKPOINTS_PATH}/{name}");
            let error = |trouble| self.source.error(&path, trouble);
            if named.contains(&sha256) {
                let mode = folder.mode_of(&name).map_err(error)?;
                if let Some(mode) = mode.filter(|mode| *mode != FILE_MODE) {
                    self.list(&path, mode, Some(sha256), None);
                }
                continue;
            }
            let Some(found) = folder.file(&name).map_err(error)? else { continue };
            let mode = found.mode;
            let body = found.read(self.bounds.max_checkpoint_bytes).map_err(error)?;
            if Digest::of(&body) != sha256 {
                return Err(self
                    .source
                    .refuse(&path, "digest-mismatch: its bytes have another SHA-256 than its name"));
            }
            checkpoint::put(self.tx, sha256, &body)?;
            self.list(&path, mode, Some(sha256), None);
        }
        Ok(())
    }

    fn quarantine_folder(&mut self, folder: &Folder) -> Result<()> {
        self.list(QUARANTINE_PATH, folder.mode(), None, None);
        for name in self.names(folder, QUARANTINE_PATH)? {
            let Some((whole_lines, sha256)) = layout::partial_of(&name) else {
                self.left_out += 1;
                continue;
            };
            let path = format!("{QUARANTINE_PATH}/{name}");
            let error = |trouble| self.source.error(&path, trouble);
            let Some(found) = folder.file(&name).map_err(error)? else { continue };
            let mode = found.mode;
            let bytes = found.read(self.bounds.max_journal_bytes).map_err(error)?;
            if Digest::of(&bytes) != sha256 {
                return Err(self
                    .source
                    .refuse(&path, "digest-mismatch: its bytes have another SHA-256 than its name"));
            }
            if mode != FILE_MODE {
                self.list(&path, mode, None, None);
            }
            self.keep.partials.push((KeptPartial { name, whole_lines, at_end: false, sha256 }, bytes));
        }
        Ok(())
    }

    /// Keeps the partial line at the end of the journal under a name that no file of the quarantine has.
    fn partial(&mut self, whole_lines: u64, bytes: Vec<u8>) {
        let sha256 = Digest::of(&bytes);
        let taken: HashSet<&str> =
            self.keep.partials.iter().map(|(partial, _)| partial.name.as_str()).collect();
        let name = (0..)
            .map(|again| layout::partial_name(whole_lines, sha256, again))
            .find(|name| !taken.contains(name.as_str()));
        if let Some(name) = name {
            self.keep.partials.push((KeptPartial { name, whole_lines, at_end: true, sha256 }, bytes));
        }
    }

    /// Puts what was listed in the place of what the store has, where that is something else, and notes what the run's
    /// last snapshot says. Tells whether anything is new: events are, where `has_new_events`.
    fn keep(&mut self, has_new_events: bool, run_json: Option<&[u8]>) -> Result<bool> {
        let run_id = &self.source.run_id;
        self.keep.sort();
        if !self.keep.are_kept(self.tx, run_id)? {
            self.keep.replace(self.tx, run_id, self.now)?;
        } else if !has_new_events {
            return Ok(false);
        }
        let run_json =
            run_json.and_then(|bytes| json::parse_object(bytes).ok().map(|object| (bytes, object)));
        let last = last_snapshot(self.tx, run_id)?;
        let mut said = match &last {
            Some(last) => last.object(),
            None => run_json.as_ref().map(|(_, object)| object.clone()),
        };
        // A run that a legacy recovery has ended: its receipt is in no event, and is what the run's last snapshot is.
        if let (Some(checkpoint), Some((bytes, receipt))) =
            (said.as_ref().filter(|_| last.is_some()), &run_json)
            && json::snapshot_bytes(receipt) == *bytes
            && receipt::matches_receipt(checkpoint, receipt)
        {
            let recovered_at =
                receipt.get("finished_at".as_bytes()).and_then(json::Value::as_str).unwrap_or(self.now);
            let sequence = journal::tail(self.tx, run_id.as_str())?.sequence;
            receipts::keep(self.tx, run_id, sequence, recovered_at, receipt, bytes)?;
            said = Some(receipt.clone());
        }
        if let Some(said) = said {
            table::note_snapshot(self.tx, run_id, &said)?;
        }
        Ok(true)
    }

    fn list(&mut self, path: &str, mode: u32, sha256: Option<Digest>, body: Option<Vec<u8>>) {
        self.keep.files.push((KeptFile { path: path.to_owned(), mode, sha256 }, body));
    }

    /// The names in a folder; one that is not text is counted as left out.
    fn names(&mut self, folder: &Folder, path: &str) -> Result<Vec<String>> {
        let most = self.bounds.max_journal_events.saturating_mul(2).saturating_add(SPARE_FILES);
        let names = folder.names(usize::try_from(most).unwrap_or(usize::MAX));
        let names = names.map_err(|trouble| self.source.error(path, trouble))?;
        let all = names.len();
        let names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        self.left_out += (all - names.len()) as u64;
        Ok(names)
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
