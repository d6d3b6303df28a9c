//! Who a process is, and whether it still lives.
//!
//! A pid is a number that the kernel hands out again. What makes it a name is the pid namespace in which it counts,
//! the boot of the machine, and the moment at which the process began. An [`Identity`] keeps these together;
//! [`judge`] compares one with what can be seen from here. What a lock or a run makes of the verdict is not decided
//! here, and nothing here is stored.
//!
//! What the machine shows is behind [`ProcessTable`], so that another machine, another boot or a recycled pid can be
//! put before [`judge`] without having one.

mod system;

use std::fmt;

pub use system::SystemProcesses;

/// What tells one process from every other, on this machine or on another.
///
/// A field is `None` where the system does not tell it; such a gap makes a verdict less certain, never wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The process id, as its own pid namespace counts.
    pub pid: u32,
    /// When it began, in the kernel's clock ticks after boot (decimal digits). Compared as it is, never computed with.
    pub start_time: Option<String>,
    /// The running kernel's random id, new at each boot.
    pub boot_id: Option<String>,
    /// The installed system's id, the same over reboots. Absent in many containers.
    pub machine_id: Option<String>,
    /// The host's name. People may change it, and copies of a machine often differ in nothing else.
    pub host_name: Option<String>,
    /// The pid namespace in which `pid` counts, as the kernel names it: `pid:[4026531836]`.
    pub pid_namespace: Option<String>,
}

impl Identity {
    /// The identity of the process `pid` of this machine. `start_time` is `None` where there is no such process.
    pub fn of(pid: u32, processes: &dyn ProcessTable) -> Self {
        let start_time = match processes.look_up(pid) {
            Presence::Running { start_time } => start_time,
            Presence::Absent | Presence::Exited => None,
        };
        Self { pid, start_time, ..processes.current() }
    }
}

/// What is visible from here.
pub trait ProcessTable: Send + Sync + fmt::Debug {
    /// The identity of the calling process, and with it of the machine, the boot and the pid namespace.
    fn current(&self) -> Identity;

    /// What `pid` is at this moment, in the caller's own pid namespace.
    fn look_up(&self, pid: u32) -> Presence;

    /// What has `pid` in any pid namespace that can be looked into from here, the caller's own included: from a host
    /// the processes of its containers are seen, the other way round not.
    fn look_up_everywhere(&self, pid: u32) -> Vec<Presence> {
        vec![self.look_up(pid)]
    }
}

/// What a pid is at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// No process has this pid.
    Absent,
    /// A zombie: it has ended, and only its parent has not asked for the exit status yet.
    Exited,
    /// A process has this pid, whoever owns it.
    Running {
        /// Its [`Identity::start_time`], `None` where it is hidden from the caller.
        start_time: Option<String>,
    },
}

/// Whether a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// It runs here.
    Live,
    /// It has ended, for certain.
    Dead,
    /// It can't be told from here, for this reason. Who must not hurt a living process treats this as [`Self::Live`].
    Unknown(&'static str),
}

/// Judges whether the process that `owner` names still lives (contract recovery.md, The run lock).
///
/// A pid is judged only on its own machine and in its own pid namespace. There, the same start time is live; no such
/// process, a zombie (it can write nothing any more) and another start time are dead. After another boot of its
/// machine every process is dead. All else is unknown.
///
/// Machines are the same where their machine ids are equal, and where one is absent, where the boot ids are. Another
/// boot of this machine is told by an equal machine id and an equal host name: copies of an image share a machine id.
pub fn judge(owner: &Identity, processes: &dyn ProcessTable) -> Liveness {
    let here = processes.current();
    if *owner == here
        && [&here.start_time, &here.boot_id, &here.pid_namespace].iter().all(|told| told.is_some())
    {
        // Whoever asks is alive.
        return Liveness::Live;
    }
    if let (Some(theirs), Some(ours)) = (&owner.machine_id, &here.machine_id)
        && theirs != ours
    {
        return Liveness::Unknown("it ran on another machine");
    }
    match (&owner.boot_id, &here.boot_id) {
        (Some(theirs), Some(ours)) if theirs == ours => judge_in_this_boot(owner, &here, processes),
        (Some(_), Some(_)) if owner.machine_id.is_none() || here.machine_id.is_none() => {
            Liveness::Unknown("it ran under another boot, and no machine id tells whether of this machine")
        }
        (Some(_), Some(_)) if owner.host_name != here.host_name => {
            Liveness::Unknown("it ran under another boot and host name, perhaps on a copy of this machine")
        }
        (Some(_), Some(_)) => Liveness::Dead,
        _ => Liveness::Unknown("the boot that it ran under can't be compared with this one"),
    }
}

/// Whether a process can be seen here that may be `owner`: it has the pid, if perhaps in another pid namespace, and no
/// boot and no start time tells the two apart. Asked where somebody says of an owner that it is dead and [`judge`]
/// can't tell.
pub fn is_visible(owner: &Identity, processes: &dyn ProcessTable) -> bool {
    let may_be_same = |theirs: &Option<String>, seen: &Option<String>| match (theirs, seen) {
        (Some(theirs), Some(seen)) => theirs == seen,
        _ => true,
    };
    may_be_same(&owner.boot_id, &processes.current().boot_id)
        && processes.look_up_everywhere(owner.pid).iter().any(|presence| match presence {
            Presence::Absent | Presence::Exited => false,
            Presence::Running { start_time } => may_be_same(&owner.start_time, start_time),
        })
}

/// [`judge`] for an owner that ran under the present boot of this machine.
fn judge_in_this_boot(owner: &Identity, here: &Identity, processes: &dyn ProcessTable) -> Liveness {
    if owner.pid_namespace.is_none() || here.pid_namespace.is_none() {
        return Liveness::Unknown("the pid namespace that it ran in can't be compared with this one");
    }
    if owner.pid_namespace != here.pid_namespace {
        return Liveness::Unknown("it ran in another pid namespace");
    }
    match processes.look_up(owner.pid) {
        Presence::Absent | Presence::Exited => Liveness::Dead,
        Presence::Running { start_time: Some(start) } => match &owner.start_time {
            Some(recorded) if *recorded == start => Liveness::Live,
            Some(_) => Liveness::Dead,
            None => Liveness::Unknown("a process has its pid, and its start time was not recorded"),
        },
        Presence::Running { start_time: None } => {
            Liveness::Unknown("a process has its pid, and the start time of that is hidden")
        }
    }
}
