//! Malformed identifiers.

/// A text that is no identifier of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// Not a run id.
    #[error("invalid run id: {rule}")]
    RunId {
        /// The rule that it breaks.
        rule: &'static str,
    },
}
