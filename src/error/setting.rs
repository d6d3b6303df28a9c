//! What a change of a bound is refused for.

/// A refused change of a setting. `key` is always one that the store has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// The store has no setting of that name.
    #[error("the store has no such setting")]
    Unknown,
    /// The value is outside what the setting allows.
    #[error("{key} takes a value from {lowest} to {highest}")]
    OutOfRange {
        /// The setting.
        key: String,
        /// The least value.
        lowest: i64,
        /// The greatest value.
        highest: i64,
    },
    /// A journal or a checkpoint is beyond the value already: recovery would refuse it.
    #[error("{key} can't be lower than what a journal or checkpoint of the store holds already")]
    BelowUse {
        /// The setting.
        key: String,
    },
}
