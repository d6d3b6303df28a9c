//! `legbook run -- CMD`: what the journal holds of a command, and what the caller sees of it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::{Answer, LEGBOOK, Workspace};

/// The event types of a run's journal without the checkpoints.
fn transitions(workspace: &Workspace, run_id: &str) -> Vec<String> {
    let answer = workspace.legbook(["runs", "events", run_id, "--json"]).json();
    let types =
        answer["events"].as_array().unwrap().iter().map(|event| event["event_type"].as_str().unwrap());
    types.filter(|event_type| *event_type != "run.snapshot.checkpointed").map(str::to_owned).collect()
}

/// The run's last snapshot.
fn snapshot(workspace: &Workspace, run_id: &str) -> Value {
    serde_json::from_slice(&fs::read(workspace.run_json(run_id)).unwrap()).unwrap()
}

#[test]
fn a_command_that_tells_its_status_is_journaled_and_its_exit_code_comes_back() {
    let workspace = Workspace::new();
    let script = format!(
        "for s in planning dispatching synthesizing; do '{LEGBOOK}' runs status \"$LEGBOOK_RUN\" $s >/dev/null; done
         echo out; exit 3"
    );
    let answer = workspace.legbook(["run", "--run-id", "r1", "--task", "sort", "--", "sh", "-c", &script]);
    assert_eq!(answer.expect(3), "out\n");
    assert!(answer.stderr.contains("run r1 ended failed"), "{answer:?}");
    let expected = [
        "run.created",
        "run.planning.started",
        "run.dispatch.requested",
        "run.synthesis.started",
        "run.failed",
    ];
    assert_eq!(transitions(&workspace, "r1"), expected);
    let last = snapshot(&workspace, "r1");
    assert_eq!(last["failure_phase"], "command");
    assert_eq!(last["failure_kind"], "exit");
    assert_eq!(last["error"], "the command exited with code 3");
    assert_eq!(last["failure"]["prior_status"], "synthesizing");
    assert_eq!(workspace.legbook(["runs", "lock", "r1", "--json"]).json()["state"], "absent");
}

#[test]
fn a_command_that_succeeds_ends_ok_and_is_told_where_its_run_is() {
    let workspace = Workspace::new();
    let script = "printf '%s\\n' \"$LEGBOOK_STORE\" \"$LEGBOOK_RUN\" \"$LEGBOOK_TOKEN\"";
    let answer = workspace.legbook(["--store", "here.db", "-q", "run", "--", "sh", "-c", script]);
    let told: Vec<_> = answer.expect(0).lines().collect();
    assert_eq!(told[0], workspace.path().join("here.db").to_str().unwrap());
    assert_eq!(told[2].len(), 64);
    assert_eq!(answer.stderr, "");
    let show = workspace.legbook(["--store", "here.db", "runs", "show", told[1], "--json"]).json();
    assert_eq!(show["status"], "ok");
}

#[test]
fn json_is_the_last_line_behind_the_commands_own_output() {
    let workspace = Workspace::new();
    let answer = workspace.legbook(["run", "--run-id", "r1", "--json", "--", "echo", "out"]);
    let (out, line) = answer.expect(0).split_once('\n').unwrap();
    assert_eq!(out, "out");
    let run_dir = workspace.run_json("r1").parent().unwrap().to_str().unwrap().to_owned();
    let expected = json!({"run_id": "r1", "run_dir": run_dir, "status": "ok", "exit_code": 0});
    assert_eq!(serde_json::from_str::<Value>(line).unwrap(), expected);
}

#[test]
fn a_command_that_a_signal_ends_is_failed_with_128_and_the_signal() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r1", "--", "sh", "-c", "kill -KILL $$"]).expect(137);
    let last = snapshot(&workspace, "r1");
    assert_eq!((&last["status"], &last["failure_kind"]), (&json!("failed"), &json!("signal")));
}

#[test]
fn sigterm_ends_the_command_and_cancels_the_run() {
    let workspace = Workspace::new();
    let mut command =
        workspace.command(["run", "--run-id", "r1", "--", "sh", "-c", "echo ready; sleep 100000"]);
    let mut legbook = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(legbook.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    kill(Pid::from_raw(legbook.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(legbook.wait().unwrap().code(), Some(143));
    let last = snapshot(&workspace, "r1");
    assert_eq!((&last["status"], &last["failure_kind"]), (&json!("canceled"), &json!("signal")));
    assert_eq!(transitions(&workspace, "r1"), ["run.created", "run.interrupted"]);
}

#[test]
fn a_command_beyond_its_time_is_ended_and_the_run_says_timeout() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r1", "--timeout", "0.1", "--", "sleep", "100000"]).expect(124);
    let last = snapshot(&workspace, "r1");
    assert_eq!((&last["status"], &last["failure_kind"]), (&json!("timeout"), &json!("timeout")));
    for wrong in ["0", "-1", "inf", "x"] {
        workspace.legbook(["run", "--timeout", wrong, "--", "true"]).expect(2);
    }
}

#[test]
fn a_command_that_is_not_there_is_127_and_one_that_cannot_run_126() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r1", "--", "./nonsense"]).expect(127);
    fs::write(workspace.path().join("text"), "no program").unwrap();
    workspace.legbook(["run", "--run-id", "r2", "--", "./text"]).expect(126);
    for run_id in ["r1", "r2"] {
        let last = snapshot(&workspace, run_id);
        assert_eq!((&last["status"], &last["failure_kind"]), (&json!("failed"), &json!("exit")), "{run_id}");
    }
}

#[test]
fn what_the_command_leaves_running_is_gone_when_the_run_has_ended() {
    let workspace = Workspace::new();
    let script = "setsid sleep 100000 >/dev/null 2>&1 & echo $!";
    let answer = workspace.legbook(["run", "--", "sh", "-c", script]);
    let pid: i32 = answer.expect(0).trim().parse().unwrap();
    assert!(kill(Pid::from_raw(pid), None).is_err(), "{pid} lives");
}

#[test]
fn the_status_that_the_command_ended_its_run_with_stays() {
    let workspace = Workspace::new();
    // With the lock let go by the command itself, and without.
    for (run_id, verb, word) in [("r1", "finish", "ok"), ("r2", "status", "canceled")] {
        let script = format!("'{LEGBOOK}' runs {verb} \"$LEGBOOK_RUN\" {word} >/dev/null; exit 5");
        let answer = workspace.legbook(["run", "--run-id", run_id, "--", "sh", "-c", &script]);
        answer.expect(5);
        assert_eq!(snapshot(&workspace, run_id)["status"], word);
        assert_eq!(workspace.legbook(["runs", "lock", run_id, "--json"]).json()["state"], "absent");
    }
}

#[test]
fn an_outcome_that_cannot_be_written_is_said_and_left_to_recovery() {
    let workspace = Workspace::new();
    let script = "sqlite3 .legbook/store.db \"CREATE TRIGGER no BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'no'); END\"";
    let answer = workspace.legbook(["run", "--run-id", "r1", "--", "sh", "-c", script]);
    assert!(answer.refused(1, "its run r1 does not say so").contains("legbook runs recover r1"));
    assert_eq!(workspace.legbook(["runs", "lock", "r1", "--json"]).json()["state"], "stale");
}

#[test]
fn an_outcome_that_only_the_store_has_is_said_with_the_command_that_exports_it() {
    let workspace = Workspace::new();
    let run_dir = workspace.run_json("r1").parent().unwrap().to_str().unwrap().to_owned();
    let script = format!("rm -r '{run_dir}'; touch '{run_dir}'");
    let answer = workspace.legbook(["run", "--run-id", "r1", "--", "sh", "-c", &script]);
    assert!(answer.refused(1, "r1 is in the store").contains("legbook runs export r1"));
    assert_eq!(workspace.legbook(["runs", "lock", "r1", "--json"]).json()["state"], "absent");
    fs::remove_file(&run_dir).unwrap();
    workspace.legbook(["runs", "export", "r1"]).expect(0);
    assert_eq!(snapshot(&workspace, "r1")["status"], "ok");
}

/// A command that leaves the process group that legbook made for it, and says so; it outlives what does not reach it.
fn leaving(before: &str) -> String {
    format!(
        "setpgrp(0, getpgrp(getppid())); {before} $| = 1; print qq(ready\\n); sleep 20; print 'outlived';"
    )
}

#[test]
fn a_command_that_left_its_process_group_is_ended_all_the_same() {
    let workspace = Workspace::new();
    let run = |script: &str, timeout: &str| {
        let mut command = std::process::Command::new("setsid");
        command.args(["-w", LEGBOOK, "run", "--timeout", timeout, "--", "perl", "-e", script]);
        command.current_dir(workspace.path()).stdin(Stdio::null()).env_remove("LEGBOOK_STORE");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    for before in ["", "$SIG{TERM} = 'IGNORE';"] {
        let answer = Answer::of(run(&leaving(before), "1").wait_with_output().unwrap());
        assert!(!answer.expect(124).contains("outlived"), "{before}: {answer:?}");
    }
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut legbook = run(&leaving(""), "60");
        let mut stdout = BufReader::new(legbook.stdout.take().unwrap());
        let mut told = String::new();
        stdout.read_line(&mut told).unwrap();
        kill(Pid::from_raw(legbook.id().try_into().unwrap()), signal).unwrap();
        stdout.read_line(&mut told).unwrap();
        assert_eq!(told, "ready\n");
        assert_eq!(legbook.wait().unwrap().code(), Some(128 + signal as i32));
    }
}

#[test]
fn a_command_has_the_signal_of_a_file_that_grows_too_large_as_ever() {
    let workspace = Workspace::new();
    let script = "ulimit -f 0; echo text > large";
    workspace.legbook(["run", "--", "sh", "-c", script]).expect(128 + Signal::SIGXFSZ as i32);
}

#[test]
fn without_a_journal_only_run_json_is_written() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r1", "--no-journal", "--", "true"]).expect(0);
    let show = workspace.legbook(["runs", "show", "r1", "--json"]).json();
    assert_eq!(
        (&show["journaled"], &show["events"], &show["status"]),
        (&json!(false), &json!(0), &json!("ok"))
    );
    assert_eq!(snapshot(&workspace, "r1")["lifecycle_journal_requested"], false);
}

#[test]
fn the_commands_arguments_are_passed_on_as_they_are() {
    let workspace = Workspace::new();
    let odd = OsStr::from_bytes(b"\xff --json -- \n");
    let words =
        [OsStr::new("run"), OsStr::new("-q"), OsStr::new("--"), OsStr::new("printf"), OsStr::new("%s"), odd];
    let output = workspace.command(words).output().unwrap();
    assert_eq!(output.stdout, odd.as_bytes());
    let none: [&str; 1] = ["run"];
    Answer::of(workspace.command(none).output().unwrap()).expect(2);
}
