//! A leg's first calls: a token of its own, one call to begin or go on, the run that its environment names.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, LEGBOOK, Process, Workspace, orphaned, started};

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn pid() -> String {
    std::process::id().to_string()
}

fn events(workspace: &Workspace, run_id: &str) -> usize {
    workspace.legbook(["runs", "events", run_id, "--json"]).json()["events"].as_array().unwrap().len()
}

#[test]
fn the_same_start_with_the_same_token_changes_nothing_and_answers_the_same() {
    let workspace = Workspace::new();
    let start = ["runs", "start", "r1", "--task", "sort", "--pid", &pid(), "--token", TOKEN, "--json"];
    let first = workspace.legbook(start).json();
    assert_eq!(first["token"], TOKEN);
    assert_eq!(workspace.legbook(start).json(), first);
    workspace.legbook(["runs", "status", "r1", "planning", "--token", TOKEN]).expect(0);
    assert_eq!(workspace.legbook(start).json(), first);
    assert_eq!(events(&workspace, "r1"), 4);
    // With another token, or none, it is another start.
    let other = "f".repeat(64);
    for token in [&["--token", other.as_str()][..], &[]] {
        let start = ["runs", "start", "r1", "--pid", &pid()];
        workspace.legbook(start.iter().chain(token)).refused(2, "the run r1 exists");
    }
    // Nor does a token open two locks.
    fs::create_dir(workspace.path().join("a")).unwrap();
    let second = ["runs", "start", "r2", "--workspace", "a", "--pid", &pid(), "--token", TOKEN];
    let refused = workspace.legbook(second);
    assert!(
        refused.refused(2, "already belongs to the lock of run r1").contains("legbook token"),
        "{refused:?}"
    );
    assert!(!workspace.path().join(".legbook/runs/r2").exists());
}

#[test]
fn a_start_that_was_killed_before_it_answered_is_retried_with_the_token() {
    let workspace = Workspace::new();
    let owner = Process::new();
    // Nobody read the answer, and the owner is dead.
    workspace.legbook(["runs", "start", "r1", "--pid", &owner.pid(), "--token", TOKEN]).expect(0);
    drop(owner);
    let again = workspace.legbook(["runs", "start", "r1", "--pid", &pid(), "--token", TOKEN, "--json"]);
    assert_eq!(again.json()["token"], TOKEN);
    assert_eq!(workspace.legbook(["runs", "lock", "r1", "--json"]).json()["state"], "live");
    workspace.legbook(["runs", "finish", "r1", "--token", TOKEN]).expect(0);
}

/// A start that is committed, and then finds a directory in the place of run.json's lock.
fn start_without_export(workspace: &Workspace, token: &[&str]) -> Answer {
    fs::create_dir_all(workspace.path().join("dir/.run.json.lock")).unwrap();
    let start = ["runs", "start", "r1", "--pid", &pid(), "--run-dir", "dir"];
    workspace.legbook(start.iter().chain(token))
}

#[test]
fn a_start_that_fails_after_its_commit_gives_advice_that_can_be_followed() {
    let workspace = Workspace::new();
    let refused = start_without_export(&workspace, &[]);
    let said = refused.refused(1, "run.json was not replaced").to_owned();
    assert!(said.contains("its lock is released; then: legbook runs start r1 --resume"), "{said}");
    fs::remove_dir(workspace.path().join("dir/.run.json.lock")).unwrap();
    workspace.legbook(["runs", "start", "r1", "--resume", "--pid", &pid()]).expect(0);

    let workspace = Workspace::new();
    let refused = start_without_export(&workspace, &["--token", TOKEN]);
    let said = refused.refused(1, "run.json was not replaced").to_owned();
    assert!(said.contains("make the same call again"), "{said}");
    fs::remove_dir(workspace.path().join("dir/.run.json.lock")).unwrap();
    let start = ["runs", "start", "r1", "--pid", &pid(), "--run-dir", "dir", "--token", TOKEN, "--json"];
    assert_eq!(workspace.legbook(start).json()["token"], TOKEN);
    assert!(workspace.path().join("dir/run.json").is_file());
    workspace.legbook(["runs", "finish", "r1", "--token", TOKEN]).expect(0);
}

#[test]
fn a_token_file_is_made_once_and_read_by_every_later_call() {
    let workspace = Workspace::new();
    let file = workspace.path().join("r1.token");
    let with = |arguments: &[&str]| workspace.legbook(arguments.iter().chain(&["--token-file", "r1.token"]));
    with(&["runs", "status", "r1", "planning"]).refused(2, "there is no store");
    let start = with(&["runs", "start", "r1", "--pid", &pid()]);
    let token = fs::read_to_string(&file).unwrap();
    assert!(!start.expect(0).contains(token.trim()), "{start:?}");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    with(&["runs", "status", "r1", "planning"]).expect(0);
    with(&["runs", "start", "r1", "--pid", &pid()]).expect(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), token);
    with(&["runs", "finish", "r1"]).expect(0);
    // A start that is refused leaves no file.
    let refused = workspace.legbook(["runs", "start", "r1", "--token-file", "other.token"]);
    refused.refused(2, "the run r1 exists");
    assert!(!workspace.path().join("other.token").exists());
    let missing = workspace.legbook(["runs", "status", "r1", "ok", "--token-file", "none"]);
    missing.refused(1, "cannot read the token file");
}

#[test]
fn a_script_gets_its_token_without_hiding_a_refusal() {
    let workspace = Workspace::new();
    let token = workspace.legbook(["token"]).expect(0).trim().to_owned();
    assert_eq!(token.len(), 64);
    assert_ne!(workspace.legbook(["token", "--json"]).json()["token"], token.as_str());
    let quiet = workspace.legbook(["runs", "start", "r1", "--lease", "1h", "-q"]);
    assert_eq!((quiet.expect(0).len(), quiet.stderr.as_str()), (65, ""), "{quiet:?}");
    let finish = ["runs", "finish", "r1", "--token", quiet.stdout.trim()];
    workspace.legbook(finish).expect(0);
    let mut command = workspace.command(["runs", "start", "r2", "--pid", &pid(), "--json"]);
    let answer = Answer::of(command.env("LEGBOOK_TOKEN", &token).output().unwrap());
    assert_eq!(answer.json()["token"], token.as_str());
}

#[test]
fn the_run_is_the_one_that_the_environment_names() {
    let workspace = Workspace::new();
    let legbook = |arguments: &[&str], input: &str| {
        let variables = [("LEGBOOK_RUN", "r1"), ("LEGBOOK_TOKEN", TOKEN)];
        workspace.legbook_reading_with(arguments, input, &variables)
    };
    legbook(&["runs", "start", "--pid", &pid()], "").expect(0);
    legbook(&["runs", "status", "planning"], "").expect(0);
    legbook(&["runs", "write"], r#"{"status": "dispatching"}"#).expect(0);
    fs::write(workspace.path().join("next.json"), r#"{"status": "handoff"}"#).unwrap();
    legbook(&["runs", "write", "next.json"], "").expect(0);
    legbook(&["runs", "write", "-"], r#"{"status": "synthesizing"}"#).expect(0);
    for verb in ["show", "events", "lock", "export"] {
        let answer = legbook(&["runs", verb], "");
        assert!(answer.code == 0 || answer.stderr.contains("still active"), "{verb} {answer:?}");
    }
    legbook(&["runs", "at", "latest"], "").expect(0);
    legbook(&["runs", "diff", "1", "last"], "").expect(0);
    legbook(&["runs", "finish", "failed"], "").expect(0);
    assert_eq!(workspace.legbook(["runs", "show", "r1", "--json"]).stdout.matches("\"failed\"").count(), 2);
    for arguments in [&["runs", "show"][..], &["runs", "status", "planning"], &["runs", "start"]] {
        workspace.legbook(arguments).refused(2, "no RUN is given, and LEGBOOK_RUN is not set");
    }
}

fn or_resume(workspace: &Workspace, run_id: &str, more: &[&str]) -> Answer {
    let start = ["runs", "start", run_id, "--or-resume", "--task", "sort", "--pid", &pid(), "--json"];
    workspace.legbook(start.iter().chain(more))
}

#[test]
fn one_call_starts_resumes_or_recovers_and_says_which() {
    let workspace = Workspace::new();
    let way = |answer: &Value| json!([answer["way"], answer["last_status"], answer["last_sequence"]]);
    let new = or_resume(&workspace, "r1", &[]).json();
    assert_eq!(way(&new), json!(["started", null, null]));
    or_resume(&workspace, "r1", &[]).refused(2, "its process is running");
    workspace.legbook(["runs", "finish", "r1", "--token", new["token"].as_str().unwrap()]).expect(0);
    let resumed = or_resume(&workspace, "r1", &["--token", TOKEN]).json();
    assert_eq!(way(&resumed), json!(["resumed", "ok", 4]));
    assert_eq!(way(&or_resume(&workspace, "r1", &["--token", TOKEN]).json())[0], "continued");
    // It ended under its lock: killed between the last status and the release.
    workspace.legbook(["runs", "status", "r1", "ok", "--token", TOKEN]).expect(0);
    let ended = or_resume(&workspace, "r1", &["--token", TOKEN]).json();
    assert_eq!(json!([ended["way"], ended["last_status"]]), json!(["resumed", "ok"]));
    workspace.legbook(["runs", "finish", "r1", "--token", TOKEN]).expect(0);

    // The rows are those that recover and start --resume leave.
    let other = Workspace::new();
    for workspace in [&workspace, &other] {
        orphaned(workspace, "r2");
    }
    let recovered = or_resume(&workspace, "r2", &[]).json();
    assert_eq!(way(&recovered), json!(["recovered", "started", 2]));
    other.legbook(["runs", "recover", "r2"]).expect(0);
    other.legbook(["runs", "start", "r2", "--resume", "--pid", &pid()]).expect(0);
    let rows = |workspace: &Workspace| {
        let store = rusqlite::Connection::open(workspace.store()).unwrap();
        let mut kinds =
            store.prepare("SELECT event_type FROM events WHERE run_id = 'r2' ORDER BY sequence").unwrap();
        let kinds: Vec<String> = kinds.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let receipts: i64 = store
            .query_row("SELECT count(*) FROM recoveries WHERE run_id = 'r2'", [], |row| row.get(0))
            .unwrap();
        (kinds, receipts)
    };
    assert_eq!(rows(&workspace), rows(&other));
}

#[test]
fn two_agents_work_in_two_folders_of_one_repository() {
    let workspace = Workspace::new();
    for folder in ["a", "b"] {
        fs::create_dir(workspace.path().join(folder)).unwrap();
    }
    let start = |run_id: &str, folder: &str| {
        workspace.legbook(["runs", "start", run_id, "--workspace", folder, "--pid", &pid(), "--json"])
    };
    let first = start("r1", "a").json();
    start("r2", "b").json();
    started(&workspace, "r3");
    start("r4", "a").refused(2, "locked by run r1");
    start("r4", "/").refused(2, "is not a folder inside the workspace");
    workspace.legbook(["runs", "finish", "r1", "--token", first["token"].as_str().unwrap()]).expect(0);
    // A resumed run keeps its folder.
    workspace.legbook(["runs", "start", "r1", "--resume", "--pid", &pid()]).expect(0);
    let lock = workspace.legbook(["runs", "lock", "r1", "--json"]).json();
    assert_eq!(lock["workspace"], workspace.path().join("a").display().to_string());
    let mut run = workspace.command(["run", "--run-id", "r5", "--", LEGBOOK, "runs", "show"]);
    let c = workspace.path().join("c");
    fs::create_dir(&c).unwrap();
    Answer::of(run.env("LEGBOOK_WORKSPACE", &c).output().unwrap()).expect(0);
}

#[test]
fn an_empty_path_is_refused_by_every_option_and_variable() {
    let workspace = Workspace::new();
    let before = workspace.picture();
    let usage: [(i32, &[&str]); 14] = [
        (2, &["--store", "", "runs", "list"]),
        (2, &["runs", "start", "r1", "--run-dir", ""]),
        (2, &["runs", "start", "r1", "--workspace", ""]),
        (2, &["runs", "start", "r1", "--token-file", ""]),
        (2, &["run", "--run-dir", "", "--", "true"]),
        (2, &["runs", "write", "r1", ""]),
        (2, &["runs", "export", "r1", "--to", ""]),
        (2, &["runs", "import", ""]),
        (2, &["runs", "recover", "r1", "--run-dir", ""]),
        (2, &["handoff", "--save-dir", "", "status"]),
        (1, &["stage", "--state-dir", "", "begin"]),
        (1, &["stage", "save", "fetch", ""]),
        (3, &["doctor", ""]),
        (3, &["doctor", "--heads", ""]),
    ];
    for (code, arguments) in usage {
        let answer = workspace.legbook(arguments);
        answer.expect(code);
        assert!(answer.stderr.contains("is empty"), "{arguments:?} {answer:?}");
    }
    for (variable, code, arguments) in [
        ("LEGBOOK_STORE", 2, &["runs", "list"][..]),
        ("LEGBOOK_STATE_DIR", 1, &["stage", "begin"]),
        ("LEGBOOK_WORKSPACE", 2, &["runs", "start", "r1"]),
    ] {
        let answer = workspace.legbook_reading_with(arguments, "", &[(variable, "")]);
        answer.expect(code);
        assert!(answer.stderr.contains("is empty"), "{variable} {answer:?}");
    }
    assert!(workspace.picture() == before);
}

#[test]
fn an_error_inside_an_artifact_names_the_stage() {
    let workspace = Workspace::new();
    let refused = workspace.legbook_reading(["stage", "save", "fetch"], "{\"a\": }");
    refused.refused(1, "stage fetch is not saved: invalid JSON at byte 6");
}

#[test]
fn latest_is_the_last_event_too() {
    let workspace = Workspace::new();
    started(&workspace, "r1");
    let last = workspace.legbook(["runs", "at", "r1", "last"]);
    assert_eq!(workspace.legbook(["runs", "at", "r1", "latest"]).expect(0), last.expect(0));
}

#[test]
fn the_script_of_the_readme_goes_on_wherever_it_was_killed() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let script = readme.split("```sh\n").find(|block| block.contains("--or-resume")).unwrap();
    let script = script.split("```").next().unwrap();
    let lines: Vec<&str> = script.lines().collect();
    for killed_after in 0..=lines.len() {
        let workspace = Workspace::new();
        let run = |script: &str| {
            let folder = Path::new(LEGBOOK).parent().unwrap();
            let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
            let mut shell = Command::new("sh");
            shell
                .args(["-c", script])
                .env("PATH", path)
                .env_remove("LEGBOOK_TOKEN")
                .env_remove("LEGBOOK_STORE");
            shell.current_dir(workspace.path()).output().unwrap()
        };
        let mut killed = lines.clone();
        killed.insert(killed_after, "kill -9 $$");
        assert!(!run(&killed.join("\n")).status.success(), "after line {killed_after}");
        let again = run(script);
        assert!(again.status.success(), "after line {killed_after}: {again:?}");
        let shown = workspace.legbook(["runs", "show", "letters", "--json"]).json();
        assert_eq!(shown["status"], "ok", "after line {killed_after}: {shown}");
        workspace.legbook(["doctor"]).expect(0);
    }
}
