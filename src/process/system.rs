//! The processes of this machine, read from /proc. Reads only; nothing here signals, waits or starts anything.

use std::fs;
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{self, Pid};
use procfs::process::{Process, Stat};

use super::{Identity, Presence, ProcessTable};

/// The kernel's own process table.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProcesses;

impl ProcessTable for SystemProcesses {
    /// Read once a process: each write asks, and none of it changes while the process lives. A fork is another process.
    fn current(&self) -> Identity {
        static CURRENT: Mutex<Option<Identity>> = Mutex::new(None);
        let mut known = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some(identity) if identity.pid == std::process::id() => identity.clone(),
            _ => known.insert(read_current()).clone(),
        }
    }

    fn look_up(&self, pid: u32) -> Presence {
        // 0 and numbers that turn negative name groups of processes to kill(2), not a process.
        let Some(number) = i32::try_from(pid).ok().filter(|number| *number > 0) else {
            return Presence::Absent;
        };
        // Signal 0 only asks; EPERM answers that the process is there and another user's.
        if kill(Pid::from_raw(number), None) == Err(Errno::ESRCH) {
            return Presence::Absent;
        }
        if !proc_is_ours() {
            return Presence::Running { start_time: None };
        }
        match Process::new(number).and_then(|process| process.stat()) {
            Ok(stat) if has_exited(&stat) => Presence::Exited,
            Ok(stat) => Presence::Running { start_time: Some(stat.starttime.to_string()) },
            // Hidden (`hidepid`), or gone since it was asked: the caller looks again, or takes it as living.
            Err(_) => Presence::Running { start_time: None },
        }
    }

    /// Start times are the kernel's own in every pid namespace, so that a /proc of another one serves as well.
    fn look_up_everywhere(&self, pid: u32) -> Vec<Presence> {
        let elsewhere =
            procfs::process::all_processes().into_iter().flatten().flatten().filter_map(|process| {
                let pids = process.status().ok()?.nspid?;
                let stat = process.stat().ok()?;
                // Its pid here comes first, then one for each namespace further in.
                let has_pid = pids.into_iter().skip(1).any(|inner| u32::try_from(inner) == Ok(pid));
                (has_pid && !has_exited(&stat))
                    .then(|| Presence::Running { start_time: Some(stat.starttime.to_string()) })
            });
        std::iter::once(self.look_up(pid)).chain(elsewhere).collect()
    }
}

fn read_current() -> Identity {
    let own_proc = proc_is_ours();
    let stat = if own_proc { Process::myself().and_then(|this| this.stat()).ok() } else { None };
    Identity {
        pid: std::process::id(),
        start_time: stat.map(|stat| stat.starttime.to_string()),
        boot_id: read_line("/proc/sys/kernel/random/boot_id"),
        machine_id: read_line("/etc/machine-id").filter(|id| is_machine_id(id)),
        host_name: unistd::gethostname().ok().and_then(|name| name.into_string().ok()),
        pid_namespace: if own_proc { read_link("/proc/self/ns/pid") } else { None },
    }
}

/// Whether /proc shows the caller's pid namespace. After `unshare --pid` without a new mount it shows another's, where
/// the same numbers are other processes.
fn proc_is_ours() -> bool {
    read_link("/proc/self").is_some_and(|seen| seen == std::process::id().to_string())
}

/// Whether a process is a zombie. One whose first thread alone has ended shows as one too, and lives on in the others.
fn has_exited(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X' | 'x') && stat.num_threads <= 1
}

/// A machine id has 32 lower-case hex digits (machine-id(5)); a system in its first boot says `uninitialized`.
fn is_machine_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// A file's only line, `None` where it can't be read or is empty.
fn read_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn read_link(path: &str) -> Option<String> {
    fs::read_link(path).ok()?.into_os_string().into_string().ok()
}
