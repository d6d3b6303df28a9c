//! The numbered steps of the operations that a crash may cut in two, and the observer that is told of each.
//!
//! Crash tests and the demo's child use an observer to stop a process at a known point. The shipped commands run with
//! [`Unobserved`]; nothing that a user can type makes a command stop at a step. What each step leaves behind, and how
//! recovery ends from there, is the table in docs/FORMAT.md.

use std::fmt;

/// A point between two effects. The numbers are those of docs/FORMAT.md and never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Step {
    /// Write: all rows are inserted, the transaction is not committed.
    BeforeCommit = 1,
    /// Write: the transaction is committed, nothing of the export has happened.
    Committed = 2,
    /// Export: the temp file holds the snapshot and is synced; run.json is what it was.
    TempWritten = 3,
    /// Export: run.json is replaced; its directory is not synced yet.
    Renamed = 4,
    /// Finish: the terminal snapshot is in the store and in run.json, the lock is still there.
    BeforeRelease = 5,
    /// Recovery: the lock's row carries the claim.
    Claimed = 6,
    /// Recovery: a corrupt run.json has been renamed; there is no run.json.
    CorruptRenamed = 7,
    /// Recovery: run.json is the checkpoint's bytes again.
    Restored = 8,
    /// Recovery: the receipt is in the store, run.json does not hold it yet.
    ReceiptStored = 9,
    /// Recovery: run.json holds the receipt, the lock's row is still there.
    ReceiptExported = 10,
}

impl Step {
    /// Every step in order.
    pub const ALL: [Self; 10] = [
        Self::BeforeCommit,
        Self::Committed,
        Self::TempWritten,
        Self::Renamed,
        Self::BeforeRelease,
        Self::Claimed,
        Self::CorruptRenamed,
        Self::Restored,
        Self::ReceiptStored,
        Self::ReceiptExported,
    ];

    /// The number by which docs/FORMAT.md names the step.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// Is told of each step as it is reached, on the thread that does the work and before the next effect.
pub trait Observer: Send + Sync + fmt::Debug {
    /// `step` has been reached.
    fn reached(&self, step: Step);
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn reached(&self, _step: Step) {}
}
