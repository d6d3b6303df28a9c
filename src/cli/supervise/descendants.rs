//! Everything that the command started and that has not ended, found in /proc.
//!
//! A descendant whose parent ends becomes a child of legbook, the subreaper, so all of them hang on legbook's pid at
//! all times. Only legbook's own children can be reaped; a process deeper down is its parent's until that ends.

use std::collections::HashMap;

use legbook::process::{Presence, ProcessTable, SystemProcesses};
use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use procfs::process::{Process, all_processes};

/// A process below legbook, as it was when it was listed.
#[derive(Debug)]
pub(super) struct Descendant {
    pub(super) pid: Pid,
    parent: Pid,
}

impl Descendant {
    /// Whether it runs still; a zombie does not.
    pub(super) fn lives(&self) -> bool {
        u32::try_from(self.pid.as_raw())
            .is_ok_and(|pid| matches!(SystemProcesses.look_up(pid), Presence::Running { .. }))
    }
}

/// The processes below legbook, and those of them that are not the command's.
#[derive(Debug)]
pub(super) struct Family {
    own_pid: Pid,
    /// Children that this process had before it became legbook: a shell that execs it leaves its background jobs.
    strangers: Vec<Pid>,
}

impl Family {
    /// To be made before the command starts.
    pub(super) fn before_command() -> Self {
        let mut family = Self { own_pid: Pid::this(), strangers: Vec::new() };
        let present = family.list();
        family.strangers =
            present.iter().filter(|child| child.parent == family.own_pid).map(|child| child.pid).collect();
        family
    }

    /// All that descend from the command, the command too, parents before their children. None where /proc is missing
    /// or shows the pids of another namespace, which would be strangers here.
    pub(super) fn list(&self) -> Vec<Descendant> {
        if !Process::myself().is_ok_and(|seen| seen.pid() == self.own_pid.as_raw()) {
            return Vec::new();
        }
        let mut children: HashMap<Pid, Vec<Descendant>> = HashMap::new();
        // Processes that end while this reads are left out.
        for stat in all_processes().into_iter().flatten().flatten().filter_map(|process| process.stat().ok())
        {
            let parent = Pid::from_raw(stat.ppid);
            let member = Descendant { pid: Pid::from_raw(stat.pid), parent };
            children.entry(parent).or_default().push(member);
        }
        let mut found = children.remove(&self.own_pid).unwrap_or_default();
        found.retain(|child| !self.strangers.contains(&child.pid));
        let mut next = 0;
        while let Some(member) = found.get(next) {
            let below = children.remove(&member.pid).unwrap_or_default();
            found.extend(below);
            next += 1;
        }
        found
    }

    /// Reaps those of `listed` that have ended and are legbook's own children, except `command`, whose end its owner
    /// learns. Says whether there was one.
    pub(super) fn reap(&self, listed: &[Descendant], command: Option<Pid>) -> bool {
        let mut reaped = false;
        for child in listed.iter().filter(|one| one.parent == self.own_pid && Some(one.pid) != command) {
            reaped |= match waitpid(child.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => false,
                // An end by a signal that has no name is an error here, and reaped all the same.
                Ok(_) | Err(_) => true,
            };
        }
        reaped
    }
}
