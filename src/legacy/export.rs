//! Writing a run as a legacy run directory (contract legacy-files.md).
//!
//! What is written is read in one read transaction and checked on the way: no spoiled line or snapshot leaves the store.
//! The directory is filled under a private name beside its own (`.legbook-export.*`), synced, and then named by a rename
//! that replaces nothing: a crash leaves it whole or not there, and at most a folder of the private name. The store is
//! not changed.
//!
//! A directory that holds exactly what would be written is left as it is: calling again after a crash finishes an export of
//! many runs.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Transaction;

use super::kept::{self, KeptFile, KeptPartial};
use super::layout::{self, CHECKPOINTS_PATH, EVENTS, EVIDENCE_PATH, JOURNAL_PATH, QUARANTINE_PATH, RUN_JSON};
use super::tree::{self, Tree};
use crate::checkpoint;
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{ChainFault, CheckpointError, Error, LegacyError, Result};
use crate::event::{ChainVerifier, CheckpointPayload, JournalBounds};
use crate::id::RunId;
use crate::journal::{self, Bounds};
use crate::publish::{self, NewFolder};
use crate::run::last::last_snapshot;
use crate::run::{Run, file, table};
use crate::shadow;

/// How many lines are read at once.
const LINES_AT_ONCE: usize = 64;

/// A run that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The run.
    pub run_id: RunId,
    /// Its new directory.
    pub directory: PathBuf,
    /// Lines in its journal.
    pub events: u64,
    /// Checkpoints written, each once.
    pub checkpoints: u64,
    /// Whether the directory was there already, equal in names, modes and bytes.
    pub unchanged: bool,
    /// Whether the legacy programs can read all of it: they know no bounds but the default ones.
    pub within_legacy_bounds: bool,
}

/// Writes `run_id` as the new directory `parent`/`<run id>`; `parent` is made (0700) where it is missing. A directory that is
/// equal to the new one is a no-op.
///
/// The directory holds the journal's bytes, every checkpoint, and run.json: the store's last snapshot, or for a run without
/// a journal the bytes on disk. An imported run that has not gone on here is the very tree that was imported.
///
/// # Errors
/// [`LegacyError::Taken`], [`LegacyError::Nothing`], [`LegacyError::Damaged`]; [`crate::error::RunError::Unknown`];
/// [`Error::Chain`] and [`Error::Checkpoint`] for what the store has that is not whole; [`Error::Io`]. There is no new
/// directory then.
pub fn export(store: &Store, run_id: &RunId, parent: &Path) -> Result<Exported> {
    publish::make_folders(parent)?;
    let directory = parent.join(run_id.as_str());
    match fs::symlink_metadata(&directory) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(LegacyError::Taken { path: directory }.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io("look at", &directory)(error)),
    }
    let new = NewFolder::begin(parent, "legbook-export")?;
    let (events, checkpoints, within_legacy_bounds) =
        store.read(|tx| Writing::begin(tx, run_id)?.write(new.path()))?;
    let unchanged = tree::are_equal(new.path(), &directory)?;
    if !unchanged && !new.place(&directory)? {
        return Err(LegacyError::Taken { path: directory }.into());
    }
    Ok(Exported { run_id: run_id.clone(), directory, events, checkpoints, unchanged, within_legacy_bounds })
}

struct Writing<'a> {
    tx: &'a Transaction<'a>,
    run: Run,
    bounds: Bounds,
    /// Whether run.json is the one that was imported: the run has not gone on here.
    as_imported: bool,
    files: Vec<KeptFile>,
    partials: Vec<KeptPartial>,
    within_legacy_bounds: bool,
}

impl<'a> Writing<'a> {
    fn begin(tx: &'a Transaction<'a>, run_id: &RunId) -> Result<Self> {
        let run = table::get(tx, run_id)?;
        Ok(Self {
            bounds: journal::bounds(tx)?,
            as_imported: run.run_dir.is_none() && kept::is_import(tx, run_id)?,
            files: kept::files(tx, run_id)?,
            partials: kept::partials(tx, run_id)?,
            within_legacy_bounds: true,
            tx,
            run,
        })
    }

    fn write(mut self, root: &Path) -> Result<(u64, u64, bool)> {
        let run_id = self.run.run_id.clone();
        let run_json = self.run_json()?;
        let journaled = self.run.journaled || journal::tail(self.tx, run_id.as_str())?.sequence > 0;
        if run_json.is_none() && !journaled {
            return Err(LegacyError::Nothing { run_id: run_id.to_string() }.into());
        }
        let modes: BTreeMap<String, u32> =
            self.files.iter().map(|file| (file.path.clone(), file.mode)).collect();
        let mut tree = Tree::new(root, modes)?;
        if let Some(bytes) = run_json {
            tree.file(RUN_JSON, &bytes)?;
        }
        let (mut events, mut checkpoints) = (0, 0);
        if journaled || self.lists(EVENTS) {
            tree.directory(EVENTS)?;
            let mut named = HashSet::new();
            if journaled {
                events = self.journal(&tree, &mut named)?;
            }
            self.evidence(&tree)?;
            checkpoints = self.checkpoints(&mut tree, named)?;
            self.quarantine(&mut tree, events)?;
        }
        tree.finish()?;
        Ok((events, checkpoints, self.within_legacy_bounds))
    }

    fn lists(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    fn run_json(&self) -> Result<Option<Vec<u8>>> {
        let run_id = &self.run.run_id;
        if self.as_imported {
            return match self.files.iter().find(|file| file.path == RUN_JSON) {
                Some(file) => kept::body(self.tx, run_id, file),
                None => Ok(None),
            };
        }
        if let Some(last) = last_snapshot(self.tx, run_id)? {
            if Digest::of(&last.bytes) != last.sha256 {
                return Err(CheckpointError::DigestMismatch { sha256: last.sha256 }.into());
            }
            return Ok(Some(last.bytes));
        }
        match &self.run.run_dir {
            Some(run_dir) => Ok(file::read(run_dir)?.bytes().map(<[u8]>::to_vec)),
            None => Ok(None),
        }
    }

    /// Writes the journal; gives the number of its whole lines, and in `named` the checkpoints that they name.
    fn journal(&mut self, tree: &Tree<'_>, named: &mut HashSet<Digest>) -> Result<u64> {
        let run_id = self.run.run_id.as_str();
        let mut verifier = ChainVerifier::new(JournalBounds {
            max_events: self.bounds.max_journal_events,
            max_bytes: self.bounds.max_journal_bytes,
        });
        let mut file = tree.open(JOURNAL_PATH)?;
        let (mut count, mut bytes) = (0_u64, 0_u64);
        loop {
            let after = i64::try_from(count).unwrap_or(i64::MAX);
            let lines = journal::lines(self.tx, run_id, after, LINES_AT_ONCE)?;
            if lines.is_empty() {
                break;
            }
            for line in lines {
                if let Some(event) = verifier.push(line.as_bytes())
                    && event.is_checkpoint()
                {
                    let payload =
                        CheckpointPayload::parse(event.payload(), self.bounds.max_checkpoint_bytes)?;
                    named.insert(payload.sha256);
                }
                file.write(line.as_bytes())?;
                file.write(b"\n")?;
                count += 1;
                bytes += line.len() as u64 + 1;
            }
        }
        match verifier.finish(run_id) {
            Ok(_) | Err(ChainFault::Empty) => {}
            Err(fault) => return Err(fault.into()),
        }
        if let Some(partial) =
            self.partials.iter().find(|partial| partial.at_end && partial.whole_lines == count)
        {
            file.write(&kept::partial_bytes(self.tx, &self.run.run_id, partial)?)?;
        }
        file.finish()?;
        let legacy = JournalBounds::LEGACY;
        self.within_legacy_bounds &= count <= legacy.max_events && bytes <= legacy.max_bytes;
        Ok(count)
    }

    /// Writes the evidence: what was imported, until the run has gone on here.
    fn evidence(&self, tree: &Tree<'_>) -> Result<()> {
        let run_id = &self.run.run_id;
        let kept = self.files.iter().find(|file| file.path == EVIDENCE_PATH);
        let bytes = match kept {
            Some(file) if self.as_imported => kept::body(self.tx, run_id, file)?,
            _ => shadow::legacy_bytes_in(self.tx, run_id)?,
        };
        bytes.map_or(Ok(()), |bytes| tree.file(EVIDENCE_PATH, &bytes))
    }

    /// Writes the checkpoints that events name and those that an import has kept beside them.
    fn checkpoints(&mut self, tree: &mut Tree<'_>, mut named: HashSet<Digest>) -> Result<u64> {
        let listed = self.files.iter().filter(|file| file.path.starts_with(CHECKPOINTS_PATH));
        named.extend(listed.filter_map(|file| file.sha256));
        if !named.is_empty() || self.lists(CHECKPOINTS_PATH) {
            tree.directory(CHECKPOINTS_PATH)?;
        }
        for sha256 in &named {
            let sha256 = *sha256;
            let body = checkpoint::get(self.tx, sha256)?.ok_or(CheckpointError::Missing { sha256 })?;
            if Digest::of(&body) != sha256 {
                return Err(CheckpointError::DigestMismatch { sha256 }.into());
            }
            self.within_legacy_bounds &= body.len() as u64 <= LEGACY_CHECKPOINT_BYTES;
            tree.file(&format!("{CHECKPOINTS_PATH}/{}", layout::checkpoint_name(sha256)), &body)?;
        }
        Ok(named.len() as u64)
    }

    /// Writes the partial lines that no longer stand at the end of a journal of `events` lines.
    fn quarantine(&self, tree: &mut Tree<'_>, events: u64) -> Result<()> {
        let mut partials = self
            .partials
            .iter()
            .filter(|partial| !(partial.at_end && partial.whole_lines == events))
            .peekable();
        if partials.peek().is_some() || self.lists(QUARANTINE_PATH) {
            tree.directory(QUARANTINE_PATH)?;
        }
        for partial in partials {
            if layout::partial_of(&partial.name) != Some((partial.whole_lines, partial.sha256)) {
                let run_id = self.run.run_id.to_string();
                return Err(
                    LegacyError::Damaged { run_id, rule: "the name of a partial line is none" }.into()
                );
            }
            let bytes = kept::partial_bytes(self.tx, &self.run.run_id, partial)?;
            tree.file(&format!("{QUARANTINE_PATH}/{}", partial.name), &bytes)?;
        }
        Ok(())
    }
}

/// The largest checkpoint that the legacy programs read.
const LEGACY_CHECKPOINT_BYTES: u64 = 16 * 1024 * 1024;
