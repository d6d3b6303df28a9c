//! What the lock of a workspace refuses.
//!
//! A message names an owner by what an operator looks for (run, pid, host, since when) and is cut at
//! [`MAX_DIAGNOSTIC`](super::MAX_DIAGNOSTIC) characters. None holds a token or a part of one.

use std::fmt;
use std::path::PathBuf;

use super::MAX_DIAGNOSTIC;
use crate::id::RunId;

/// Why a lock is not taken, held, claimed or let go.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// A live owner has the workspace's lock; perhaps of another run.
    #[error("{}", bounded(format!("the workspace is locked by {owner}: {why}")))]
    Held {
        /// The owner.
        owner: Party,
        /// What makes it live.
        why: String,
    },
    /// The run that is to be taken up again holds the lock itself, and its owner lives.
    #[error("{}", bounded(format!("the lock is held by {owner} itself: {why}")))]
    HeldByItself {
        /// The owner.
        owner: Party,
        /// What makes it live.
        why: String,
    },
    /// Whether the lock's owner lives can't be told, which counts as live.
    #[error("{}", bounded(format!("the workspace is locked by {owner}: it may live, for {why}")))]
    OwnerUnknown {
        /// The owner.
        owner: Party,
        /// What keeps it from being judged.
        why: &'static str,
    },
    /// The operator says that the owner is dead, and a process that may be it is visible.
    #[error("{}", bounded(format!("the owner is not given up as dead: such a process is visible here: {owner}")))]
    OwnerVisible {
        /// The owner.
        owner: Party,
    },
    /// The process that is to own the lock does not run here.
    #[error("no running process has pid {pid}: the owner of a lock must be alive when it takes it")]
    OwnerNotRunning {
        /// The pid that was named.
        pid: u32,
    },
    /// A recovery that may still be at work has claimed the lock.
    #[error("{}", bounded(format!("a recovery has claimed the lock of {claimer}")))]
    Claimed {
        /// The recovering process, and the run that it recovers.
        claimer: Party,
    },
    /// The lock's row holds what no owner has.
    #[error("the run lock is invalid: {why}")]
    Unreadable {
        /// What can't be read.
        why: &'static str,
    },
    /// A run has at most one lock, and this one's is that of another workspace.
    #[error("run {run_id} holds the lock of another workspace")]
    LockedElsewhere {
        /// The run.
        run_id: RunId,
    },
    /// The run holds no lock.
    #[error("run {run_id} does not hold its workspace's lock")]
    NotLocked {
        /// The run.
        run_id: RunId,
    },
    /// The caller shows no token.
    #[error("run {run_id} is locked, and no token was given")]
    NoToken {
        /// The run.
        run_id: RunId,
    },
    /// The caller shows the token of another run's lock.
    #[error("{}", bounded(format!("the token belongs to run {holder}, not to run {run_id}")))]
    TokenOfAnotherRun {
        /// The run that was to be written.
        run_id: RunId,
        /// The run whose token it is.
        holder: RunId,
    },
    /// The caller shows a token that no lock has: forged, mistyped, or of a lock that is gone.
    #[error("the token is not that of run {run_id}'s lock, nor of any other")]
    UnknownToken {
        /// The run.
        run_id: RunId,
    },
    /// The caller brings a token that opens another run's lock.
    #[error("the token already belongs to the lock of run {holder}")]
    TokenInUse {
        /// The run that has the token.
        holder: RunId,
    },
    /// A text that can be no token.
    #[error("the token is malformed: a token is 64 lower-case hex characters")]
    MalformedToken,
    /// A lease that can't be kept.
    #[error("the lease is refused: {rule}")]
    Lease {
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The folder that is named as a workspace is not a folder inside the workspace of the caller.
    #[error("{}", bounded(format!("{} is not a folder inside the workspace {}", path.display(), around.display())))]
    WorkspaceOutside {
        /// The folder.
        path: PathBuf,
        /// The workspace of the caller: its git root, else its folder.
        around: PathBuf,
    },
    /// The store keeps a workspace as text, and this one's path is none.
    #[error("{}", bounded(format!("the workspace's path is not UTF-8: {}", path.display())))]
    WorkspaceNotUtf8 {
        /// The workspace.
        path: PathBuf,
    },
}

impl LockError {
    /// Whether waiting may help: somebody who lives, or may live, has the lock.
    pub fn may_become_free(&self) -> bool {
        matches!(
            self,
            Self::Held { .. } | Self::HeldByItself { .. } | Self::OwnerUnknown { .. } | Self::Claimed { .. }
        )
    }
}

/// Who owns a lock or claims it, as a message names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The run whose lock it is.
    pub run_id: RunId,
    /// The process, as its own machine counts.
    pub pid: u32,
    /// Its machine's name.
    pub host_name: Option<String>,
    /// When the lock was taken or claimed, as the row has it (ISO 8601).
    pub since: String,
}

impl fmt::Display for Party {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Whoever wrote the row may have put control characters into the name.
        let host = self.host_name.as_deref().unwrap_or("an unnamed host").escape_debug();
        write!(formatter, "run {} (pid {} on {host} since {})", self.run_id, self.pid, self.since)
    }
}

/// `message`, cut where it is longer than a diagnostic may be.
pub(super) fn bounded(message: String) -> String {
    if message.chars().count() <= MAX_DIAGNOSTIC {
        return message;
    }
    message.chars().take(MAX_DIAGNOSTIC - 1).chain(['…']).collect()
}
