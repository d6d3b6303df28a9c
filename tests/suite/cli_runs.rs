//! `legbook runs`: each command's answer, its exit code and what it changes.

use std::fs;
use std::process::Stdio;

use legbook::digest::Digest;
use serde_json::json;

use crate::support::{Process, Workspace, orphaned, started};

#[test]
fn start_gives_id_directory_and_token_and_the_token_is_kept_nowhere() {
    let workspace = Workspace::new();
    let pid = std::process::id().to_string();
    let start = ["runs", "start", "r1", "--task", "sort", "--pid", &pid];
    let text = workspace.legbook(start);
    let names: Vec<_> = text.expect(0).lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(names, ["run_id", "run_dir", "owner", "token"]);
    let token = text.stdout.lines().last().unwrap().split_whitespace().nth(1).unwrap();
    workspace.legbook(["runs", "finish", "r1", "--token", token]).expect(0);

    let answer = workspace.legbook(["runs", "start", "r2", "--pid", &pid, "--json"]).json();
    let mut keys: Vec<_> = answer.as_object().unwrap().keys().cloned().collect();
    keys.sort();
    assert_eq!(keys, ["run_dir", "run_id", "token"]);
    assert_eq!(answer["run_dir"], workspace.run_json("r2").parent().unwrap().to_str().unwrap());
    for (path, bytes) in workspace.picture() {
        for token in [token, answer["token"].as_str().unwrap()] {
            let bytes = bytes.as_deref().unwrap_or_default();
            assert!(!bytes.windows(64).any(|window| window == token.as_bytes()), "{}", path.display());
        }
    }
}

#[test]
fn start_refuses_a_known_id_and_resumes_it_when_told() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "start", "r1"]).refused(2, "the run r1 exists");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let pid = std::process::id().to_string();
    workspace.legbook(["runs", "start", "r1", "--resume", "--pid", &pid]).expect(0);
    let snapshot = &workspace.legbook(["runs", "show", "r1", "--json"]).json()["snapshot"];
    assert_eq!(snapshot["status"], "started");
    assert!(snapshot["resumed_at"].is_string());
    workspace.legbook(["runs", "start", "r2", "--resume"]).refused(2, "there is no run r2");
}

#[test]
fn a_workspace_has_one_lock() {
    let workspace = Workspace::new();
    started(&workspace, "r1");
    let refused = workspace.legbook(["runs", "start", "r2"]);
    assert!(refused.refused(2, "the workspace is locked by run r1").contains("legbook runs lock r1"));
    let refused = workspace.legbook(["run", "--", "true"]);
    refused.refused(2, "the workspace is locked by run r1");
    assert!(!workspace.run_json("r2").parent().unwrap().exists());
}

#[test]
fn a_dead_owners_journal_must_be_recovered_before_the_lock_is_taken() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let refused = workspace.legbook(["runs", "start", "r2"]);
    assert!(refused.refused(2, "whose owner process").contains("legbook runs recover r1"));
    assert_eq!(workspace.legbook(["runs", "lock", "r1", "--json"]).json()["state"], "stale");
}

#[test]
fn write_journals_and_replaces_run_json_and_a_replay_changes_nothing() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let payload = r#"{"status": "planning", "n": 1.0, "é": "\ud800"}"#;
    let arguments = ["runs", "write", "r1", "--token", &token];
    let written = workspace.legbook_reading(arguments, payload);
    let run_json = fs::read(workspace.run_json("r1")).unwrap();
    let sha256 = Digest::of(&run_json).to_hex();
    let expected =
        format!("{{\"run_id\": \"r1\", \"sequence\": 3, \"sha256\": \"{sha256}\", \"replayed\": false}}\n");
    assert_eq!(written.expect(0), expected);
    assert_eq!(run_json, b"{\n  \"n\": 1.0,\n  \"status\": \"planning\",\n  \"\\u00e9\": \"\\ud800\"\n}\n");
    // The status is no transition any more, so the pairing is another one; then it is the same.
    for (sequence, replayed) in [(5, false), (5, true), (5, true)] {
        let again = workspace.legbook_reading(arguments, payload).json();
        assert_eq!((&again["sequence"], &again["replayed"]), (&json!(sequence), &json!(replayed)));
    }

    let file = workspace.path().join("next.json");
    fs::write(&file, "{}").unwrap();
    let third = workspace.legbook(["runs", "write", "r1", "next.json", "--token", &token, "-q"]);
    assert_eq!(third.expect(0), "");
    assert_eq!(fs::read(workspace.run_json("r1")).unwrap(), b"{}\n");
}

#[test]
fn a_run_is_found_by_id_directory_and_latest() {
    let workspace = Workspace::new();
    started(&workspace, "r1");
    let directory = workspace.run_json("r1").parent().unwrap().to_path_buf();
    for name in ["r1", "latest", ".legbook/runs/r1", directory.to_str().unwrap()] {
        assert_eq!(workspace.legbook(["runs", "show", name, "--json"]).json()["run_id"], "r1", "{name}");
    }
}

#[test]
fn status_takes_the_known_words_and_sets_keys() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let set = ["--set", "seat=\"w1\"", "--set", "big=123456789012345678901234567890"];
    let arguments = ["runs", "status", "r1", "dispatching", "--token", &token];
    workspace.legbook(arguments.iter().chain(&set)).json();
    let run_json = fs::read_to_string(workspace.run_json("r1")).unwrap();
    for line in
        ["  \"seat\": \"w1\"", "  \"big\": 123456789012345678901234567890", "  \"status\": \"dispatching\""]
    {
        assert!(run_json.contains(line), "{run_json}");
    }
    let before = workspace.picture();
    let unknown = workspace.legbook(["runs", "status", "r1", "sleeping", "--token", &token]);
    unknown.refused(2, "unknown status");
    for wrong in ["novalue", "=1", "a={"] {
        let answer = workspace.legbook(arguments.iter().chain(&["--set", wrong]));
        answer.expect(2);
        assert!(answer.stderr.starts_with("error: invalid value"), "{answer:?}");
    }
    assert!(workspace.picture() == before);
}

#[test]
fn finish_ends_the_run_and_lets_the_lock_go() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let token = token.as_str();
    workspace
        .legbook(["runs", "finish", "r1", "planning", "--token", token])
        .refused(2, "does not end a run");
    let written = workspace.legbook(["runs", "finish", "r1", "--token", token]).json();
    assert_eq!(written["sequence"], 3);
    let show = workspace.legbook(["runs", "show", "r1", "--json"]).json();
    assert_eq!((&show["status"], &show["lock_state"]), (&json!("ok"), &json!("absent")));
    assert!(show["snapshot"]["duration_seconds"].is_f64());

    let token = started(&workspace, "r2");
    workspace.legbook(["runs", "finish", "r2", "failed", "--token", &token]).expect(0);
    let show = workspace.legbook(["runs", "show", "r2"]);
    let said = show.expect(1);
    assert!(
        said.contains("\nstatus     failed\n") && said.contains("the run was reported as failed"),
        "{said}"
    );
    assert!(said.contains(" UTC, after "), "{said}");
}

#[test]
fn finish_keeps_the_status_that_ended_the_run() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let status = workspace.legbook(["runs", "status", "r1", "failed", "--token", &token]).json();
    workspace
        .legbook(["runs", "status", "r1", "planning", "--token", &token])
        .refused(2, "has ended (failed)");
    let finished = workspace.legbook(["runs", "finish", "r1", "--token", &token]).json();
    let expected = json!({"run_id": "r1", "sequence": null, "sha256": status["sha256"], "replayed": true});
    assert_eq!(finished, expected);
    assert_eq!(workspace.legbook(["runs", "lock", "r1", "--json"]).json()["state"], "absent");
}

#[test]
fn list_is_empty_without_a_store_and_newest_first_with_one() {
    let workspace = Workspace::new();
    assert_eq!(workspace.legbook(["runs", "list", "--json"]).expect(0), "{\"runs\": []}\n");
    assert_eq!(workspace.legbook(["runs", "list"]).expect(0), "");
    assert!(!workspace.store().exists());
    for run_id in ["r1", "r2"] {
        let token = started(&workspace, run_id);
        workspace.legbook(["runs", "finish", run_id, "--token", &token]).expect(0);
    }
    let list = workspace.legbook(["runs", "list", "--json"]).json();
    let ids: Vec<_> = list["runs"].as_array().unwrap().iter().map(|run| run["run_id"].clone()).collect();
    assert_eq!(ids, ["r2", "r1"]);
    let text = workspace.legbook(["runs", "list", "-n", "1"]);
    let lines: Vec<_> = text.expect(0).lines().collect();
    assert!(lines[0].starts_with("RUN "), "{text:?}");
    assert!(lines[1].starts_with("r2 ") && lines.len() == 2, "{text:?}");
}

#[test]
fn a_run_json_that_was_changed_is_shown_with_the_command_that_puts_it_back() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    assert_eq!(workspace.legbook(["runs", "show", "r1"]).stderr, "");
    fs::write(workspace.run_json("r1"), "{}").unwrap();
    let show = workspace.legbook(["runs", "show", "r1"]);
    assert!(show.expect(0).contains("is not the store's last snapshot"), "{show:?}");
    assert!(show.stderr.contains("legbook runs export r1"), "{show:?}");
}

#[test]
fn text_of_a_snapshot_cannot_drive_the_terminal() {
    let workspace = Workspace::new();
    let pid = std::process::id().to_string();
    workspace.legbook(["runs", "start", "r1", "--task", "a\u{1b}[31m\nb", "--pid", &pid]).expect(0);
    for verb in ["list", "show"] {
        let arguments: Vec<_> = ["runs", verb].into_iter().chain((verb == "show").then_some("r1")).collect();
        let answer = workspace.legbook(arguments);
        assert!(!answer.expect(0).contains('\u{1b}'), "{answer:?}");
        assert!(answer.stdout.contains("a\\u{1b}[31m\\nb"), "{answer:?}");
    }
}

#[test]
fn a_stale_lock_is_shown_with_the_command_that_recovers() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let show = workspace.legbook(["runs", "show", "r1"]);
    assert!(show.expect(0).contains("stale: "), "{show:?}");
    assert!(show.stderr.contains("legbook runs recover r1"), "{show:?}");
    let lock = workspace.legbook(["runs", "lock", "r1", "--json"]).json();
    assert_eq!((&lock["state"], &lock["holder"]), (&json!("stale"), &json!("r1")));
    assert!(lock["why"].is_string() && lock["owner"]["pid"].is_u64(), "{lock}");
}

#[test]
fn a_write_under_a_dead_owner_puts_a_living_one_on_the_lock() {
    let workspace = Workspace::new();
    let token = orphaned(&workspace, "r1");
    let pid = std::process::id().to_string();
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token, "--pid", &pid]).expect(0);
    let lock = workspace.legbook(["runs", "lock", "r1", "--json"]).json();
    assert_eq!((&lock["state"], &lock["owner"]["pid"]), (&json!("live"), &json!(std::process::id())));
}

#[test]
fn a_lease_keeps_the_lock_live_without_a_process() {
    let workspace = Workspace::new();
    let owner = Process::new();
    workspace.legbook(["runs", "start", "r1", "--lease", "2h", "--pid", &owner.pid()]).expect(0);
    drop(owner);
    let lock = workspace.legbook(["runs", "lock", "r1", "--json"]).json();
    assert_eq!(lock["state"], "live");
    assert!(lock["lease_ends_at"].is_string(), "{lock}");
}

#[test]
fn at_gives_the_bytes_of_that_event_and_diff_what_changed() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let arguments = ["runs", "write", "r1", "--token", &token];
    let mut snapshots = vec![fs::read(workspace.run_json("r1")).unwrap()];
    for payload in
        [r#"{"status": "planning", "a/b": [1, 2], "gone": null}"#, r#"{"status": "ok", "a/b": [1, 3, 4]}"#]
    {
        workspace.legbook_reading(arguments, payload).expect(0);
        snapshots.push(fs::read(workspace.run_json("r1")).unwrap());
    }
    for (sequence, snapshot) in [("1", 0), ("2", 0), ("3", 1), ("4", 1), ("5", 2)] {
        let bytes = workspace.command(["runs", "at", "r1", sequence]).output().unwrap().stdout;
        assert_eq!(bytes, snapshots[snapshot], "{sequence}");
    }
    let at = workspace.legbook(["runs", "at", "r1", "3", "--json"]).json();
    assert_eq!(at["run_json"].as_str().unwrap().as_bytes(), snapshots[1]);
    assert_eq!(at["sha256"], Digest::of(&snapshots[1]).to_hex());
    for sequence in ["0", "7"] {
        workspace.legbook(["runs", "at", "r1", sequence]).refused(2, "has no snapshot at sequence");
    }

    let diff = workspace.legbook(["runs", "diff", "r1", "3", "5", "--json"]).json();
    let expected = json!([
        {"pointer": "/a~1b/1", "before": 2, "after": 3},
        {"pointer": "/a~1b/2", "after": 4},
        {"pointer": "/gone", "before": null},
        {"pointer": "/status", "before": "planning", "after": "ok"},
    ]);
    assert_eq!(diff["changes"], expected);
    let text = workspace.legbook(["runs", "diff", "r1", "3", "5"]);
    let lines = "~ /a~1b/1: 2 -> 3\n+ /a~1b/2: 4\n- /gone: null\n~ /status: \"planning\" -> \"ok\"\n";
    assert_eq!(text.expect(0), lines);
    assert_eq!(workspace.legbook(["runs", "diff", "r1", "3", "4"]).expect(0), "");
}

#[test]
fn diff_names_keys_that_are_no_text_as_json_does() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let arguments = ["runs", "write", "r1", "--token", &token];
    for payload in
        [r#"{"status": "planning"}"#, r#"{"status": "planning", "a\ud800\"": {"~\n": 1}, "\"": 2}"#]
    {
        workspace.legbook_reading(arguments, payload).expect(0);
    }
    let events = workspace.legbook(["runs", "events", "r1", "--json"]).json();
    let last = events["events"].as_array().unwrap().len().to_string();
    let text = workspace.legbook(["runs", "diff", "r1", "3", &last]);
    assert_eq!(text.expect(0), "+ /\\\": 2\n+ /a\\ud800\\\": {\"~\\n\": 1}\n");
    let answer = workspace.legbook(["runs", "diff", "r1", "3", &last, "--json"]);
    assert!(answer.expect(0).contains(r#"{"pointer": "/a\ud800\"", "after""#), "{answer:?}");
}

#[test]
fn events_are_listed_whole_and_followed_to_the_end_of_the_run() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let mut follower = workspace
        .command(["runs", "events", "r1", "--follow", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let answer = workspace.legbook(["runs", "events", "r1", "--json"]).json();
    let listed = answer["events"].as_array().unwrap();
    assert_eq!(listed.len(), 6);
    assert_eq!(listed[5]["event_type"], "run.completed");
    assert_eq!(listed[0].as_object().unwrap().len(), 12);

    assert!(follower.wait().unwrap().success());
    let mut followed = String::new();
    std::io::Read::read_to_string(follower.stdout.as_mut().unwrap(), &mut followed).unwrap();
    let followed: Vec<serde_json::Value> =
        followed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&followed, listed);
    let rest = workspace.legbook(["runs", "events", "r1", "--after", "4", "--json"]).json();
    assert_eq!(rest["events"].as_array().unwrap()[..], listed[4..]);
    let text = workspace.legbook(["runs", "events", "r1", "-q"]);
    assert_eq!(text.expect(0).lines().count(), 6);
    assert!(text.stdout.lines().nth(5).unwrap().ends_with("ok"), "{text:?}");
}

#[test]
fn export_puts_the_last_snapshot_back_and_keeps_what_was_there() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let run_json = workspace.run_json("r1");
    workspace.legbook(["runs", "export", "r1"]).refused(2, "run owner process is still active");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let last = fs::read(&run_json).unwrap();
    assert_eq!(workspace.legbook(["runs", "export", "r1", "--json"]).json()["unchanged"], true);

    fs::remove_file(&run_json).unwrap();
    let exported = workspace.legbook(["runs", "export", "r1", "--json"]).json();
    assert_eq!((&exported["unchanged"], &exported["kept_as"]), (&json!(false), &json!(null)));
    assert_eq!(fs::read(&run_json).unwrap(), last);

    fs::write(&run_json, "edited by hand").unwrap();
    let exported = workspace.legbook(["runs", "export", "r1", "--json"]).json();
    let kept = exported["kept_as"].as_str().unwrap();
    assert!(kept.starts_with("run.json.replaced-") && kept.len() == 18 + 32, "{kept}");
    assert_eq!(fs::read(run_json.with_file_name(kept)).unwrap(), b"edited by hand");
    assert_eq!(fs::read(&run_json).unwrap(), last);
}
