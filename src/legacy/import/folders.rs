//! What stands beside a journal: the evidence, checkpoints, partial lines, and the modes of all.

use std::collections::HashSet;

use super::change::Change;
use super::directory::Import;
use super::journal::Journal;
use crate::digest::Digest;
use crate::error::Result;
use crate::legacy::folder::Folder;
use crate::legacy::kept::KeptPartial;
use crate::legacy::layout::{
    self, CHECKPOINTS, CHECKPOINTS_PATH, DIRECTORY_MODE, EVENTS, EVIDENCE, EVIDENCE_PATH, FILE_MODE, JOURNAL,
    QUARANTINE, QUARANTINE_PATH,
};
use crate::legacy::newer;

/// The most bytes of an evidence file: sixteen records and sixteen names need far less.
const MAX_EVIDENCE: u64 = 1 << 20;

const OTHER_DIGEST: &str = "digest-mismatch: its bytes have another SHA-256 than its name";

impl Import<'_> {
    /// Lists what stands beside the journal in `events`, and keeps its partial line.
    pub(super) fn events_folder(&mut self, events: &Folder, journal: &mut Journal) -> Result<()> {
        // That there is this folder a journal says, and that of checkpoints a line which names one.
        if events.mode() != DIRECTORY_MODE || !self.source.journaled {
            self.list(EVENTS, events.mode(), None, None);
        }
        self.file(events, EVIDENCE, EVIDENCE_PATH, MAX_EVIDENCE)?;
        if let Some(newer) =
            self.keep.file(EVIDENCE_PATH).and_then(|(_, bytes)| newer::in_evidence_bytes(bytes))
        {
            return Err(self.source.newer(newer));
        }
        let checkpoints = match journal.checkpoints.take() {
            Some(folder) => Some(folder),
            None => self.open(events, CHECKPOINTS, CHECKPOINTS_PATH)?,
        };
        let quarantine = self.open(events, QUARANTINE, QUARANTINE_PATH)?;
        for name in self.names(events, EVENTS)? {
            if ![JOURNAL, CHECKPOINTS, EVIDENCE, QUARANTINE].contains(&name.as_str()) {
                self.left_out += 1;
            }
        }
        if let Some(folder) = checkpoints {
            self.checkpoints_folder(&folder, journal)?;
        }
        if let Some(folder) = quarantine {
            self.quarantine_folder(&folder)?;
        }
        if let Some((bytes, sha256)) = journal.partial.take() {
            self.partial(journal.lines, bytes, sha256);
        }
        Ok(())
    }

    /// The folder `name` of `folder`, where there is one.
    pub(super) fn open(&self, folder: &Folder, name: &str, path: &str) -> Result<Option<Folder>> {
        folder.folder(name).map_err(|trouble| self.source.error(path, trouble))
    }

    /// Lists the checkpoints of which there is something to say, and stores those that no event names.
    fn checkpoints_folder(&mut self, folder: &Folder, journal: &Journal) -> Result<()> {
        if folder.mode() != DIRECTORY_MODE || journal.named.is_empty() {
            self.list(CHECKPOINTS_PATH, folder.mode(), None, None);
        }
        for name in self.names(folder, CHECKPOINTS_PATH)? {
            let Some(sha256) = layout::checkpoint_of(&name) else {
                self.left_out += 1;
                continue;
            };
            let path = format!("{CHECKPOINTS_PATH}/{name}");
            if let Some(mode) = journal.named.get(&sha256) {
                if *mode != FILE_MODE {
                    self.list(&path, *mode, Some(sha256), None);
                }
                continue;
            }
            let found = folder.file(&name).map_err(|trouble| self.source.error(&path, trouble))?;
            let Some(found) = found else { continue };
            let mode = found.mode;
            let body = self.read(found, &path, self.bounds.max_checkpoint_bytes)?;
            if Digest::of(&body) != sha256 {
                return Err(self.source.refuse(&path, OTHER_DIGEST));
            }
            self.change(Change::Checkpoint { sha256, body })?;
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
            let found = folder.file(&name).map_err(|trouble| self.source.error(&path, trouble))?;
            let Some(found) = found else { continue };
            let mode = found.mode;
            let bytes = self.read(found, &path, self.bounds.max_journal_bytes)?;
            if Digest::of(&bytes) != sha256 {
                return Err(self.source.refuse(&path, OTHER_DIGEST));
            }
            if mode != FILE_MODE {
                self.list(&path, mode, None, None);
            }
            self.keep.partials.push((KeptPartial { name, whole_lines, at_end: false, sha256 }, bytes));
        }
        Ok(())
    }

    /// Keeps the partial line at the end of the journal under a name that no file of the quarantine has.
    fn partial(&mut self, whole_lines: u64, bytes: Vec<u8>, sha256: Digest) {
        let taken: HashSet<&str> =
            self.keep.partials.iter().map(|(partial, _)| partial.name.as_str()).collect();
        let name = (0..)
            .map(|again| layout::partial_name(whole_lines, sha256, again))
            .find(|name| !taken.contains(name.as_str()));
        if let Some(name) = name {
            self.keep.partials.push((KeptPartial { name, whole_lines, at_end: true, sha256 }, bytes));
        }
    }
}
