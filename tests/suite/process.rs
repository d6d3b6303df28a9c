//! Who a process is: verdicts on made-up machines, and readings of real processes.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use legbook::process::{Identity, Liveness, Presence, ProcessTable, SystemProcesses, is_visible, judge};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// A machine that shows what the test says: where the judge sits, and the one process that has the owner's pid.
#[derive(Debug)]
struct Machine {
    here: Identity,
    seen: Presence,
}

impl ProcessTable for Machine {
    fn current(&self) -> Identity {
        self.here.clone()
    }

    fn look_up(&self, _pid: u32) -> Presence {
        self.seen.clone()
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn running(start_time: &str) -> Presence {
    Presence::Running { start_time: some(start_time) }
}

fn owner() -> Identity {
    Identity {
        pid: 4711,
        start_time: some("1000"),
        boot_id: some("boot-1"),
        machine_id: some("machine-1"),
        host_name: some("host-1"),
        pid_namespace: some("pid:[1]"),
    }
}

/// The machine on which [`owner`] started, at another moment: `change` says what differs, `seen` who has the pid.
fn machine(seen: Presence, change: impl FnOnce(&mut Identity)) -> Machine {
    let mut here = Identity { pid: 4712, start_time: some("2000"), ..owner() };
    change(&mut here);
    Machine { here, seen }
}

/// A child that waits on its own until it is killed, whatever the test does.
struct Sleeper(Child);

impl Sleeper {
    fn start(program: impl AsRef<OsStr>) -> Self {
        Self(Command::new(program).arg0("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_same_start_time_is_the_same_process() {
    assert_eq!(judge(&owner(), &machine(running("1000"), |_| {})), Liveness::Live);
}

#[test]
fn a_recycled_pid_does_not_keep_its_old_owner_alive() {
    assert_eq!(judge(&owner(), &machine(running("1001"), |_| {})), Liveness::Dead);
}

#[test]
fn a_process_that_is_gone_or_a_zombie_is_dead() {
    assert_eq!(judge(&owner(), &machine(Presence::Absent, |_| {})), Liveness::Dead);
    assert_eq!(judge(&owner(), &machine(Presence::Exited, |_| {})), Liveness::Dead);
}

#[test]
fn after_a_reboot_a_process_with_the_same_pid_and_start_time_is_not_the_owner() {
    let machine = machine(running("1000"), |here| {
        here.boot_id = some("boot-2");
        here.pid_namespace = some("pid:[2]");
    });
    assert_eq!(judge(&owner(), &machine), Liveness::Dead);
}

#[test]
fn an_absent_pid_says_nothing_about_another_machine_or_pid_namespace() {
    for change in [
        |here: &mut Identity| here.machine_id = some("machine-2"),
        |here: &mut Identity| {
            here.machine_id = some("machine-2");
            here.boot_id = some("boot-2");
        },
        |here: &mut Identity| here.pid_namespace = some("pid:[2]"),
    ] {
        let verdict = judge(&owner(), &machine(Presence::Absent, change));
        assert!(matches!(verdict, Liveness::Unknown(_)), "{verdict:?}");
    }
}

#[test]
fn a_copy_of_the_machine_is_not_taken_for_its_next_boot() {
    let copy = machine(Presence::Absent, |here| {
        here.boot_id = some("boot-2");
        here.host_name = some("host-2");
    });
    assert!(matches!(judge(&owner(), &copy), Liveness::Unknown(_)));
}

#[test]
fn a_renamed_host_is_still_judged_by_its_boot() {
    let renamed = |seen| machine(seen, |here| here.host_name = some("host-2"));
    assert_eq!(judge(&owner(), &renamed(running("1000"))), Liveness::Live);
    assert_eq!(judge(&owner(), &renamed(Presence::Absent)), Liveness::Dead);
}

#[test]
fn without_a_machine_id_the_boot_id_tells_the_machine() {
    let mut owner = owner();
    owner.machine_id = None;
    assert_eq!(judge(&owner, &machine(running("1000"), |_| {})), Liveness::Live);
    assert_eq!(judge(&owner, &machine(Presence::Absent, |here| here.machine_id = None)), Liveness::Dead);

    let elsewhere = machine(Presence::Absent, |here| here.boot_id = some("boot-2"));
    assert!(matches!(judge(&owner, &elsewhere), Liveness::Unknown(_)));
}

#[test]
fn what_was_not_recorded_or_is_hidden_never_makes_an_owner_dead() {
    let forgets: [fn(&mut Identity); 2] = [|id| id.boot_id = None, |id| id.pid_namespace = None];
    for forget in forgets {
        let mut incomplete = owner();
        forget(&mut incomplete);
        assert!(matches!(judge(&incomplete, &machine(Presence::Absent, |_| {})), Liveness::Unknown(_)));
        assert!(matches!(judge(&owner(), &machine(Presence::Absent, forget)), Liveness::Unknown(_)));
    }

    let mut incomplete = owner();
    incomplete.start_time = None;
    assert!(matches!(judge(&incomplete, &machine(running("1000"), |_| {})), Liveness::Unknown(_)));

    let hidden = Presence::Running { start_time: None };
    assert!(matches!(judge(&owner(), &machine(hidden, |_| {})), Liveness::Unknown(_)));
}

#[test]
fn this_process_is_told_completely_and_is_live() {
    let current = SystemProcesses.current();
    assert_eq!(current.pid, std::process::id());
    assert!(current.start_time.is_some() && current.boot_id.is_some() && current.pid_namespace.is_some());
    assert_eq!(current, Identity::of(std::process::id(), &SystemProcesses));
    assert_eq!(judge(&current, &SystemProcesses), Liveness::Live);
}

#[test]
fn a_process_lives_until_it_ends_and_is_dead_before_its_parent_asks() {
    let mut sleeper = Sleeper::start("sleep");
    let identity = Identity::of(sleeper.0.id(), &SystemProcesses);
    assert_eq!(judge(&identity, &SystemProcesses), Liveness::Live);

    sleeper.0.kill().unwrap();
    let pid = Pid::from_raw(i32::try_from(sleeper.0.id()).unwrap());
    waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
    assert_eq!(SystemProcesses.look_up(identity.pid), Presence::Exited);
    assert_eq!(judge(&identity, &SystemProcesses), Liveness::Dead);

    sleeper.0.wait().unwrap();
    assert_eq!(judge(&identity, &SystemProcesses), Liveness::Dead);
}

#[test]
fn a_command_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("a) Z 1 (b c");
    symlink("/bin/sleep", &program).unwrap();
    let sleeper = Sleeper::start(&program);

    let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.0.id())).unwrap();
    let plain = stat.replace("(a) Z 1 (b c)", "sleep");
    let start_time = plain.split(' ').nth(21).map(str::to_owned);
    assert_ne!(plain, stat);
    assert_eq!(SystemProcesses.look_up(sleeper.0.id()), Presence::Running { start_time });
}

#[test]
fn a_pid_that_names_a_group_of_processes_is_nobody() {
    for pid in [0, u32::MAX, i32::MAX.unsigned_abs() + 1] {
        assert_eq!(SystemProcesses.look_up(pid), Presence::Absent);
    }
}

/// The first process is another user's, unless the tests run as root: then it only is a process that lives.
#[test]
fn a_process_of_another_user_is_live() {
    let first = Identity::of(1, &SystemProcesses);
    assert_eq!(judge(&first, &SystemProcesses), Liveness::Live);
}

/// A process in a pid namespace of its own, as in a container, that has no rights beyond the test's.
fn contained() -> Option<Child> {
    let mut child = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--pid",
            "--fork",
            "--kill-child",
            "sh",
            "-c",
            "echo; exec sleep 600",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It says when it runs; a machine that allows no such namespace ends it.
    let mut said = [0];
    child.stdout.take().unwrap().read_exact(&mut said).ok().map(|()| child)
}

#[test]
fn an_owner_in_a_container_is_visible_from_its_host() {
    let Some(child) = contained() else {
        eprintln!("skipped: no pid namespace may be made here");
        return;
    };
    let mut sleeper = Sleeper(child);
    let inner = procfs_children(sleeper.0.id()).pop().unwrap();
    let Presence::Running { start_time } = SystemProcesses.look_up(inner) else { panic!("it runs") };
    // As legbook inside would have told it: the first process of its pid namespace.
    let owner = Identity { pid: 1, start_time, pid_namespace: some("pid:[2]"), ..SystemProcesses.current() };
    assert!(matches!(judge(&owner, &SystemProcesses), Liveness::Unknown(_)));
    assert!(is_visible(&owner, &SystemProcesses));
    assert!(!is_visible(&Identity { start_time: some("1"), ..owner.clone() }, &SystemProcesses));
    assert!(!is_visible(&Identity { boot_id: some("boot-2"), ..owner.clone() }, &SystemProcesses));

    // Its parent, which made the namespace, asks for its exit status and ends.
    kill(Pid::from_raw(i32::try_from(inner).unwrap()), Signal::SIGKILL).unwrap();
    sleeper.0.wait().unwrap();
    assert!(!is_visible(&owner, &SystemProcesses));
}

/// The pids of a process's children.
fn procfs_children(pid: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|child| child.parse().unwrap()).collect()
}
