//! What can go wrong, as data.
//!
//! One enum for the library, one file a room. An error says what was refused and why; the command line alone knows
//! exit codes and remedies (`cli/exit.rs`). No message holds a payload's value, a token, or the content of a file.

mod checkpoint;
mod doctor;
mod event;
mod handoff;
mod id;
mod journal;
mod json;
mod legacy;
mod lock;
mod recovery;
mod run;
mod setting;
mod shadow;
mod stage;
mod store;

use std::io;
use std::path::{Path, PathBuf};

pub use checkpoint::CheckpointError;
pub use doctor::DoctorError;
pub(crate) use event::field_name;
pub use event::{ChainFault, CheckpointPayloadError, EventError, ProjectionError};
pub use handoff::{Faults, FileFault, HandoffError, HandoffFile, Record};
pub use id::IdError;
pub use journal::JournalError;
pub use json::{JsonError, JsonFault};
pub use legacy::LegacyError;
pub use lock::{LockError, Party};
pub use recovery::RecoveryError;
pub use run::RunError;
pub use setting::SettingError;
pub use shadow::ShadowError;
pub use stage::StageError;
pub use store::StoreError;

/// The library's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The longest diagnostic about a journal, checkpoint or lock, in characters (seed recovery-checkpoints.txt).
pub const MAX_DIAGNOSTIC: usize = 240;

/// Everything that legbook refuses or fails at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system said no: a file that can't be read, written, renamed or synced.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb ("read", "replace").
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// A text that is not the JSON that was asked for.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A malformed identifier.
    #[error(transparent)]
    Id(#[from] IdError),
    /// An event that the envelope or the registry refuses.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A checkpoint event whose payload is refused.
    #[error(transparent)]
    CheckpointPayload(#[from] CheckpointPayloadError),
    /// A journal that is no chain.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// A projection that is refused.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// A lock that is not taken, held, claimed or let go.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A bound of the store that can't be moved so.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A checkpoint's body.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The journal's bounds.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A run, its directory, its snapshots.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A run that is not recovered.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// Shadow evidence that can't be read.
    #[error(transparent)]
    Shadow(#[from] ShadowError),
    /// What the stage store refuses.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The store can't be opened, is busy, full, damaged, or not a store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Doctor can't check.
    #[error(transparent)]
    Doctor(#[from] DoctorError),
    /// A legacy run directory that is not taken, or not written.
    #[error(transparent)]
    Legacy(#[from] LegacyError),
    /// A leg of the handoff that is refused.
    #[error(transparent)]
    Handoff(#[from] HandoffError),
}

impl Error {
    /// An [`Error::Io`]; use as `.map_err(Error::io("read", path))`.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(source: rusqlite::Error) -> Self {
        Self::Store(StoreError::from(source))
    }
}

/// A word that somebody gave, in quotes and short enough for a message; control characters are escaped.
fn quoted(word: &str) -> String {
    /// Ids have 16 characters; this leaves room to see what a wrong one is.
    const LONGEST: usize = 40;
    match word.char_indices().nth(LONGEST) {
        None => format!("{word:?}"),
        Some((end, _)) => format!("{:?}…", word.get(..end).unwrap_or_default()),
    }
}
