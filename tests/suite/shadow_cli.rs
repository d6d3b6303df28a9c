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

#[test]
fn a_field_that_the_projection_refuses_is_named_everywhere() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let set = ["runs", "status", "r1", "planning", "--token", &token, "--set"];
    let known = workspace.legbook(set.iter().chain(&["phase_owner=\"w1\""]));
    assert_eq!((known.code, known.stderr.as_str()), (0, ""));
    let noted = workspace.legbook(set.iter().chain(&["letters=3"]));
    noted.expect(0);
    assert!(noted.stderr.contains("warning: the projection does not know the field letters"), "{noted:?}");
    workspace.legbook(["runs", "project", "r1"]).refused(2, "does not know the field letters");
    let closed = workspace.legbook(["runs", "readiness", "r1"]);
    assert!(closed.expect(2).contains("the projection does not know the field letters"), "{closed:?}");
    // The reason names the field when the field is gone, too.
    let without = fs::read_to_string(workspace.run_json("r1")).unwrap().replace("  \"letters\": 3,\n", "");
    let write = workspace.legbook_reading(["runs", "write", "r1", "--token", &token], &without);
    write.expect(0);
    let closed = workspace.legbook(["runs", "readiness", "r1", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(closed.expect(2)).unwrap();
    assert_eq!(answer["reasons"], serde_json::json!(["error-recorded"]));
    assert!(answer["diagnostics"][0].as_str().unwrap().contains("the field letters"), "{answer}");
}

#[test]
fn numbers_are_compared_by_their_spelling() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let write = |text: &str| {
        workspace.legbook_reading(["runs", "write", "r1", "--token", &token], text).expect(0).to_owned()
    };
    write(r#"{"status": "artifact-collection", "git": [NaN, 0.0, 1]}"#);
    let lag = workspace.legbook(["runs", "readiness", "r1", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(lag.expect(2)).unwrap();
    assert_eq!(answer["reasons"], serde_json::json!(["status-lag-current"]));
    write(r#"{"status": "artifact-collection", "git": [NaN, -0.0, 1.0]}"#);
    let diff = workspace.legbook(["runs", "diff", "r1", "3", "4"]);
    assert_eq!(diff.expect(0), "~ /git/1: 0.0 -> -0.0\n~ /git/2: 1 -> 1.0\n");
}
