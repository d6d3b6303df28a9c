//! The journal's bounds.

/// Why nothing may be appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The write would cross the bound of events (contract events.md, The write path).
    #[error("the journal of {run_id} would hold {would_hold} events; max-journal-events is {bound}{}", reserve_note(*.reserved))]
    TooManyEvents {
        /// The run.
        run_id: String,
        /// Events with this write.
        would_hold: u64,
        /// The setting.
        bound: u64,
        /// Whether the last two events are kept for a terminal status, and this write is not one.
        reserved: bool,
    },
    /// The write would cross the bound of bytes.
    #[error("the journal of {run_id} would hold {would_hold} bytes; max-journal-bytes is {bound}{}", reserve_note(*.reserved))]
    TooManyBytes {
        /// The run.
        run_id: String,
        /// Bytes with this write, newlines counted.
        would_hold: u64,
        /// The setting.
        bound: u64,
        /// Whether the last 32 KiB are kept for a terminal status, and this write is not one.
        reserved: bool,
    },
    /// A row of the journal that legbook did not write.
    #[error("the journal of {run_id} is damaged at sequence {sequence}: {rule}")]
    Damaged {
        /// The run.
        run_id: String,
        /// The sequence.
        sequence: i64,
        /// What is wrong.
        rule: &'static str,
    },
}

fn reserve_note(reserved: bool) -> &'static str {
    if reserved { ", the last of which are kept for the status that ends the run" } else { "" }
}
