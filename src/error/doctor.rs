//! What keeps doctor from checking, beside the store itself.

use std::path::PathBuf;

/// Why doctor can't check.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoctorError {
    /// The file that was named for heads holds something else.
    #[error("{} is not a heads file of legbook", path.display())]
    NoHeadsFile {
        /// The file.
        path: PathBuf,
    },
    /// The heads file is not the one that was read when the examination began.
    #[error("the heads file {} was changed while the stores were checked, so it was not replaced", path.display())]
    HeadsChanged {
        /// The file.
        path: PathBuf,
    },
}
