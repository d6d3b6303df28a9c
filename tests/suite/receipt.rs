//! The failure receipt, and doctor's reconstruction of it.

use legbook::json::{self, Object, Value};
use legbook::receipt::{self, DeadOwner};

const RECOVERED_AT: &str = "2026-02-02T02:02:02.000002+00:00";

fn object(text: &str) -> Object {
    json::parse_object(text.as_bytes()).unwrap()
}

fn owner(workspace: Option<&str>, acquired_at: Option<&str>) -> DeadOwner {
    DeadOwner {
        pid: 4242.into(),
        workspace: workspace.map(Into::into),
        acquired_at: acquired_at.map(Into::into),
    }
}

/// The receipt of `snapshot` as recovery of a journaled run makes it.
fn journaled_receipt(snapshot: &str) -> Object {
    let owner = owner(Some("/w"), Some("2026-01-01T00:00:00+00:00"));
    receipt::receipt(&object(snapshot), &owner, RECOVERED_AT, true).unwrap()
}

fn failure(receipt: &mut Object) -> &mut Object {
    match receipt.get_mut("failure".as_bytes()) {
        Some(Value::Object(failure)) => failure,
        _ => panic!("a receipt without a failure object"),
    }
}

#[test]
fn receipt_vectors_come_out_byte_for_byte_and_are_recognized() {
    let vectors = include_str!("../vectors/stale-lock-receipts.jsonl");
    for vector in vectors.lines() {
        let vector = json::parse(vector.as_bytes()).unwrap();
        let text = |key: &str| vector.get(key).unwrap().as_str();
        let Some(Value::Integer(pid)) = vector.get("pid") else { panic!("a vector without a pid") };
        let journaled = *vector.get("journaled").unwrap() == Value::Bool(true);
        let snapshot = object(text("snapshot").unwrap());
        let owner = DeadOwner {
            pid: pid.clone(),
            workspace: text("workspace").map(Into::into),
            acquired_at: text("acquired_at").map(Into::into),
        };
        let made = receipt::receipt(&snapshot, &owner, text("recovered_at").unwrap(), journaled);
        let bytes = made.as_ref().map(json::snapshot_bytes);
        assert_eq!(bytes.as_deref(), text("receipt").map(str::as_bytes), "{snapshot:?}");
        assert_eq!(made.is_none(), receipt::is_terminal(&snapshot));
        if let Some(made) = made.filter(|_| journaled) {
            assert!(receipt::matches_receipt(&snapshot, &made), "{snapshot:?}");
            assert!(receipt::is_terminal(&made));
        }
    }
}

#[test]
fn a_finished_run_is_terminal_whatever_its_status() {
    assert!(receipt::is_terminal(&object(r#"{"status": "running", "finished_at": "x"}"#)));
    assert!(receipt::is_terminal(&object(r#"{"status": "dry-run"}"#)));
    assert!(receipt::is_terminal(&object(r#"{"status": "\ud800"}"#)));
    for going_on in [
        r"{}",
        r#"{"status": null}"#,
        r#"{"status": ""}"#,
        r#"{"status": 5}"#,
        r#"{"status": "running", "finished_at": ""}"#,
        r#"{"status": "artifact-collection", "finished_at": null}"#,
    ] {
        assert!(!receipt::is_terminal(&object(going_on)), "{going_on}");
    }
}

#[test]
fn a_seat_is_only_ever_a_non_empty_string() {
    for (snapshot, key, seat) in [
        (r#"{"status": "dispatching", "active_seats": ["a", 1, "b", ""]}"#, "seats", r#"["a", "b"]"#),
        (r#"{"status": "dispatching", "active_seats": [1, "z"]}"#, "seat", r#""z""#),
        (r#"{"status": "dispatching", "active_seats": [""], "worker": "w"}"#, "seat", r#""w""#),
        (r#"{"status": "dispatching", "active_seats": "x", "orchestrator": "o"}"#, "seat", r#""o""#),
        (r#"{"status": "planning", "active_seats": ["a"], "phase_owner": "p"}"#, "seat", r#""p""#),
        (r#"{"status": "planning", "phase_owner": 3, "worker": "", "orchestrator": "o"}"#, "seat", r#""o""#),
    ] {
        let mut made = journaled_receipt(snapshot);
        assert_eq!(json::line(&failure(&mut made)[key.as_bytes()]), seat, "{snapshot}");
    }
    assert!(!failure(&mut journaled_receipt(r#"{"active_seats": ["a"]}"#)).contains_key("seat".as_bytes()));
}

#[test]
fn a_missing_run_json_gives_a_receipt_that_names_what_was_preserved() {
    let snapshot = receipt::unavailable_snapshot("/runs/r", Some("run.json.corrupt-0123"));
    let made = receipt::receipt(&snapshot, &owner(None, None), RECOVERED_AT, false).unwrap();
    let expected = r#"{"artifacts": "/runs/r", "error": "run owner process 4242 is no longer active",
        "failure": {"detail": "run owner process 4242 is no longer active", "kind": "owner-process-exited",
            "owner_pid": 4242, "phase": "stale-lock-recovery", "prior_status": "artifact-unavailable",
            "recovered_at": "2026-02-02T02:02:02.000002+00:00"},
        "failure_phase": "stale-lock-recovery", "finished_at": "2026-02-02T02:02:02.000002+00:00",
        "recovery_preserved_artifact": "run.json.corrupt-0123", "schema": "brigade.run.v1", "schema_version": 1,
        "status": "failed", "status_started_at": "2026-02-02T02:02:02.000002+00:00"}"#;
    assert_eq!(made, object(expected));
    assert!(
        !receipt::unavailable_snapshot("/runs/r", None)
            .contains_key("recovery_preserved_artifact".as_bytes())
    );
}

#[test]
fn a_forged_receipt_is_not_recognized() {
    let checkpoint = r#"{"status": "planning", "worker": "w", "task": "t", "score": NaN}"#;
    let genuine = journaled_receipt(checkpoint);
    let checkpoint = object(checkpoint);
    assert!(receipt::matches_receipt(&checkpoint, &genuine));

    let set = |object: &mut Object, key: &str, value: &str| {
        object.insert(key.into(), json::parse(value.as_bytes()).unwrap());
    };
    for (key, value) in [
        ("status", r#""ok""#),
        ("status_started_at", r#""2026-02-02T02:02:02.000003+00:00""#),
        ("finished_at", r#""2026-02-02T02:02:02+00:00""#),
        ("error", r#""run owner process 4243 is no longer active""#),
        ("failure_phase", r#""other""#),
        ("failure", "null"),
        ("schema", r#""other""#),
        ("schema_version", "1.0"),
        ("cwd", r#""/other""#),
        ("lock_workspace", "null"),
        ("started_at", r#""2026-01-01T00:00:01+00:00""#),
        ("task", r#""another""#),
        ("score", "1"),
        ("extra", "null"),
    ] {
        let mut forged = genuine.clone();
        set(&mut forged, key, value);
        assert!(!receipt::matches_receipt(&checkpoint, &forged), "{key}");
    }
    for (key, value) in [
        ("phase", r#""other""#),
        ("kind", r#""other""#),
        ("detail", r#""other""#),
        ("owner_pid", "4243"),
        ("owner_pid", "true"),
        ("owner_pid", "4242.0"),
        ("owner_pid", r#""4242""#),
        ("recovered_at", r#""2026-02-02T02:02:02.000003+00:00""#),
        ("recovered_at", "5"),
        ("prior_status", r#""dispatching""#),
        ("seat", r#""another""#),
        ("seats", r#"["w"]"#),
        ("lock_workspace", r#""/other""#),
        ("lock_workspace", "null"),
        ("lock_acquired_at", r#""2026-01-01T00:00:01+00:00""#),
        ("extra", "null"),
    ] {
        let mut forged = genuine.clone();
        set(failure(&mut forged), key, value);
        assert!(!receipt::matches_receipt(&checkpoint, &forged), "failure.{key}");
    }
    for key in genuine.keys() {
        let mut forged = genuine.clone();
        forged.shift_remove(key);
        assert!(!receipt::matches_receipt(&checkpoint, &forged), "without {key:?}");
    }
}

#[test]
fn a_receipt_with_a_moment_that_is_none_is_not_recognized() {
    let checkpoint = object(r#"{"status": "planning"}"#);
    let made = |recovered_at| receipt::receipt(&checkpoint, &owner(None, None), recovered_at, true).unwrap();
    assert!(receipt::matches_receipt(&checkpoint, &made("2026-02-02T02:02:02Z")));
    assert!(receipt::matches_receipt(&checkpoint, &made("2026-02-02T02:02:02.000002+01:00")));
    assert!(!receipt::matches_receipt(&checkpoint, &made("yesterday")));
}

#[test]
fn a_terminal_checkpoint_matches_no_receipt() {
    let mut receipt = journaled_receipt(r#"{"status": "running"}"#);
    failure(&mut receipt).insert("prior_status".into(), "ok".into());
    assert!(!receipt::matches_receipt(&object(r#"{"status": "ok"}"#), &receipt));
    assert!(!receipt::matches_receipt(&receipt, &receipt));
}
