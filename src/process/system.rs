//! The processes of this machine, read from /proc. Reads only; nothing here signals, waits or starts anything.

use std::fs;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::{self, Pid};

use super::{Identity, Presence, ProcessTable};

/// The kernel's own process table.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProcesses;

impl ProcessTable for SystemProcesses {
    fn current(&self) -> Identity {
        let pid = std::process::id();
        let own_proc = proc_is_ours();
        Identity {
            pid,
            start_time: if own_proc { read_stat(pid).map(|stat| stat.start_time) } else { None },
            boot_id: read_line("/proc/sys/kernel/random/boot_id"),
            machine_id: read_line("/etc/machine-id").filter(|id| is_machine_id(id)),
            host_name: unistd::gethostname().ok().and_then(|name| name.into_string().ok()),
            pid_namespace: if own_proc { read_link("/proc/self/ns/pid") } else { None },
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
        match read_stat(pid) {
            Some(stat) if stat.exited => Presence::Exited,
            Some(stat) => Presence::Running { start_time: Some(stat.start_time) },
            None => Presence::Running { start_time: None },
        }
    }
}

/// Whether /proc shows the caller's pid namespace. After `unshare --pid` without a new mount it shows another's, where
/// the same numbers are other processes.
fn proc_is_ours() -> bool {
    read_link("/proc/self").is_some_and(|seen| seen == std::process::id().to_string())
}

/// What /proc/PID/stat tells of a process.
struct Stat {
    exited: bool,
    start_time: String,
}

/// `None` where the file is hidden (`hidepid`), gone, or not of the known form.
fn read_stat(pid: u32) -> Option<Stat> {
    // Bytes, because the command's name in it may be any.
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&String::from_utf8_lossy(&bytes))
}

/// Reads `PID (COMMAND) STATE …` (proc_pid_stat(5)): state is field 3, the number of threads 20, the start time 22.
fn parse_stat(line: &str) -> Option<Stat> {
    // The command's name may hold blanks and parentheses; no later field holds one, so the last closes it.
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let threads: u32 = fields.nth(20 - 4)?.parse().ok()?;
    let start_time = fields.nth(22 - 21)?;
    if start_time.is_empty() || !start_time.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // A process whose first thread alone has ended shows as a zombie too, and lives on in the others.
    let exited = matches!(state, "Z" | "X" | "x") && threads <= 1;
    Some(Stat { exited, start_time: start_time.to_owned() })
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
