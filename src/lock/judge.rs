//! Whether the owner of a lock lives: its process, its lease, and the operator's word.

use chrono::{DateTime, Utc};

use super::row::Lock;
use crate::clock::snapshot_time;
use crate::db::Store;
use crate::process::{self, Identity, Liveness, ProcessTable};

/// All that a verdict depends on beside the lock itself. One judge is one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge<'a> {
    /// The present moment, by the store's clock.
    pub(crate) now: DateTime<Utc>,
    /// What can be seen of other processes.
    pub(crate) processes: &'a dyn ProcessTable,
    /// The operator's word that a process of which nothing can be told from here is dead (`--owner-is-dead`). It
    /// overrules nothing but [`Verdict::Unknown`], and not while a process that may be meant is visible here.
    pub(crate) owner_is_dead: bool,
}

/// Whether an owner lives, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It does, or its lease holds.
    Live(String),
    /// It can't be told, which counts as live.
    Unknown(&'static str),
    /// It does not.
    Dead(String),
}

impl<'a> Judge<'a> {
    /// The judge of this moment, by the clock and the processes that the store was opened with.
    pub(crate) fn new(store: &'a Store) -> Self {
        Self { now: store.clock().now(), processes: store.processes(), owner_is_dead: false }
    }

    /// Judges the owner of `lock`.
    pub(crate) fn owner(&self, lock: &Lock) -> Verdict {
        let verdict = self.process(&lock.owner);
        match lock.lease_end() {
            Some(end) if !matches!(verdict, Verdict::Live(_)) && self.lease_holds(lock, end) => {
                Verdict::Live(format!("its lease holds until {}", snapshot_time(end)))
            }
            Some(end) if matches!(verdict, Verdict::Dead(_)) => {
                Verdict::Dead(format!("its process has ended, and its lease did at {}", snapshot_time(end)))
            }
            _ => verdict,
        }
    }

    /// Judges a process: an owner without its lease, or the claimer of a lock.
    pub(crate) fn process(&self, identity: &Identity) -> Verdict {
        match process::judge(identity, self.processes) {
            Liveness::Live => Verdict::Live("its process is running".to_owned()),
            Liveness::Dead => Verdict::Dead("its process has ended".to_owned()),
            Liveness::Unknown(_) if self.owner_is_dead && !process::is_visible(identity, self.processes) => {
                Verdict::Dead("it can't be told from here, and the operator says that it is dead".to_owned())
            }
            Liveness::Unknown(why) => Verdict::Unknown(why),
        }
    }

    /// Whether a lease that ends at `end` holds. A lease runs from the last write. Where that lies in the future, the
    /// clock was set back and nobody knows how much of the lease has passed: it is over, for a lease may end early,
    /// and must never hold longer than was asked for.
    fn lease_holds(&self, lock: &Lock, end: DateTime<Utc>) -> bool {
        lock.last_write_at <= self.now && self.now < end
    }
}
