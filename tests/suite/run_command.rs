//! `legbook run`: a real command, its signals, its time, its terminal, and what it leaves running.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use legbook::process::{Presence, ProcessTable, SystemProcesses};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{LEGBOOK, Workspace};

const RUN_ID: &str = "the-run";

/// Shell for a wait that a trap can end at any moment. A signal that comes while a shell forks its one long `sleep` is
/// lost on that, and the shell waits for it before it runs the trap. The shell counts by itself: a signal to the group
/// would end a program that counts for it, and with it the wait.
const A_MINUTE: &str = "n=0; while [ $n -lt 600 ]; do sleep 0.1; n=$((n + 1)); done";

/// One run in a workspace of its own.
struct Run {
    workspace: Workspace,
    legbook: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Run {
    /// Starts `legbook run OPTIONS -- sh -c SCRIPT` without a terminal, whether the tests have one or not.
    fn start(options: &[&str], script: &str) -> Self {
        let options = options.iter().copied().chain(["--", "sh", "-c", script]);
        Self::start_with(Command::new("setsid").args([LEGBOOK, "run", "--run-id", RUN_ID]).args(options))
    }

    /// Starts `command`, which becomes `legbook run --run-id the-run`.
    fn start_with(command: &mut Command) -> Self {
        let workspace = Workspace::new();
        let mut legbook = command
            .current_dir(workspace.path())
            .env("LEGBOOK_STORE", workspace.store())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = legbook.stdin.take().unwrap();
        let stdout = BufReader::new(legbook.stdout.take().unwrap());
        Self { workspace, legbook, stdin, stdout }
    }

    /// Waits for the next line of the command.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.legbook.id()).unwrap()), signal).unwrap();
    }

    /// Waits for legbook and gives its exit code and the run.json that it left.
    fn end_with_snapshot(mut self) -> (Option<i32>, Value) {
        let exit = self.legbook.wait().unwrap();
        let snapshot = fs::read(self.workspace.run_json(RUN_ID)).unwrap();
        (exit.code(), serde_json::from_slice(&snapshot).unwrap())
    }

    /// Waits for legbook and gives its exit code and the status that the run ended with.
    fn end(self) -> (Option<i32>, String) {
        let (code, snapshot) = self.end_with_snapshot();
        (code, snapshot["status"].as_str().unwrap().to_owned())
    }
}

fn ended(code: i32, status: &str) -> (Option<i32>, String) {
    (Some(code), status.to_owned())
}

fn is_gone(pid: &str) -> bool {
    SystemProcesses.look_up(pid.parse().unwrap()) == Presence::Absent
}

#[test]
fn the_exit_of_the_command_is_the_exit_of_legbook() {
    for (script, code, status) in [
        ("exit 0", 0, "ok"),
        ("exit 7", 7, "failed"),
        ("kill -KILL $$", 137, "failed"),
        ("kill -40 $$", 168, "failed"),
        ("kill -TERM $$", 143, "canceled"),
    ] {
        assert_eq!(Run::start(&[], script).end(), ended(code, status), "{script}");
    }
}

#[test]
fn a_run_that_failed_tells_what_kind_of_end_it_was() {
    for (options, script, status, kind) in [
        (&[] as &[&str], "exit 1", "failed", "exit"),
        (&[], "kill -KILL $$", "failed", "signal"),
        (&[], "kill -TERM $$", "canceled", "signal"),
        (&["--timeout", "0.1"], "exec sleep 60", "timeout", "timeout"),
    ] {
        let (_, snapshot) = Run::start(options, script).end_with_snapshot();
        assert_eq!(snapshot["status"], status, "{script}");
        assert_eq!(snapshot["failure_phase"], "command", "{script}");
        assert_eq!(snapshot["failure_kind"], kind, "{script}");
        assert!(snapshot["error"].as_str().is_some_and(|error| !error.is_empty()), "{script}");
    }
}

#[test]
fn a_command_that_can_not_start_fails_the_run() {
    for (program, code) in [("./no-such-program", 127), ("no-such-program", 127), ("/", 126)] {
        let run = Run::start_with(Command::new(LEGBOOK).args(["run", "--run-id", RUN_ID, "--", program]));
        assert_eq!(run.end(), ended(code, "failed"), "{program}");
    }
}

#[test]
fn a_signal_to_legbook_ends_the_command_and_cancels_the_run() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut run = Run::start(&[], "echo $$; exec sleep 60");
        let command = run.line();
        run.signal(signal);
        assert_eq!(run.end(), ended(128 + signal as i32, "canceled"));
        assert!(is_gone(&command), "{signal}");
    }
}

#[test]
fn a_canceled_command_may_clean_up_and_choose_its_exit_code() {
    let mut run = Run::start(&[], &format!("trap 'echo cleaned; exit 5' TERM; echo ready; {A_MINUTE}"));
    assert_eq!(run.line(), "ready");
    run.signal(Signal::SIGTERM);
    assert_eq!(run.line(), "cleaned");
    assert_eq!(run.end(), ended(5, "canceled"));
}

#[test]
fn a_cancel_reaches_what_the_command_waits_for() {
    let inner = format!("trap 'echo inner; exit' TERM; echo ready; {A_MINUTE}");
    let mut run = Run::start_with(
        Command::new("setsid")
            .args([
                LEGBOOK,
                "run",
                "--run-id",
                RUN_ID,
                "--",
                "sh",
                "-c",
                "trap : TERM; sh -c \"$inner\"; exit 5",
            ])
            .env("inner", inner),
    );
    assert_eq!(run.line(), "ready");
    run.signal(Signal::SIGTERM);
    assert_eq!(run.line(), "inner");
    assert_eq!(run.end(), ended(5, "canceled"));
}

#[test]
fn a_cancel_that_is_sent_twice_does_not_hit_what_the_command_cleans_up_with() {
    let script = format!("trap 'echo asked' TERM; trap 'echo over; exit 5' USR1; echo ready; {A_MINUTE}");
    let mut run = Run::start(&[], &script);
    assert_eq!(run.line(), "ready");
    run.signal(Signal::SIGTERM);
    assert_eq!(run.line(), "asked");
    run.signal(Signal::SIGTERM);
    run.signal(Signal::SIGUSR1);
    assert_eq!(run.line(), "over");
    assert_eq!(run.end(), ended(5, "canceled"));
}

#[test]
fn a_command_that_ignores_the_cancel_is_killed() {
    let mut run = Run::start(&[], "trap '' TERM; echo $$; exec sleep 60");
    let command = run.line();
    run.signal(Signal::SIGTERM);
    assert_eq!(run.end(), ended(137, "canceled"));
    assert!(is_gone(&command));
}

#[test]
fn a_stopped_command_can_be_canceled() {
    let mut run = Run::start(&[], "echo ready; kill -STOP $$; sleep 60");
    assert_eq!(run.line(), "ready");
    run.signal(Signal::SIGTERM);
    assert_eq!(run.end(), ended(143, "canceled"));
}

#[test]
fn other_signals_go_to_the_command_and_do_not_end_the_run() {
    for name in ["USR1", "USR2", "HUP", "QUIT", "WINCH"] {
        let signal: Signal = format!("SIG{name}").parse().unwrap();
        let mut run = Run::start(&[], &format!("trap 'echo {name}; exit 0' {name}; echo ready; {A_MINUTE}"));
        assert_eq!(run.line(), "ready");
        run.signal(signal);
        assert_eq!(run.line(), name);
        assert_eq!(run.end(), ended(0, "ok"));
    }
}

#[test]
fn a_command_past_its_time_is_ended() {
    let mut run = Run::start(&["--timeout", "1"], "echo $$; exec sleep 60");
    let command = run.line();
    assert_eq!(run.end(), ended(124, "timeout"));
    assert!(is_gone(&command));
}

/// Starts processes in every way in which one gets away from a shell, tells their pids, and ends. `$trap` is what
/// each does about SIGTERM.
const LEAVES_MUCH: &str = r#"
    mkfifo ready; exec 3<>ready
    export one='echo $$ >&3; exec sleep 60 >/dev/null'
    sh -c "$trap $one" &
    setsid sh -c "$trap $one" &
    (sh -c "$trap $one" &)
    (setsid sh -c "(sh -c '$trap $one' &)" &)
    for _ in 1 2 3 4; do read -r pid <&3; echo "$pid"; done
    exit 3"#;

fn assert_nothing_is_left(trap: &str) {
    let mut run = Run::start_with(
        Command::new(LEGBOOK)
            .args(["run", "--run-id", RUN_ID, "--", "sh", "-c", LEAVES_MUCH])
            .env("trap", trap),
    );
    let left: Vec<String> = (0..4).map(|_| run.line()).collect();
    assert_eq!(run.end(), ended(3, "failed"));
    for pid in left {
        assert!(is_gone(&pid), "{pid}");
    }
}

#[test]
fn what_the_command_leaves_running_is_ended() {
    assert_nothing_is_left("");
}

#[test]
fn what_ignores_its_end_is_killed() {
    assert_nothing_is_left(r#"trap "" TERM;"#);
}

#[test]
fn what_is_left_may_clean_up() {
    let script = format!(
        "mkfifo ready; exec 3<>ready
         sh -c 'trap \"echo cleaned; exit\" TERM; echo >&3; {A_MINUTE}' &
         read -r _ <&3"
    );
    let mut run = Run::start(&[], &script);
    assert_eq!(run.line(), "cleaned");
    assert_eq!(run.end(), ended(0, "ok"));
}

/// Runs SHELL, which starts legbook with `exec "$@" CMD…`.
fn from_a_shell(shell: &str) -> Run {
    Run::start_with(Command::new("sh").args(["-c", shell, "sh", LEGBOOK, "run", "--run-id", RUN_ID, "--"]))
}

#[test]
fn the_jobs_of_a_shell_that_became_legbook_live_on() {
    let mut run = from_a_shell("sleep 60 >/dev/null & echo $!; exec \"$@\" true");
    let job = run.line();
    assert_eq!(run.end(), ended(0, "ok"));
    kill(Pid::from_raw(job.parse().unwrap()), Signal::SIGKILL).unwrap();
}

#[test]
fn a_hangup_that_nohup_ignores_stays_ignored_by_the_command() {
    let mut run = from_a_shell(
        "trap '' HUP; exec \"$@\" sh -c 'grep SigIgn /proc/self/status; read -r code; exit \"$code\"'",
    );
    let mask = run.line();
    let mask = u64::from_str_radix(mask.split_whitespace().nth(1).unwrap(), 16).unwrap();
    assert_eq!(mask & 1, 1, "SIGHUP has number 1");
    run.signal(Signal::SIGHUP);
    run.stdin.write_all(b"6\n").unwrap();
    assert_eq!(run.end(), ended(6, "failed"));
}

#[test]
fn a_parent_that_ignores_the_end_of_children_does_not_hide_the_exit() {
    assert_eq!(from_a_shell("trap '' CHLD; exec \"$@\" sh -c 'exit 4'").end(), ended(4, "failed"));
}

/// Runs `legbook run -- sh -c SCRIPT` on a terminal of its own. SCRIPT is in `$SCRIPT`.
fn on_a_terminal(script: impl AsRef<OsStr>) -> Run {
    let line = format!("exec {LEGBOOK} --quiet run --run-id {RUN_ID} -- sh -c \"$SCRIPT\"");
    Run::start_with(
        Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .env("SCRIPT", script),
    )
}

#[test]
fn on_a_terminal_the_command_has_the_foreground() {
    let mut run = on_a_terminal(
        "read -r pid name state parent group session terminal foreground rest </proc/$$/stat
         test $group = $foreground && echo foreground; read -r answer </dev/tty; echo \"got $answer\"",
    );
    assert_eq!(run.line(), "foreground");
    run.stdin.write_all(b"hello\n").unwrap();
    assert_eq!(run.line(), "hello", "the terminal's echo");
    assert_eq!(run.line(), "got hello");
    assert_eq!(run.end(), ended(0, "ok"));
}

#[test]
fn ctrl_c_cancels_a_command_that_ends_of_it() {
    let catching = format!("trap 'exit 130' INT; echo ready; {A_MINUTE}");
    for script in ["echo ready; exec sleep 60", &catching] {
        let mut run = on_a_terminal(script);
        assert_eq!(run.line(), "ready");
        run.stdin.write_all(b"\x03").unwrap();
        assert_eq!(run.end(), ended(130, "canceled"), "{script}");
    }
}

#[test]
fn ctrl_c_does_not_cancel_a_command_that_goes_on() {
    let mut run =
        on_a_terminal("trap caught=1 INT; echo ready; until test $caught; do sleep 0.1; done; exit 0");
    assert_eq!(run.line(), "ready");
    run.stdin.write_all(b"\x03").unwrap();
    assert_eq!(run.end(), ended(0, "ok"));
}

#[test]
fn the_terminal_comes_back_from_an_interactive_shell_that_was_killed() {
    let line = format!(
        "{LEGBOOK} --quiet run --run-id {RUN_ID} -- sh -ic 'echo up; kill -KILL $$'
         read -r answer; echo \"got $answer\""
    );
    let mut run =
        Run::start_with(Command::new("script").args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh"));
    assert_eq!(run.line(), "up");
    run.stdin.write_all(b"hello\n").unwrap();
    while run.line() != "got hello" {}
    assert_eq!(run.end(), ended(0, "failed"));
}
