//! What a recovery is asked, and what it answers: data, with the words that people read.

use std::fmt;
use std::path::PathBuf;

use crate::digest::Digest;
use crate::id::RunId;

/// How to recover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Make the checks, list the steps, change nothing.
    pub dry_run: bool,
    /// The operator's word that an owner of whom nothing can be told from here is dead. Refused while a process that
    /// may be the owner is visible.
    pub owner_is_dead: bool,
    /// Where the run directory is now, if it was moved; it must be there. A relative path is one below the process's
    /// current directory. `None`: where the store knows it.
    pub run_dir: Option<PathBuf>,
}

/// How a recovery ended, or would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The run.
    pub run_id: RunId,
    /// Its run directory.
    pub run_dir: PathBuf,
    /// Whether the run was found ended or was ended now.
    pub ending: Ending,
    /// The run's status afterwards; `None` where its snapshot has no status word.
    pub status: Option<String>,
    /// What was done, in order.
    pub steps: Vec<Action>,
    /// Whether the steps were only listed.
    pub dry_run: bool,
}

/// What a recovery found to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The run had ended; at most its run.json was exported again and its dead lock removed.
    AlreadyTerminal,
    /// The dead owner's run was brought to its end.
    Recovered,
}

impl Ending {
    /// The word for it: `already-terminal` or `recovered`.
    pub fn word(self) -> &'static str {
        match self {
            Self::AlreadyTerminal => "already-terminal",
            Self::Recovered => "recovered",
        }
    }
}

impl Outcome {
    /// The name, in the run directory, under which a run.json was kept that was never a snapshot of the run.
    pub fn kept_as(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| match step {
            Action::KeepFile { label: "replaced", name } => name.as_deref(),
            _ => None,
        })
    }
}

impl fmt::Display for Outcome {
    /// `already terminal: DIR [STATUS]` (contract recovery.md, Recovery, 2), or the same after `recovered: `.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match (self.ending, self.dry_run) {
            (Ending::AlreadyTerminal, _) => "already terminal",
            (Ending::Recovered, false) => "recovered",
            (Ending::Recovered, true) => "would recover",
        };
        let status = self.status.as_deref().unwrap_or("finished");
        write!(formatter, "{how}: {} [{status}]", self.run_dir.display())
    }
}

/// One step of a recovery. Where a digest or a name is `None`, it is known only once the step is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The lock's row was claimed from its dead owner.
    Claim {
        /// The dead owner's process id.
        owner_pid: u32,
    },
    /// The journal, its latest checkpoint and the coverage were checked.
    Validate {
        /// Events in the journal.
        events: i64,
    },
    /// The run directory was made anew.
    MakeDirectory,
    /// run.json was renamed, so that it is kept.
    KeepFile {
        /// `corrupt`: it was no JSON object; `replaced`: it was not what a stored receipt was made of.
        label: &'static str,
        /// Its name in the run directory.
        name: Option<String>,
    },
    /// run.json is the store's last snapshot again.
    Restore {
        /// Of the bytes.
        sha256: Digest,
    },
    /// The receipt was put into the store.
    StoreReceipt {
        /// Of the bytes.
        sha256: Option<Digest>,
    },
    /// run.json is the receipt.
    ExportReceipt {
        /// Of the bytes.
        sha256: Option<Digest>,
    },
    /// The store knows the directory that was given.
    Relocate,
    /// The lock's row was removed.
    RemoveLock,
}

impl Action {
    /// The step's word, for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Claim { .. } => "claim",
            Self::Validate { .. } => "validate",
            Self::MakeDirectory => "make-directory",
            Self::KeepFile { .. } => "keep-file",
            Self::Restore { .. } => "restore",
            Self::StoreReceipt { .. } => "store-receipt",
            Self::ExportReceipt { .. } => "export-receipt",
            Self::Relocate => "relocate",
            Self::RemoveLock => "remove-lock",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim { owner_pid } => {
                write!(formatter, "claim the lock of the dead owner, pid {owner_pid}")
            }
            Self::Validate { events } => {
                write!(formatter, "check the journal of {events} events and its latest checkpoint")
            }
            Self::MakeDirectory => formatter.write_str("make the run directory, which is gone"),
            Self::KeepFile { label, name: None } => {
                write!(formatter, "keep run.json as run.json.{label}-<32 hex>")
            }
            Self::KeepFile { name: Some(name), .. } => write!(formatter, "keep run.json as {name}"),
            Self::Restore { sha256 } => {
                write!(formatter, "put the store's last snapshot back as run.json: {sha256}")
            }
            Self::StoreReceipt { sha256 } => {
                formatter.write_str("put the failure receipt into the store")?;
                digest(formatter, *sha256)
            }
            Self::ExportReceipt { sha256 } => {
                formatter.write_str("write the failure receipt to run.json")?;
                digest(formatter, *sha256)
            }
            Self::Relocate => formatter.write_str("note the run directory that was given"),
            Self::RemoveLock => formatter.write_str("remove the lock"),
        }
    }
}

fn digest(formatter: &mut fmt::Formatter<'_>, sha256: Option<Digest>) -> fmt::Result {
    sha256.map_or(Ok(()), |sha256| write!(formatter, ": {sha256}"))
}
