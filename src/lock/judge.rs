//! Whether the owner of a lock lives: its process, its lease, and the operator's word.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::row::Lock;
use crate::db::Store;
use crate::error::LiveCause;
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
    /// The operator's word that a lease whose process has ended is not waited for (`--break-lease`). It overrules
    /// nothing else.
    pub(crate) break_lease: bool,
}

/// Whether an owner lives, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It does, or its lease holds.
    Live(LiveCause),
    /// It can't be told, which counts as live.
    Unknown(&'static str),
    /// It does not.
    Dead(String),
}

impl<'a> Judge<'a> {
    /// The judge of this moment, by the clock and the processes that the store was opened with.
    pub(crate) fn new(store: &'a Store) -> Self {
        Self {
            now: store.clock().now(),
            processes: store.processes(),
            owner_is_dead: false,
            break_lease: false,
        }
    }

    /// Judges the owner of `lock`.
    pub(crate) fn owner(&self, lock: &Lock) -> Verdict {
        let verdict = self.process(&lock.owner);
        let (Some(end), false) = (lock.lease_end(), matches!(verdict, Verdict::Live(_))) else {
            return verdict;
        };
        let is_dead = matches!(verdict, Verdict::Dead(_));
        match self.lease_left(lock) {
            Some(_) if is_dead && self.break_lease => {
                Verdict::Dead(format!("its process has ended; its lease until {} is broken", utc(end)))
            }
            Some(left) => {
                let process_ended = matches!(process::judge(&lock.owner, self.processes), Liveness::Dead);
                Verdict::Live(LiveCause::Lease { until: end, left: left.as_secs(), process_ended })
            }
            None if is_dead => {
                Verdict::Dead(format!("its process has ended, and its lease ended at {}", utc(end)))
            }
            None => verdict,
        }
    }

    /// When the lease would end that this judge breaks; `None` if it breaks none.
    pub(crate) fn broken_lease(&self, lock: &Lock) -> Option<DateTime<Utc>> {
        lock.lease_end().filter(|_| self.break_lease && self.lease_left(lock).is_some())
    }

    /// Judges a process: an owner without its lease, or the claimer of a lock.
    pub(crate) fn process(&self, identity: &Identity) -> Verdict {
        match process::judge(identity, self.processes) {
            Liveness::Live => Verdict::Live(LiveCause::Running),
            Liveness::Dead => Verdict::Dead("its process has ended".to_owned()),
            Liveness::Unknown(_) if self.owner_is_dead && !process::is_visible(identity, self.processes) => {
                Verdict::Dead("it can't be told from here, and the operator says that it is dead".to_owned())
            }
            Liveness::Unknown(why) => Verdict::Unknown(why),
        }
    }

    /// How long the lease of `lock` still runs; `None` if it has ended. A lease runs from the last write. Where that lies in the future, the
    /// clock was set back and nobody knows how much of the lease has passed: it is over, for a lease may end early,
    /// and must never hold longer than was asked for.
    fn lease_left(&self, lock: &Lock) -> Option<Duration> {
        let end = lock.lease_end().filter(|end| lock.last_write_at <= self.now && self.now < *end)?;
        (end - self.now).to_std().ok()
    }
}

/// A moment as people read it.
fn utc(moment: DateTime<Utc>) -> impl std::fmt::Display {
    moment.format("%Y-%m-%d %H:%M:%S UTC")
}
