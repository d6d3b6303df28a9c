//! What the command line refuses: the exit code, the words, the remedy, and that all is left as it was.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Answer, LEGBOOK, Process, Workspace, orphaned, started};

#[test]
fn start_refuses_what_it_is_given_wrongly() {
    let workspace = Workspace::new();
    for run_id in ["latest", "a/b", "..", ""] {
        workspace.legbook(["runs", "start", run_id]).refused(2, "invalid run id");
    }
    for wrong in [["--pid", "0"], ["--pid", "x"], ["--lease", "soon"], ["--wait", "-1"], ["--wait", "nan"]] {
        let answer = workspace.legbook(["runs", "start", "r1"].iter().chain(&wrong));
        answer.expect(2);
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
    }
    for endless in ["1e15", "1e19"] {
        let other = Workspace::new();
        let pid = std::process::id().to_string();
        other.legbook(["runs", "start", "r1", "--pid", &pid, "--wait", endless]).expect(0);
    }
    workspace
        .legbook(["runs", "start", "r1", "--lease", "9999999999999h"])
        .refused(2, "the lease is refused");
    let dead = {
        let owner = Process::new();
        owner.pid()
    };
    workspace.legbook(["runs", "start", "r1", "--pid", &dead]).refused(2, "no running process");
    workspace.legbook(["runs", "list", "--json"]).expect(0);
    assert_eq!(workspace.legbook(["runs", "list", "--json"]).json(), json!({"runs": []}));
}

#[test]
fn a_remedy_names_the_store_that_was_named() {
    let workspace = Workspace::new();
    let pid = std::process::id().to_string();
    workspace.legbook(["--store", "my store.db", "runs", "start", "r1", "--pid", &pid]).expect(0);
    let refused = workspace.legbook(["--store", "my store.db", "runs", "start", "r2"]);
    assert!(
        refused.refused(2, "locked by").contains("legbook --store 'my store.db' runs lock r1"),
        "{refused:?}"
    );
}

#[test]
fn a_payload_that_is_no_object_changes_nothing() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let before = workspace.picture();
    let deep = "[".repeat(100_000);
    let cases: [(&[u8], &str); 8] = [
        (b"", "invalid JSON"),
        (b"{\"secret\": 1", "ends too early"),
        (b"[1]", "not an object"),
        (b"\"text\"", "not an object"),
        (b"{} {}", "something follows"),
        (b"{\"a\": \xff}", "not UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (deep.as_bytes(), "deeper than 900"),
    ];
    for (payload, words) in cases {
        let refused = workspace.legbook_reading(["runs", "write", "r1", "--token", &token], payload);
        let said = refused.refused(2, words);
        assert!(!said.contains("secret"), "{said}");
        assert!(workspace.picture() == before, "{words}");
    }
    workspace
        .legbook(["runs", "write", "r1", "absent.json", "--token", &token])
        .refused(1, "cannot read absent.json");
    workspace.legbook(["runs", "write", "r1", ".", "--token", &token]).refused(1, "cannot read .");
    assert!(workspace.picture() == before);
}

#[test]
fn who_does_not_hold_the_lock_writes_nothing() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let elsewhere = Workspace::new();
    let store = workspace.store();
    let store = store.to_str().unwrap();
    let pid = std::process::id().to_string();
    let foreign =
        elsewhere.legbook(["--store", store, "runs", "start", "r2", "--pid", &pid, "--json"]).json();
    let foreign = foreign["token"].as_str().unwrap().to_owned();
    let before = workspace.picture();
    let forged = "0".repeat(64);
    let cases: [(&[&str], &str); 4] = [
        (&[], "no token was given"),
        (&["--token", &foreign], "the token belongs to run r2"),
        (&["--token", &forged], "the token is not that of run r1's lock"),
        (&["--token", "abc"], "the token is malformed"),
    ];
    for verb in
        [&["runs", "write", "r1"][..], &["runs", "status", "r1", "planning"], &["runs", "finish", "r1"]]
    {
        for (shown, words) in cases {
            let refused = workspace.legbook_reading(verb.iter().chain(shown), "{}");
            let said = refused.refused(2, words);
            assert!(said.contains("legbook runs start"), "{said}");
            assert!(![&token, &foreign, &forged].iter().any(|token| said.contains(token.as_str())), "{said}");
            assert!(workspace.picture() == before, "{verb:?} {words}");
        }
    }
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    workspace.legbook_reading(["runs", "write", "r1"], "{}").refused(2, "needs the run's lock");
    workspace
        .legbook_reading(["runs", "write", "r1", "--token", &token], "{}")
        .refused(2, "does not hold its workspace's lock");
}

#[test]
fn a_run_that_is_not_there_is_named_with_a_way_on() {
    let workspace = Workspace::new();
    workspace.legbook(["runs", "show", "r1"]).refused(2, "there is no store");
    started(&workspace, "r1");
    for verb in ["show", "events", "lock", "export", "write", "finish"] {
        let refused = workspace.legbook(["runs", verb, "r9"]);
        assert!(refused.refused(2, "there is no run r9").contains("legbook runs list"), "{verb}");
    }
    workspace.legbook(["runs", "show", "no/such/dir"]).refused(2, "there is no run no/such/dir");
    workspace.legbook(["runs", "show", "not an id"]).refused(2, "invalid run id");
    let not_text = OsStr::from_bytes(b"\xff");
    let answer = workspace.legbook([OsStr::new("runs"), OsStr::new("show"), not_text]);
    answer.expect(2);
    assert!(answer.stderr.starts_with("error: invalid UTF-8"), "{answer:?}");
}

#[test]
fn a_write_past_three_quarters_of_a_bound_prints_the_command_that_raises_it() {
    let workspace = Workspace::new();
    workspace.legbook(["db", "set", "max-journal-events", "8"]).expect(0);
    let token = started(&workspace, "r1");
    let planning = workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]);
    assert_eq!((planning.code, planning.stderr.as_str()), (0, ""));
    let near = workspace.legbook(["runs", "status", "r1", "dispatching", "--token", &token]);
    near.expect(0);
    assert!(near.stderr.starts_with("note: r1 uses 6 of 8 of max-journal-events; "), "{near:?}");
    let raise = near.stderr.rsplit("legbook ").next().unwrap().trim();
    workspace.legbook(raise.split(' ')).expect(0);
    let raised = workspace.legbook(["runs", "status", "r1", "synthesizing", "--token", &token]);
    assert_eq!((raised.code, raised.stderr.as_str()), (0, ""));
}

#[test]
fn a_bound_is_named_before_anything_changes_and_the_run_can_still_end() {
    let workspace = Workspace::new();
    workspace.legbook(["db", "set", "max-journal-events", "8"]).expect(0);
    let token = started(&workspace, "r1");
    for status in ["planning", "dispatching"] {
        workspace.legbook(["runs", "status", "r1", status, "--token", &token]).expect(0);
    }
    let before = workspace.picture();
    let refused = workspace.legbook(["runs", "status", "r1", "synthesizing", "--token", &token]);
    assert!(refused.refused(2, "max-journal-events is 8").contains("legbook db set max-journal-events 16"));
    assert!(workspace.picture() == before);
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);

    workspace.legbook(["db", "set", "max-checkpoint-bytes", "1024"]).expect(0);
    let token = started(&workspace, "r2");
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(1024));
    let refused = workspace.legbook_reading(["runs", "write", "r2", "--token", &token], large);
    refused.refused(2, "max-checkpoint-bytes is 1024");
}

/// Runs the program as a user who may read the store and change nothing, whoever runs the tests.
fn run_without_permission(workspace: &Workspace, arguments: &[&str]) -> Answer {
    let tools = tempfile::tempdir().unwrap();
    let program = tools.path().join("legbook");
    // Another process copies it: a file that this one had open for writing may be busy in a child of another test.
    assert!(Command::new("cp").arg(LEGBOOK).arg(&program).status().unwrap().success());
    fs::set_permissions(tools.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.arg("--store").arg(workspace.store()).args(arguments).current_dir("/").env_clear();
    if nix::unistd::geteuid().is_root() {
        std::os::unix::process::CommandExt::uid(&mut command, 65534);
    }
    Answer::of(command.output().unwrap())
}

#[test]
fn a_store_that_may_not_be_written_is_the_machines_failure() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let before = workspace.picture();
    let folder = workspace.store().parent().unwrap().to_path_buf();
    for (path, mode) in [(&workspace.path(), 0o555), (&folder, 0o555), (&workspace.store(), 0o444)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let refused =
        run_without_permission(&workspace, &["runs", "status", "r1", "planning", "--token", &token]);
    for (path, mode) in [(&workspace.path(), 0o755), (&folder, 0o700), (&workspace.store(), 0o600)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    refused.refused(1, "");
    assert!(refused.stderr.contains("read") || refused.stderr.contains("permission"), "{refused:?}");
    assert!(workspace.picture() == before);
}

#[test]
fn a_disk_that_takes_no_more_is_the_machines_failure_and_changes_nothing() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let before = workspace.picture();
    // The signal that comes with the limit would end a process that does not expect it.
    let script = "ulimit -f 0; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh", LEGBOOK, "runs", "status", "r1", "planning", "--token", &token])
        .current_dir(workspace.path())
        .output()
        .unwrap();
    assert!(Answer::of(output).refused(1, "I/O error").contains("look at the disk"));
    let mut after = workspace.picture();
    // SQLite leaves the side files that it could not fill.
    after.retain(|(path, _)| {
        !path.to_str().unwrap().ends_with("-wal") && !path.to_str().unwrap().ends_with("-shm")
    });
    assert!(after == before);
}

#[test]
fn a_run_that_cannot_be_shown_is_no_run_that_ended_badly() {
    let workspace = Workspace::new();
    started(&workspace, "r1");
    fs::set_permissions(workspace.store(), fs::Permissions::from_mode(0o000)).unwrap();
    for verb in ["show", "watch"] {
        run_without_permission(&workspace, &["runs", verb, "r1"]).refused(2, "");
    }
    run_without_permission(&workspace, &["runs", "list"]).refused(1, "");
    fs::set_permissions(workspace.store(), fs::Permissions::from_mode(0o600)).unwrap();
    let full = || Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    for verb in ["show", "watch"] {
        let output = workspace.command(["runs", verb, "r1"]).stdout(full()).output().unwrap();
        Answer::of(output).refused(2, "standard output");
    }
}

#[test]
fn a_value_that_is_no_json_is_not_repeated() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let before = workspace.picture();
    for wrong in ["k=hunter2", "k={\"a\": hunter2}", "hunter2"] {
        let answer =
            workspace.legbook(["runs", "status", "r1", "planning", "--token", &token, "--set", wrong]);
        assert_eq!(answer.expect(2), "");
        assert!(answer.stderr.starts_with("error: invalid value for '--set"), "{answer:?}");
        assert!(!answer.stderr.contains("hunter2"), "{answer:?}");
    }
    for own in ["status", "status_started_at", "finished_at", "duration_seconds"] {
        let set = format!("{own}=\"ok\"");
        let answer =
            workspace.legbook(["runs", "status", "r1", "planning", "--token", &token, "--set", &set]);
        answer.expect(2);
        assert!(answer.stderr.contains(&format!("{own} is written with the status")), "{answer:?}");
    }
    assert!(workspace.picture() == before);
}

#[test]
fn a_token_that_nobody_could_read_leaves_no_lock() {
    let workspace = Workspace::new();
    let pid = std::process::id().to_string();
    let full = Stdio::from(fs::File::options().write(true).open("/dev/full").unwrap());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    for (run_id, stdout) in [("full", full), ("closed", Stdio::from(writer))] {
        let output = workspace.command(["runs", "start", run_id, "--pid", &pid]).stdout(stdout).output();
        let answer = Answer::of(output.unwrap());
        assert!(answer.refused(1, "lock was let go").contains(&format!("runs start {run_id} --resume")));
        assert_eq!(workspace.legbook(["runs", "lock", run_id, "--json"]).json()["state"], "absent");
    }
    workspace.legbook(["runs", "start", "full", "--resume", "--pid", &pid]).expect(0);
}

#[test]
fn a_path_that_is_no_plain_file_is_named_with_what_to_do() {
    let workspace = Workspace::new();
    for directory in ["./nope/", "nope/.", "/"] {
        workspace.legbook(["--store", directory, "runs", "start", "r1"]).refused(2, "it names a directory");
    }
    started(&workspace, "r1");
    for suffix in ["-wal", "-shm"] {
        let side = workspace.path().join(format!(".legbook/store.db{suffix}"));
        let _ = fs::remove_file(&side);
        std::os::unix::fs::symlink("elsewhere", &side).unwrap();
        let answer = workspace.legbook(["runs", "list"]);
        let name = format!("store.db{suffix} is refused: it is a symbolic link");
        assert!(answer.refused(2, &name).contains("move that side file away"), "{answer:?}");
        fs::remove_file(&side).unwrap();
    }
    workspace.legbook(["runs", "list"]).expect(0);
}

#[test]
fn a_file_that_is_no_store_is_refused_as_it_is() {
    let workspace = Workspace::new();
    let diary = "a diary, long enough to be no header of SQLite's ".repeat(40);
    fs::write(workspace.path().join("diary.db"), &diary).unwrap();
    rusqlite::Connection::open(workspace.path().join("other.db"))
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let before = workspace.picture();
    workspace.legbook(["--store", "diary.db", "runs", "start", "r1"]).refused(2, "is not an SQLite database");
    workspace.legbook(["--store", "other.db", "runs", "start", "r1"]).refused(2, "of another program");
    assert!(workspace.picture() == before);
}

/// The commands that a remedy names, as their words: from `legbook` to a `;`, a backquote or the end.
fn commands(remedy: &str) -> Vec<Vec<String>> {
    let starts = remedy.match_indices("legbook ").map(|(start, _)| start);
    let texts = starts.map(|start| remedy[start..].split([';', '`']).next().unwrap().trim());
    texts.map(|text| shlex::split(text).unwrap()).collect()
}

#[test]
fn every_command_in_a_remedy_is_one_that_can_be_typed() {
    let workspace = Workspace::new();
    let mut refusals = vec![workspace.legbook(["runs", "show", "r1"])];
    workspace.legbook(["db", "set", "max-journal-events", "8"]).expect(0);
    refusals.push(workspace.legbook(["runs", "show", "latest"]));
    let token = started(&workspace, "r1");
    let token = ["--token", token.as_str()];
    let status = |word| workspace.legbook(["runs", "status", "r1", word].iter().chain(&token));
    for arguments in [
        &["runs", "start", "r1"][..],
        &["runs", "start", "r2"],
        &["runs", "start", "a b"],
        &["runs", "start", "r3", "--resume"],
        &["runs", "export", "r1"],
        &["runs", "show", "r9"],
        &["runs", "at", "r1", "99"],
        &["runs", "status", "r1", "planning"],
        &["runs", "status", "r1", "planning", "--token", "x"],
        &["db", "set", "max-journal-events", "1"],
        &["db", "set", "nonsense", "1"],
    ] {
        refusals.push(workspace.legbook(arguments));
    }
    refusals.push(workspace.legbook(["runs", "finish", "r1", "planning"].iter().chain(&token)));
    refusals.push(status("sleeping"));
    status("planning").expect(0);
    status("dispatching").expect(0);
    refusals.push(status("synthesizing"));
    status("failed").expect(0);
    refusals.push(status("planning"));
    workspace.legbook(["runs", "finish", "r1"].iter().chain(&token)).expect(0);
    refusals.push(status("planning"));
    orphaned(&workspace, "r4");
    refusals.push(workspace.legbook(["runs", "start", "r5"]));

    let mut typed = 0;
    for refusal in &refusals {
        let remedy = refusal.refused(2, "").lines().nth(1).unwrap();
        for command in commands(remedy) {
            let answer = workspace.legbook(&command[1..]);
            assert!(!answer.stderr.contains("Usage:"), "{remedy}\n{answer:?}");
            typed += 1;
        }
    }
    assert!(typed >= refusals.len() - 3, "{typed} commands in {} remedies", refusals.len());
}

/// /dev/zero has no end: the program has to stop by itself.
#[test]
fn an_input_that_cannot_become_a_legal_value_is_not_read_to_its_end() {
    let workspace = Workspace::new();
    let token = started(&workspace, "endless");
    workspace.legbook(["db", "set", "max-checkpoint-bytes", "65536"]).expect(0);
    for (arguments, words) in [
        (&["runs", "write", "endless", "-", "--token", &token] as &[&str], "is larger than 131072 bytes"),
        (&["handoff", "nominate"], "it is larger than 16777216 bytes"),
    ] {
        let mut command = workspace.command(arguments);
        let endless = std::fs::File::open("/dev/zero").unwrap();
        let answer = Answer::of(command.stdin(endless).output().unwrap());
        answer.refused(2, words);
    }
}
