//! What a person is told beside the answer: notes, warnings, and remedies that fit where the person stands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::support::{Answer, Process, Workspace, orphaned, started};

#[test]
fn a_run_that_has_ended_under_its_lock_is_no_dead_end() {
    let workspace = Workspace::new();
    let token = started(&workspace, "w1");
    let token = ["--token", token.as_str()];
    let legbook = |arguments: &[&str]| workspace.legbook(arguments.iter().chain(&token));
    legbook(&["runs", "status", "w1", "ok"]).expect(0);
    let show = workspace.legbook(["runs", "show", "w1"]);
    assert_eq!(show.stderr, "ended, lock still held: legbook runs finish w1\n");
    let refused = legbook(&["runs", "status", "w1", "planning"]);
    let said = refused.refused(2, "has ended (ok)");
    assert!(said.contains("let its lock go: legbook runs finish w1;"), "{said}");
    let pid = std::process::id().to_string();
    let resume = ["runs", "start", "w1", "--resume", "--pid", &pid];
    let refused = workspace.legbook(resume);
    let said = refused.refused(2, "held by run w1 ");
    assert!(said.contains(" itself: ") && said.contains("legbook runs finish w1"), "{said}");
    legbook(&["runs", "finish", "w1"]).expect(0);

    // It says so too once its lock is gone, whoever asks.
    legbook(&["runs", "finish", "w1", "failed"]).refused(2, "has ended (ok)");
    legbook(&["runs", "status", "w1", "failed"]).refused(2, "has ended (ok)");
    workspace.legbook(["runs", "finish", "w1", "failed"]).refused(2, "has ended (ok)");
    legbook(&["runs", "finish", "w1", "ok"]).expect(0);
    workspace.legbook(resume).expect(0);
    let refused = legbook(&["runs", "status", "w1", "planning"]);
    let said = refused.refused(2, "the token is not that of run w1's lock");
    assert!(said.contains("a later --resume makes a new one"), "{said}");
    assert!(said.contains("where it is lost, end the owner"), "{said}");
}

#[test]
fn a_status_word_that_nobody_knows_is_written_with_a_warning() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let write = |status: &str, more: &[&str]| {
        let arguments = ["runs", "write", "r1", "--token", &token];
        workspace.legbook_reading(arguments.iter().chain(more), json!({ "status": status }).to_string())
    };
    for known in ["planning", "running", ""] {
        let answer = write(known, &[]);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{known}");
    }
    assert_eq!(write("sleeping", &["--quiet"]).stderr, "");
    let answer = write(&format!("sleeping\u{1b}[31m{}", "x".repeat(100)), &[]);
    answer.expect(0);
    assert!(answer.stderr.starts_with("warning: the status \"sleeping\\u{1b}[31mx"), "{answer:?}");
    assert!(
        answer.stderr.contains("it ends the run") && !answer.stderr.contains(&"x".repeat(41)),
        "{answer:?}"
    );
    assert_eq!(fs::read_to_string(workspace.run_json("r1")).unwrap().matches('x').count(), 100);
}

#[test]
fn show_says_what_the_snapshot_says_and_export_puts_the_row_right() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let store = rusqlite::Connection::open(workspace.store()).unwrap();
    store.execute("UPDATE runs SET status = 'failed', task = 'other', finished_at = NULL", []).unwrap();
    let show = workspace.legbook(["runs", "show", "r1", "--json"]).json();
    for key in ["status", "task", "started_at", "finished_at"] {
        assert_eq!(show[key], show["snapshot"][key], "{key}");
    }
    let doctor = workspace.legbook(["doctor"]);
    assert!(
        doctor.expect(2).contains("fail: runs ok=1 warn=0 fail=0 omitted=0; findings: 1 (run-columns)"),
        "{doctor:?}"
    );
    let remedy = doctor.stdout.lines().last().unwrap().split_once("legbook ").unwrap().1;
    workspace.legbook(shlex::split(remedy).unwrap()).expect(0);
    workspace.legbook(["doctor"]).expect(0);
    assert_eq!(workspace.legbook(["runs", "list", "--json"]).json()["runs"][0]["status"], "ok");
}

#[test]
fn show_says_which_run_json_it_is_that_is_not_the_last() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let run_json = workspace.run_json("r1");
    let first = fs::read(&run_json).unwrap();
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let cases: [(&[u8], &str, &str); 3] = [
        (&first, "older", "it is an older one of this run"),
        (b"{", "unparseable", "it is no JSON object"),
        (b"{}", "other", "it is one that the store does not know"),
    ];
    for (bytes, word, words) in cases {
        fs::write(&run_json, bytes).unwrap();
        assert_eq!(workspace.legbook(["runs", "show", "r1", "--json"]).json()["run_json_state"], word);
        let show = workspace.legbook(["runs", "show", "r1"]);
        assert!(show.expect(0).contains(words), "{show:?}");
    }
    fs::remove_file(&run_json).unwrap();
    assert_eq!(workspace.legbook(["runs", "show", "r1", "--json"]).json()["run_json_state"], "missing");
}

#[test]
fn a_foreign_lock_names_its_holder() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let owner = Process::new();
    workspace.legbook(["runs", "start", "r2", "--pid", &owner.pid()]).expect(0);
    let show = workspace.legbook(["runs", "show", "r1"]);
    assert!(show.expect(0).contains("live, held by run r2: "), "{show:?}");
    drop(owner);
    let show = workspace.legbook(["runs", "show", "r1"]);
    assert!(show.expect(0).contains("foreign, held by run r2: "), "{show:?}");
    for answer in [show, workspace.legbook(["runs", "lock", "r1"])] {
        assert!(answer.stderr.ends_with("legbook runs recover r2\n"), "{answer:?}");
    }
}

#[test]
fn a_stale_lock_says_that_the_token_still_writes_and_that_a_command_may_still_run() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    for verb in ["show", "lock"] {
        let answer = workspace.legbook(["runs", verb, "r1"]);
        assert!(answer.stderr.contains("still has the token can just write on"), "{answer:?}");
        assert!(
            answer.stderr.contains("may still run; end the run with: legbook runs recover r1"),
            "{answer:?}"
        );
    }
    let doctor = workspace.legbook(["doctor"]);
    assert!(doctor.expect(1).contains("still has the token can just write on"), "{doctor:?}");
    let recovered = workspace.legbook(["runs", "recover", "r1"]);
    recovered.expect(0);
    assert!(
        recovered.stderr.contains("a command that it had started (legbook run) may still run"),
        "{recovered:?}"
    );
    assert_eq!(workspace.legbook(["runs", "recover", "r1"]).stderr, "");
}

#[test]
fn start_names_the_owner_and_notes_one_that_nobody_chose() {
    let workspace = Workspace::new();
    let answer = workspace.legbook(["runs", "start", "r1"]);
    let pid = std::process::id();
    assert!(answer.expect(0).contains(&format!("owner    pid {pid} (")), "{answer:?}");
    assert!(answer.stderr.contains(&format!("owner is pid {pid} (")), "{answer:?}");
    assert!(answer.stderr.contains("--pid $$ or --lease 2h"), "{answer:?}");
    let pid = pid.to_string();
    for chosen in [&["--pid", &pid][..], &["--lease", "2h"], &["--quiet"]] {
        let other = Workspace::new();
        let answer = other.legbook(["runs", "start", "r1"].iter().chain(chosen));
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{chosen:?}");
    }
}

#[test]
fn a_recovery_is_told_behind_the_events_and_a_run_without_a_journal_by_a_note() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let before = workspace.legbook(["runs", "events", "r1", "-q"]).stdout;
    workspace.legbook(["runs", "recover", "r1"]).expect(0);
    for arguments in [&["runs", "events", "r1", "-q"][..], &["runs", "events", "r1", "-q", "--follow"]] {
        let after = workspace.legbook(arguments);
        let last = after.expect(0).strip_prefix(&before).unwrap();
        assert!(
            last.contains("recovery") && last.ends_with("failed\n") && last.lines().count() == 1,
            "{after:?}"
        );
    }
    assert_eq!(
        workspace.legbook(["runs", "events", "r1", "--json"]).json()["events"].as_array().unwrap().len(),
        2
    );
    workspace.legbook(["run", "--run-id", "r2", "--no-journal", "--", "true"]).expect(0);
    let none = workspace.legbook(["runs", "events", "r2"]);
    assert_eq!((none.expect(0), none.stderr.as_str()), ("", "run r2 has no journal\n"));
}

#[test]
fn at_and_diff_take_the_last_event() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let at = workspace.legbook(["runs", "at", "r1", "last"]);
    assert_eq!(at.expect(0).as_bytes(), fs::read(workspace.run_json("r1")).unwrap());
    let diff = workspace.legbook(["runs", "diff", "r1", "1", "last", "--json"]).json();
    assert_eq!((&diff["a"], &diff["b"]), (&json!(1), &json!(4)));
    let wrong = workspace.legbook(["runs", "at", "r1", "first"]);
    assert!(wrong.stderr.contains("give a sequence, or `last`"), "{wrong:?}");
}

#[test]
fn a_folder_of_legbooks_own_is_hidden_from_git_and_another_is_left() {
    let workspace = Workspace::new();
    Command::new("git").args(["init", "--quiet"]).current_dir(workspace.path()).status().unwrap();
    workspace.legbook(["run", "--", "true"]).expect(0);
    let ignore = workspace.path().join(".legbook/.gitignore");
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    assert_eq!(fs::metadata(&ignore).unwrap().permissions().mode() & 0o777, 0o600);
    if let Ok(status) = Command::new("git").args(["status", "--short"]).current_dir(workspace.path()).output()
    {
        assert_eq!(String::from_utf8_lossy(&status.stdout), "");
    }
    let other = Workspace::new();
    fs::create_dir(other.path().join(".legbook")).unwrap();
    other.legbook(["run", "--", "true"]).expect(0);
    other.legbook(["--store", "data/store.db", "run", "--", "true"]).expect(0);
    assert!(
        !other.path().join(".legbook/.gitignore").exists() && !other.path().join("data/.gitignore").exists()
    );
}

#[test]
fn who_writes_to_a_store_above_the_git_root_is_told() {
    let outer = Workspace::new();
    outer.legbook(["run", "--", "true"]).expect(0);
    let inner = outer.path().join("inner");
    fs::create_dir_all(inner.join(".git")).unwrap();
    let at = |arguments: &[&str]| Answer::of(outer.command(arguments).current_dir(&inner).output().unwrap());
    let pid = std::process::id().to_string();
    let start = at(&["runs", "start", "r1", "--pid", &pid, "--json"]);
    assert!(
        start.stderr.starts_with(&format!("note: the store is {}, outside", outer.store().display())),
        "{start:?}"
    );
    let token = start.json()["token"].as_str().unwrap().to_owned();
    let status = ["runs", "status", "r1", "planning", "--token", &token];
    assert!(at(&status).stderr.starts_with("note: the store is "));
    let quiet = at(&[&status[..], &["--quiet"]].concat());
    assert_eq!(quiet.stderr.matches("note: the store is ").count(), 1, "{quiet:?}");
    assert_eq!(at(&["runs", "list"]).stderr, "");
    let named = outer.store();
    assert_eq!(at(&[&["--store", named.to_str().unwrap()], &status[..]].concat()).stderr, "");
}

#[test]
fn inside_a_run_and_behind_a_wait_the_remedy_fits() {
    let workspace = Workspace::new();
    let inside =
        workspace.command(["run", "--run-id", "r1", "--", crate::support::LEGBOOK, "run", "--", "true"]);
    let answer = Answer::of({ inside }.output().unwrap());
    answer.expect(2);
    assert!(
        answer.stderr.contains("help: you are inside run r1: report with `legbook runs status r1 STATUS`"),
        "{answer:?}"
    );
    let known = workspace.legbook(["run", "--run-id", "r1", "--", "true"]);
    assert_eq!(known.stderr, "error: the run r1 exists\nhelp: give another --run-id, or leave it out\n");

    started(&workspace, "r2");
    for verb in [&["run", "--wait", "0.3", "--", "true"][..], &["runs", "start", "r3", "--wait", "0.3"]] {
        let said = workspace.legbook(verb);
        said.refused(2, "locked by run r2");
        assert!(
            said.stderr.contains("help: waited 300ms for it; wait for that run with --wait SECONDS"),
            "{said:?}"
        );
    }
}

/// Whether the process has a handler for the signal.
fn catches(pid: u32, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (signal as i32 - 1)) != 0
}

#[test]
fn a_run_waits_for_the_lock_and_a_signal_ends_the_wait() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let waiting = |run_id: &str| {
        let mut command = workspace.command(["run", "--run-id", run_id, "--wait", "1h", "--", "true"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let canceled = waiting("r2");
    while !catches(canceled.id(), Signal::SIGTERM) {
        std::thread::sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(i32::try_from(canceled.id()).unwrap()), Signal::SIGTERM).unwrap();
    let answer = Answer::of(canceled.wait_with_output().unwrap());
    assert_eq!(answer.code, 128 + 15, "{answer:?}");
    assert!(answer.stderr.contains("canceled by SIGTERM while waiting; nothing was begun"), "{answer:?}");
    workspace.legbook(["runs", "show", "r2"]).refused(2, "there is no run r2");

    let waiter = waiting("r3");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    Answer::of(waiter.wait_with_output().unwrap()).expect(0);
    assert_eq!(workspace.legbook(["runs", "show", "r3", "--json"]).json()["status"], "ok");
}

#[test]
fn a_named_store_that_is_not_there_or_a_directory_is_told() {
    let workspace = Workspace::new();
    let list = workspace.legbook(["--store", "absent.db", "runs", "list"]);
    assert_eq!(list.expect(0), "");
    let absent = workspace.path().join("absent.db");
    assert!(list.stderr.contains(&format!("no store at {}", absent.display())), "{list:?}");
    assert_eq!(workspace.legbook(["--store", "absent.db", "runs", "list", "-q"]).stderr, "");
    assert!(!workspace.legbook(["runs", "list"]).stderr.contains("no store"));

    let doctor = workspace.legbook(["doctor", "/nonexist"]);
    assert!(doctor.refused(3, "/nonexist").contains("help: check the path"), "{doctor:?}");
    assert!(workspace.legbook(["doctor"]).refused(3, "no store").contains("legbook runs start"));

    workspace.legbook(["run", "--", "true"]).expect(0);
    let suggested = format!("help: name the file: --store {}", workspace.store().display());
    for folder in [".", ".legbook"] {
        for command in [&["runs", "list"][..], &["run", "--", "true"]] {
            let refused = workspace.legbook(["--store", folder].iter().chain(command));
            assert!(refused.refused(2, "a directory").contains(&suggested), "{refused:?}");
        }
        let refused = workspace.legbook(["doctor", folder]);
        assert!(refused.refused(3, "a directory").contains(&suggested), "{refused:?}");
    }
    fs::create_dir(workspace.path().join("empty")).unwrap();
    let refused = workspace.legbook(["--store", "empty", "runs", "list"]);
    assert!(refused.refused(2, "a directory").contains("no store is in it"), "{refused:?}");
}
