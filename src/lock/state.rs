//! What the lock of a run looks like from outside. Changes nothing.

use std::path::Path;

use rusqlite::Connection;

use super::judge::{Judge, Verdict};
use super::row::{self, Fault, Lock};
use crate::db::Store;
use crate::error::Result;
use crate::id::RunId;

/// The state of a run's lock: these five are the whole vocabulary (contract recovery.md, The run lock).
#[derive(Debug, Clone)]
pub enum LockState {
    /// The run holds no lock, and its workspace is not locked.
    Absent,
    /// An owner that lives or may live: perhaps that of another run in the same workspace.
    Live {
        /// The lock.
        lock: Box<Lock>,
        /// What makes the owner live.
        why: String,
        /// False: nothing here tells whether the owner lives, and `why` says what is missing. It counts as live.
        judged: bool,
    },
    /// This run's owner is dead.
    Stale {
        /// The lock.
        lock: Box<Lock>,
        /// What tells that the owner is dead.
        why: String,
    },
    /// The workspace is locked by the dead owner of another run.
    Foreign {
        /// The lock.
        lock: Box<Lock>,
        /// What tells that the owner is dead.
        why: String,
    },
    /// There is a lock whose owner can't be read.
    Invalid {
        /// What can't be read.
        why: String,
    },
}

impl LockState {
    /// The state's word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Live { .. } => "live",
            Self::Stale { .. } => "stale",
            Self::Foreign { .. } => "foreign",
            Self::Invalid { .. } => "invalid",
        }
    }

    /// The lock, where there is one that can be read.
    pub fn lock(&self) -> Option<&Lock> {
        match self {
            Self::Live { lock, .. } | Self::Stale { lock, .. } | Self::Foreign { lock, .. } => Some(lock),
            Self::Absent | Self::Invalid { .. } => None,
        }
    }

    /// Why it is so, in words; `None` where there is no lock.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Live { why, .. } | Self::Stale { why, .. } | Self::Foreign { why, .. } => Some(why),
            Self::Invalid { why } => Some(why),
            Self::Absent => None,
        }
    }

    /// Whether it can be told from here if the owner lives; `None` without a lock that can be read.
    pub fn is_judged(&self) -> Option<bool> {
        match self {
            Self::Live { judged, .. } => Some(*judged),
            Self::Stale { .. } | Self::Foreign { .. } => Some(true),
            Self::Absent | Self::Invalid { .. } => None,
        }
    }

    /// Whether the owner that lives is that of `run_id` itself.
    pub fn is_live_owner_of(&self, run_id: &RunId) -> bool {
        matches!(self, Self::Live { lock, .. } if lock.run_id == *run_id)
    }
}

/// The state of the lock that `run_id` holds, else of the one on `workspace`, by the store's clock and processes.
///
/// # Errors
/// The store's own of reading. No content of a lock is an error: what can't be read is [`LockState::Invalid`].
pub fn state(store: &Store, workspace: Option<&Path>, run_id: &RunId) -> Result<LockState> {
    let judge = Judge::new(store);
    store.read(|transaction| state_in(transaction, &judge, workspace, run_id))
}

/// [`state`] inside a transaction, or over a connection that only reads.
///
/// A lock belongs to the run whose id it has. The store gives each run one directory, so that a directory which was
/// moved since does not make the lock another run's.
pub(crate) fn state_in(
    connection: &Connection,
    judge: &Judge<'_>,
    workspace: Option<&Path>,
    run_id: &RunId,
) -> Result<LockState> {
    let lock = match row::find(connection, Some(run_id), workspace)? {
        None => return Ok(LockState::Absent),
        Some(Err(Fault(why))) => return Ok(LockState::Invalid { why: why.to_owned() }),
        Some(Ok(lock)) => Box::new(lock),
    };
    Ok(match judge.owner(&lock) {
        Verdict::Live(why) => LockState::Live { lock, why, judged: true },
        Verdict::Unknown(why) => {
            let why = format!("whether it lives cannot be judged: {why}");
            LockState::Live { lock, why, judged: false }
        }
        Verdict::Dead(why) => {
            let why = with_claim(why, judge, &lock);
            if lock.run_id == *run_id {
                LockState::Stale { lock, why }
            } else {
                LockState::Foreign { lock, why }
            }
        }
    })
}

/// `why`, and what has become of the recovery that claimed the lock, where one has.
fn with_claim(why: String, judge: &Judge<'_>, lock: &Lock) -> String {
    let Some(claimer) = &lock.claim else { return why };
    let pid = claimer.identity.pid;
    match judge.process(&claimer.identity) {
        Verdict::Live(_) => format!("{why}; pid {pid} is recovering it"),
        Verdict::Unknown(_) => format!("{why}; pid {pid} may be recovering it"),
        Verdict::Dead(_) => format!("{why}; pid {pid}, which was recovering it, is dead too"),
    }
}
