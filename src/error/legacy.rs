//! Legacy run directories: taking them in, writing them.

use std::path::PathBuf;

use super::ChainFault;

/// Why a legacy run directory is not taken, or not written. None holds the content of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LegacyError {
    /// A directory of which nothing is taken: its first fault.
    #[error("{} is refused: {file}: {rule}", directory.display())]
    Refused {
        /// The run directory.
        directory: PathBuf,
        /// The file, relative to the run directory; `.` is that itself.
        file: String,
        /// The line, from 1, where the fault is in one; the rule names it too.
        line: Option<u64>,
        /// The rule that is broken.
        rule: String,
    },
    /// A directory that a newer program has written. Its chain holds.
    #[error("{} is refused: newer format: {what}", directory.display())]
    NewerFormat {
        /// The run directory.
        directory: PathBuf,
        /// What is newer.
        what: String,
        /// The number of events, if that is all that is newer.
        events: Option<u64>,
    },
    /// What was named holds no run.
    #[error("{} is no legacy run directory: it has neither run.json nor events/lifecycle.jsonl", directory.display())]
    NotARun {
        /// The directory.
        directory: PathBuf,
    },
    /// Something else is in the place of a new run directory.
    #[error("{} exists, and is different from what would be written", path.display())]
    Taken {
        /// The path.
        path: PathBuf,
    },
    /// A run that has neither a journal nor a run.json.
    #[error("the run {run_id} has nothing to export: neither a journal nor a run.json")]
    Nothing {
        /// The run.
        run_id: String,
    },
    /// What the store kept of an imported run is not what it was.
    #[error("what the store kept of the run {run_id} is damaged: {rule}")]
    Damaged {
        /// The run.
        run_id: String,
        /// What is wrong.
        rule: &'static str,
    },
}

impl ChainFault {
    /// The line of the fault, from 1, where it is in one.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Event { line, .. }
            | Self::Sequence { line }
            | Self::Link { line }
            | Self::MixedRuns { line }
            | Self::RepeatedKey { line } => Some(*line),
            Self::TooManyEvents { .. }
            | Self::TooManyBytes { .. }
            | Self::Empty
            | Self::RunId
            | Self::PartialTail => None,
        }
    }
}
