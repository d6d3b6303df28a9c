//! Malformed identifiers.

use super::quoted;

/// A text that is no identifier of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// Not a run id.
    #[error("invalid run id {}: {rule}", quoted(text))]
    RunId {
        /// The text that was given.
        text: String,
        /// The rule that it breaks.
        rule: &'static str,
    },
}
