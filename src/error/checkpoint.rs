//! The checkpoint bodies.

use crate::digest::Digest;

/// Why a checkpoint's body is refused. Each names the checkpoint by its digest, never by its content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// A body is stored under this digest and is not these bytes (seed recovery-checkpoints.txt, Storage).
    #[error("collision-mismatch: the checkpoint {sha256} is stored with other bytes")]
    CollisionMismatch {
        /// The digest.
        sha256: Digest,
    },
    /// An event names this checkpoint and the store has no body for it.
    #[error("missing: the store has no checkpoint {sha256}")]
    Missing {
        /// The digest.
        sha256: Digest,
    },
    /// The body's size is not the one that the event tells.
    #[error("size-mismatch: the checkpoint {sha256} has another size than its event says")]
    Size {
        /// The digest.
        sha256: Digest,
    },
    /// The body's SHA-256 is not the digest that it is stored under.
    #[error("digest-mismatch: the body of the checkpoint {sha256} has another SHA-256")]
    DigestMismatch {
        /// The digest.
        sha256: Digest,
    },
    /// The body is no JSON object, or not UTF-8.
    #[error("content-invalid: the body of the checkpoint {sha256} is not a JSON object in UTF-8")]
    NotAnObject {
        /// The digest.
        sha256: Digest,
    },
    /// The body is not the snapshot encoding of the object that it holds.
    #[error(
        "encoding-mismatch: the body of the checkpoint {sha256} is not the snapshot encoding of its object"
    )]
    Encoding {
        /// The digest.
        sha256: Digest,
    },
    /// A snapshot that is larger than the bound.
    #[error("the snapshot has {size} bytes; max-checkpoint-bytes is {bound}")]
    TooLarge {
        /// Its size in bytes.
        size: u64,
        /// The bound in bytes.
        bound: u64,
    },
}
