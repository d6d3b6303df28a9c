//! What the stage store refuses.

use std::path::PathBuf;

use super::quoted;

/// Why a stage command did nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// Not a stage's name.
    #[error("invalid stage name {}: {rule}", quoted(name))]
    Name {
        /// What was given.
        name: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// Not a pipeline's name.
    #[error("invalid pipeline name {}: {rule}", quoted(name))]
    Pipeline {
        /// What was given.
        name: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The artifact, as it came or as it would be kept, is larger than the store allows.
    #[error("the artifact is larger than max-artifact-bytes, which is {limit}")]
    TooLarge {
        /// The bound, in bytes.
        limit: u64,
    },
    /// A completed stage can't become a marker: the stages after it derive from it.
    #[error("{stage:.100} is a completed stage and cannot be saved as a marker")]
    Completed {
        /// Its name.
        stage: String,
        /// Its pipeline.
        pipeline: String,
    },
    /// The pipeline is in no run.
    #[error("pipeline {pipeline} is in no run")]
    NoRun {
        /// Its name.
        pipeline: String,
    },
    /// What the store holds of the run breaks the schema's own rules: another program wrote it past them.
    #[error("the store's record of pipeline {pipeline} is damaged: {what}")]
    Damaged {
        /// Its name.
        pipeline: String,
        /// What is wrong.
        what: &'static str,
    },
    /// An artifact's bytes are not those that were saved.
    #[error("the artifact of {stage:.100} is damaged: its SHA-256 is not the one that was stored")]
    DigestMismatch {
        /// The stage or marker.
        stage: String,
        /// Its pipeline.
        pipeline: String,
    },
    /// A file of a legacy directory that is not read, because it is not what a stage script writes.
    #[error("{} is refused: {rule}", path.display())]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The directory holds no manifest.json, so it is no stage directory.
    #[error("{} is no stage directory: it has no manifest.json", path.display())]
    NoManifest {
        /// The directory.
        path: PathBuf,
    },
    /// There is something where a directory was to be made.
    #[error("{} is there and not an empty directory", path.display())]
    Taken {
        /// The path.
        path: PathBuf,
    },
}
