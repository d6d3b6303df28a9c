//! Taking one directory: which run it is, its run.json, and what the run's row says in the end.
//!
//! Nothing here commits. In what order the parts are read is the module's header's.

use rusqlite::Transaction;

use super::change::{Change, Changes};
use super::journal::Journal;
use super::{Imported, Outcome, Partial};
use crate::digest::Digest;
use crate::doctor::RECEIPT_ROOM;
use crate::error::Result;
use crate::id::RunId;
use crate::journal::{self, Bounds, Tail};
use crate::json::{self, Object};
use crate::legacy::folder::{Folder, Found};
use crate::legacy::kept::{self, Keepsakes, KeptFile};
use crate::legacy::layout::{DIRECTORY_MODE, EVENTS, ROOT, RUN_JSON};
use crate::legacy::source::Source;
use crate::receipt;
use crate::run::last::last_snapshot;
use crate::run::table;

/// How many files more than events a folder may hold.
const SPARE_FILES: u64 = 1_024;

/// A run that the store has.
pub(super) struct Known<'a> {
    pub(super) tx: &'a Transaction<'a>,
    /// Whether it lives in a directory of this store's.
    pub(super) own: bool,
    /// Where its journal ends.
    pub(super) stored: Tail,
}

/// A directory that is being taken.
pub(super) struct Import<'a> {
    pub(super) source: &'a Source,
    pub(super) now: &'a str,
    pub(super) bounds: Bounds,
    pub(super) changes: Changes<'a>,
    /// `None`: the run is new.
    pub(super) known: Option<Known<'a>>,
    pub(super) keep: Keepsakes,
    /// Files that are none that an import keeps.
    pub(super) left_out: u64,
    /// Bytes that were read of the directory so far.
    pub(super) bytes_read: u64,
}

impl<'a> Known<'a> {
    /// Looks what the store has of `run_id`.
    pub(super) fn find(tx: &'a Transaction<'a>, run_id: &RunId) -> Result<Option<Self>> {
        let Some(run) = table::find(tx, run_id)? else { return Ok(None) };
        let own = run.run_dir.is_some() || !kept::is_import(tx, run_id)?;
        Ok(Some(Self { tx, own, stored: journal::believed_tail(tx, run_id.as_str())? }))
    }
}

impl<'a> Import<'a> {
    pub(super) fn begin(
        changes: Changes<'a>,
        source: &'a Source,
        known: Option<Known<'a>>,
        now: &'a str,
        bounds: Bounds,
    ) -> Self {
        let keep = Keepsakes::default();
        Self { source, now, bounds, changes, known, keep, left_out: 0, bytes_read: 0 }
    }

    /// Whether the run lives in a directory of this store's.
    pub(super) fn own(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.own)
    }

    /// Where the journal ends that the store has.
    pub(super) fn stored(&self) -> Tail {
        self.known.as_ref().map_or(Tail { sequence: 0, digest: None, bytes: 0 }, |known| known.stored)
    }

    pub(super) fn change(&mut self, change: Change) -> Result<()> {
        self.changes.add(&self.source.run_id, self.now, change)
    }

    /// Takes the directory.
    ///
    /// # Errors
    /// As [`super::import`]; what was written then is for the caller to undo.
    pub(super) fn take(&mut self) -> Result<Imported> {
        let Source { run_id, events, journaled, .. } = self.source;
        self.run_json()?;
        if self.known.is_none() {
            self.change(Change::Run { journaled: *journaled })?;
        }
        let mut journal = self.journal()?;
        let partial = journal.partial.as_ref().map(|(bytes, sha256)| Partial {
            whole_lines: journal.lines,
            sha256: *sha256,
            byte_size: bytes.len() as u64,
        });
        let stored_events = self.stored().sequence.unsigned_abs();
        let new_events = journal.lines - stored_events;
        let mut is_new = new_events > 0;
        if !self.own() {
            if let Some(events) = events {
                self.events_folder(events, &mut journal)?;
            }
            is_new = self.keep(is_new, journal)?;
        }
        let outcome = match (&self.known, new_events > 0, is_new) {
            (None, _, _) => Outcome::New,
            (Some(_), true, _) => Outcome::Extended,
            (Some(_), false, true) => Outcome::Updated,
            (Some(_), false, false) => Outcome::Unchanged,
        };
        if let Some(known) = &self.known
            && outcome != Outcome::Unchanged
        {
            kept::touch(known.tx, run_id, self.now)?;
        }
        Ok(Imported {
            run_id: run_id.clone(),
            outcome,
            journaled: *journaled,
            events: stored_events + new_events,
            new_events,
            partial,
            left_out: self.left_out,
        })
    }

    /// Reads run.json, and lists it with the run directory itself.
    fn run_json(&mut self) -> Result<()> {
        let root = &self.source.root;
        if root.mode() != DIRECTORY_MODE {
            self.list(ROOT, root.mode(), None, None);
        }
        let most = self.bounds.max_checkpoint_bytes.saturating_add(RECEIPT_ROOM);
        self.file(root, RUN_JSON, RUN_JSON, most)?;
        for name in self.names(root, ROOT)? {
            if name != RUN_JSON && name != EVENTS {
                self.left_out += 1;
            }
        }
        Ok(())
    }

    /// Reads the file `name` of `folder`, where there is one, and lists it with its bytes.
    pub(super) fn file(&mut self, folder: &Folder, name: &str, path: &str, most: u64) -> Result<()> {
        let found = folder.file(name).map_err(|trouble| self.source.error(path, trouble))?;
        if let Some(found) = found {
            let mode = found.mode;
            let bytes = self.read(found, path, most)?;
            self.list(path, mode, Some(Digest::of(&bytes)), Some(bytes));
        }
        Ok(())
    }

    /// Reads the whole of a file, which may have `most` bytes.
    pub(super) fn read(&mut self, found: Found, path: &str, most: u64) -> Result<Vec<u8>> {
        let bytes = found.read(most).map_err(|trouble| self.source.error(path, trouble))?;
        self.bytes_read += bytes.len() as u64;
        Ok(bytes)
    }

    pub(super) fn list(&mut self, path: &str, mode: u32, sha256: Option<Digest>, body: Option<Vec<u8>>) {
        self.keep.files.push((KeptFile { path: path.to_owned(), mode, sha256 }, body));
    }

    /// The names in a folder; one that is not text is counted as left out.
    pub(super) fn names(&mut self, folder: &Folder, path: &str) -> Result<Vec<String>> {
        let most = self.bounds.max_journal_events.saturating_mul(2).saturating_add(SPARE_FILES);
        let names = folder.names(usize::try_from(most).unwrap_or(usize::MAX));
        let names = names.map_err(|trouble| self.source.error(path, trouble))?;
        let all = names.len();
        let names: Vec<String> = names.into_iter().filter_map(|name| name.into_string().ok()).collect();
        self.left_out += (all - names.len()) as u64;
        Ok(names)
    }

    /// Puts what was listed in the place of what the store has, where that is something else, and notes what the run's
    /// last snapshot says. Tells whether anything is new: events are, where `has_new_events`.
    fn keep(&mut self, has_new_events: bool, journal: Journal) -> Result<bool> {
        let run_id = &self.source.run_id;
        self.keep.sort();
        let is_kept = match &self.known {
            None => false,
            Some(known) => {
                let is_kept = self.keep.are_kept(known.tx, run_id)?;
                if is_kept && !has_new_events {
                    return Ok(false);
                }
                if !is_kept {
                    kept::clear(known.tx, run_id)?;
                }
                is_kept
            }
        };
        if let Some(said) = self.last_said(journal)? {
            self.change(Change::Note(said))?;
        }
        if !is_kept {
            let keep = std::mem::take(&mut self.keep);
            self.change(Change::Keep(keep))?;
        }
        Ok(true)
    }

    /// What the run's last snapshot says, where it is an object; of a run without one, run.json. The receipt of a legacy
    /// recovery, which is in no event, becomes the last snapshot here.
    fn last_said(&mut self, mut journal: Journal) -> Result<Option<Object>> {
        let latest = journal.latest;
        let last = match &self.known {
            None => journal.latest_object(),
            // There may be a receipt.
            Some(known) => match last_snapshot(known.tx, &self.source.run_id)? {
                Some(last) => match last.object() {
                    Some(object) => Some(object),
                    None => return Ok(None),
                },
                None => None,
            },
        };
        let Some(last) = last else {
            let run_json = self.keep.file(RUN_JSON);
            return Ok(run_json.and_then(|(_, bytes)| json::parse_object(bytes).ok()));
        };
        Ok(Some(self.receipt(&last, latest, journal.lines)?.unwrap_or(last)))
    }

    /// Keeps run.json as a receipt where it is the one of `last`, the run's last snapshot.
    fn receipt(&mut self, last: &Object, latest: Option<Digest>, lines: u64) -> Result<Option<Object>> {
        let Some((sha256, bytes)) = self.keep.file(RUN_JSON) else { return Ok(None) };
        // Nearly always: a receipt says more than its checkpoint.
        if sha256 == latest {
            return Ok(None);
        }
        let Ok(receipt) = json::parse_object(bytes) else { return Ok(None) };
        if json::snapshot_bytes(&receipt) != bytes || !receipt::matches_receipt(last, &receipt) {
            return Ok(None);
        }
        let recovered_at =
            receipt.get("finished_at".as_bytes()).and_then(json::Value::as_str).unwrap_or(self.now);
        let change = Change::Receipt {
            after_sequence: i64::try_from(lines).unwrap_or(i64::MAX),
            recovered_at: recovered_at.to_owned(),
            object: receipt.clone(),
            bytes: bytes.to_vec(),
        };
        self.change(change)?;
        Ok(Some(receipt))
    }
}
