//! `legbook runs recover`: what it prints, its exit codes, and that the commands which are printed run as printed.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::support::{Answer, Process, Workspace, orphaned, started};

#[test]
fn a_dead_owners_run_is_ended_once() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let run_dir = workspace.run_json("r1").parent().unwrap().to_str().unwrap().to_owned();
    let recovered = workspace.legbook(["runs", "recover", "r1", "--json"]).json();
    assert_eq!(recovered["ending"], "recovered");
    assert_eq!(recovered["status"], "failed");
    let steps: Vec<_> =
        recovered["steps"].as_array().unwrap().iter().map(|step| step["step"].clone()).collect();
    assert_eq!(steps, ["claim", "validate", "store-receipt", "export-receipt", "remove-lock"]);

    let before = workspace.picture();
    let again = workspace.legbook(["runs", "recover", "r1"]);
    assert_eq!(again.expect(0), format!("already terminal: {run_dir} [failed]\n"));
    let again = workspace.legbook(["runs", "recover", "r1", "--json"]).json();
    assert_eq!((&again["ending"], &again["steps"]), (&json!("already-terminal"), &json!([])));
    assert_eq!(workspace.legbook(["-q", "runs", "recover", "r1"]).expect(0), "");
    assert!(workspace.picture() == before);
    workspace.legbook(["runs", "start", "r2", "--pid", &std::process::id().to_string()]).expect(0);
}

#[test]
fn a_dry_run_lists_the_steps_and_changes_nothing() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    fs::write(workspace.run_json("r1"), "{\"torn\": ").unwrap();
    let before = workspace.picture();
    let planned = workspace.legbook(["runs", "recover", "r1", "--dry-run"]);
    let lines: Vec<_> = planned.expect(0).lines().collect();
    assert!(lines[0].starts_with("would recover: ") && lines[0].ends_with(" [failed]"), "{planned:?}");
    assert_eq!(lines[1..].iter().filter(|line| line.starts_with("  ")).count(), 7, "{planned:?}");
    assert!(workspace.picture() == before);

    let done = workspace.legbook(["runs", "recover", "r1", "--json"]).json();
    let kept = done["steps"].as_array().unwrap().iter().find(|step| step["step"] == "keep-file").unwrap();
    let kept = kept["text"].as_str().unwrap().rsplit(' ').next().unwrap();
    assert_eq!(fs::read(workspace.run_json("r1").with_file_name(kept)).unwrap(), b"{\"torn\": ");
}

#[test]
fn a_run_that_goes_on_is_not_recovered() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let before = workspace.picture();
    for arguments in [&["runs", "recover", "r1"][..], &["runs", "recover", "r1", "--owner-is-dead"]] {
        let refused = workspace.legbook(arguments);
        refused.refused(2, "run owner process is still active");
    }
    assert!(workspace.picture() == before);
    workspace.legbook(["runs", "recover", "r9"]).refused(2, "there is no run r9");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    assert!(workspace.legbook(["runs", "recover", "r1"]).expect(0).ends_with(" [ok]\n"));
}

#[test]
fn another_runs_lock_is_named_with_the_run_that_has_it() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    orphaned(&workspace, "r2");
    // As a hand might do it: run.json says that the ended run goes on.
    fs::write(workspace.run_json("r1"), "{\"status\": \"planning\"}").unwrap();
    let refused = workspace.legbook(["runs", "recover", "r1"]);
    let said = refused.refused(2, "run lock belongs to a different run: r2");
    assert!(said.contains("legbook runs recover r2"), "{said}");
    workspace.legbook(["runs", "recover", "r2"]).expect(0);
    let refused = workspace.legbook(["runs", "recover", "r1"]);
    let said = refused.refused(2, "run lock not found for run r1");
    assert!(said.contains("legbook runs export r1"), "{said}");
    workspace.legbook(["runs", "export", "r1"]).expect(0);
}

#[test]
fn a_run_json_that_cannot_be_read_refuses_the_recovery() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let run_json = workspace.run_json("r1");
    fs::remove_file(&run_json).unwrap();
    fs::create_dir(&run_json).unwrap();
    let before = workspace.picture();
    let refused = workspace.legbook(["runs", "recover", "r1"]);
    let said = refused.refused(2, &run_json.display().to_string());
    assert!(said.contains("it is a directory") && said.contains(".away"), "{said}");
    assert!(workspace.picture() == before);
}

#[test]
fn a_spoiled_journal_is_not_recovered_from() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let plain = rusqlite::Connection::open(workspace.store()).unwrap();
    plain.execute_batch("DROP TRIGGER checkpoints_update; UPDATE checkpoints SET body = CAST(replace(body, 'started', 'STARTED') AS BLOB)").unwrap();
    plain.close().unwrap();
    fs::remove_file(workspace.run_json("r1")).unwrap();
    let refused = workspace.legbook(["runs", "recover", "r1"]);
    let said = refused.refused(2, "latest checkpoint of r1");
    assert!(said.contains("legbook doctor --full"), "{said}");
    assert!(!workspace.run_json("r1").exists());
    workspace.legbook(["doctor"]).expect(2);
}

#[test]
fn a_moved_run_directory_is_told() {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let moved = workspace.path().join("elsewhere");
    fs::rename(workspace.run_json("r1").parent().unwrap(), &moved).unwrap();
    workspace.legbook(["runs", "recover", "r1", "--run-dir", "elsewhere"]).expect(0);
    let show = workspace.legbook(["runs", "show", "r1", "--json"]);
    let show: serde_json::Value = serde_json::from_str(show.expect(1)).unwrap();
    assert_eq!(show["run_dir"], moved.to_str().unwrap());
    assert_eq!(show["run_json_current"], true);
}

#[test]
fn the_command_that_is_printed_beside_a_stale_lock_runs_as_printed() {
    let workspace = Workspace::new();
    let owner = Process::new();
    let store = ["--store", "my store.db"];
    workspace.legbook(store.iter().chain(&["runs", "start", "r1", "--pid", &owner.pid()])).expect(0);
    drop(owner);
    let show = workspace.legbook(store.iter().chain(&["runs", "show", "r1"]));
    let printed = show.stderr.trim_end().rsplit(": ").next().unwrap();
    let words = shlex::split(printed).unwrap();
    assert_eq!(words[..3], ["legbook", "--store", "my store.db"], "{show:?}");
    assert!(workspace.legbook(&words[1..]).expect(0).starts_with("recovered: "));
}

#[test]
fn of_six_recoveries_at_once_one_recovers_and_all_succeed() {
    for run_json in ["kept", "missing", "torn"] {
        let workspace = Workspace::new();
        orphaned(&workspace, "r1");
        match run_json {
            "missing" => fs::remove_file(workspace.run_json("r1")).unwrap(),
            "torn" => fs::write(workspace.run_json("r1"), "{").unwrap(),
            _ => {}
        }
        let children: Vec<_> = (0..6)
            .map(|_| {
                let mut command = workspace.command(["runs", "recover", "r1", "--json"]);
                command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            })
            .collect();
        let answers: Vec<_> =
            children.into_iter().map(|child| Answer::of(child.wait_with_output().unwrap()).json()).collect();
        let recovered = answers.iter().filter(|answer| answer["ending"] == "recovered").count();
        assert_eq!(recovered, 1, "{run_json}: {answers:?}");
        assert!(answers.iter().all(|answer| answer["status"] == "failed"), "{answers:?}");
    }
}
