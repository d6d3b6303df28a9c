//! `runs project` and `runs readiness`: what they print, and their exit codes.

use std::fs;

use crate::support::{Workspace, started};

#[test]
fn the_projection_is_printed_as_the_bytes_of_a_snapshot() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "status", "r1", "artifact-collection", "--token", &token]).expect(0);
    let before = workspace.picture();
    let printed = workspace.legbook(["runs", "project", "r1"]).expect(0).to_owned();
    let run_json = fs::read_to_string(workspace.run_json("r1")).unwrap();
    let added: Vec<_> = printed.lines().filter(|line| !run_json.contains(*line)).map(str::trim).collect();
    let digest = workspace.legbook(["runs", "show", "r1", "--json"]).json()["last_digest"].clone();
    let last = format!("\"journal_last_event_digest\": {digest},");
    let expected = [
        &last,
        "\"journal_last_sequence\": 3,",
        "\"journal_present\": true,",
        "\"projector_version\": 2,",
        "\"status\": \"started\",",
    ];
    assert_eq!(added, expected);
    let object = workspace.legbook(["runs", "project", "r1", "--json"]).json()["projection"].clone();
    assert_eq!(object, serde_json::from_str::<serde_json::Value>(&printed).unwrap());
    assert!(workspace.picture() == before);
}

#[test]
fn a_snapshot_that_the_projection_does_not_know_is_refused() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let write =
        workspace.legbook_reading(["runs", "write", "r1", "--token", &token], r#"{"status": "ok", "x": 1}"#);
    write.expect(0);
    workspace.legbook(["runs", "project", "r1"]).refused(2, "unknown-snapshot-field");
    workspace.legbook(["runs", "project", "r9"]).refused(2, "there is no run r9");
}

#[test]
fn a_run_without_a_journal_is_projected_as_it_is() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--no-journal", "--run-id", "r1", "--", "true"]).expect(0);
    let projection = workspace.legbook(["runs", "project", "r1", "--json"]).json()["projection"].clone();
    assert_eq!((&projection["status"], &projection["journal_present"]), (&"ok".into(), &false.into()));
    let gate = workspace.legbook(["runs", "readiness", "r1"]);
    let text = gate.expect(2);
    assert!(text.contains("no-journal: ") && text.contains("no-evidence: "), "{text}");
}

#[test]
fn readiness_is_an_exit_code_with_reasons() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let before = workspace.picture();
    let ready = workspace.legbook(["runs", "readiness", "r1", "--json"]).json();
    assert_eq!((&ready["ready"], &ready["reasons"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(ready["evidence"]["last_compared_event_digest"], ready["journal_last_event_digest"]);
    assert!(workspace.legbook(["runs", "readiness", "r1"]).expect(0).starts_with("ready     yes\n"));
    assert!(workspace.picture() == before);

    workspace.legbook(["runs", "status", "r1", "incomplete", "--token", &token]).expect(0);
    let closed = workspace.legbook(["runs", "readiness", "r1", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(closed.expect(2)).unwrap();
    assert_eq!(
        (&answer["ready"], &answer["reasons"]),
        (&false.into(), &serde_json::json!(["status-lag-current"]))
    );
    let text = workspace.legbook(["runs", "readiness", "r1"]);
    assert!(text.expect(2).contains("because   status-lag-current: "), "{text:?}");
    assert_eq!(text.stderr, "");
}
