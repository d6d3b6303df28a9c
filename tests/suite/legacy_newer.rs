//! Directories that a newer legacy program has written: they are not damaged, and legbook says that it cannot judge them.

use std::fs;
use std::path::Path;

use legbook::digest::Digest;
use legbook::json::{self, Object, Value};
use legbook::legacy;

use crate::doctor::options;
use crate::legacy_trees::{Home, LegacyRun, write_files};
use crate::support::Workspace;

const JOURNAL: &str = "events/lifecycle.jsonl";

/// An event behind `lines` that this legbook does not know, with digests that hold.
fn newer_event(lines: &[String], event_type: &str, payload: Object) -> String {
    let last = json::parse_object(lines.last().unwrap().as_bytes()).unwrap();
    let previous = last.get("event_digest".as_bytes()).unwrap().clone();
    let digest =
        |object: &Object| Digest::of(&json::canonical_bytes(&Value::Object(object.clone())).unwrap());
    let sequence = lines.len() as i64 + 1;
    let request = json::object([
        ("event_type", event_type.into()),
        ("payload", Value::Object(payload)),
        ("idempotency_key", "newer".into()),
    ]);
    let mut event = request.clone();
    event.extend([
        ("schema".into(), "brigade.run_event.v1".into()),
        ("schema_version".into(), 1.into()),
        ("run_id".into(), "r".into()),
        ("sequence".into(), sequence.into()),
        ("recorded_at".into(), "2026-03-04T05:06:07.000008Z".into()),
        ("request_digest".into(), digest(&request).to_hex().into()),
        ("previous_digest".into(), previous),
    ]);
    let event_digest = digest(&event).to_hex();
    event.insert("event_id".into(), format!("r-{sequence:06}-{}", &event_digest[..12]).into());
    event.insert("event_digest".into(), event_digest.into());
    String::from_utf8(json::canonical_bytes(&Value::Object(event)).unwrap()).unwrap()
}

fn verdict(directory: &Path) -> String {
    let report = legacy::examine(directory, options(true, None)).unwrap();
    format!("{}: {}", report.runs[0].verdict.word(), report.runs[0].says)
}

#[test]
fn a_sound_chain_with_something_new_is_a_newer_format_and_a_broken_one_is_damaged() {
    let payload = |key: &str, value: String| json::object([(key, Value::from(value))]);
    let news = [
        ("run.teleported", payload("detail", "x".into()), "an event type"),
        ("run.completed", payload("colour", "x".into()), "a payload key"),
        ("run.completed", payload("detail", "x".repeat(513)), "a payload that is longer"),
        ("run.completed", payload("detail", "x".repeat(20_000)), "a payload that is longer"),
    ];
    for (event_type, payload, words) in news {
        let folder = tempfile::tempdir().unwrap();
        let mut legacy_run = LegacyRun::new("r", &["started"]);
        legacy_run.lines.push(newer_event(&legacy_run.lines, event_type, payload));
        let directory = legacy_run.write(folder.path());
        assert_eq!(verdict(&directory), "warn: newer format", "{words}");
        let error = Home::new().refuses(&directory);
        assert!(error.contains("newer format: line 3 has ") && error.contains(words), "{error}");

        // A digest that does not hold, a link that does not hold, another run's event: damage.
        let journal = fs::read_to_string(directory.join(JOURNAL)).unwrap();
        let spoils: [fn(&str) -> String; 3] = [
            |journal| {
                journal.replacen("\"payload\":{\"detail\":\"x", "\"payload\":{\"detail\":\"y", 1).replacen(
                    "\"colour\":\"x",
                    "\"colour\":\"y",
                    1,
                )
            },
            |journal| journal.lines().skip(1).map(|line| format!("{line}\n")).collect(),
            |journal| {
                journal.replace("\"run_id\":\"r\",\"schema\":\"brigade.run_event.v1\",\"schema_version\":1,\"sequence\":3", "\"run_id\":\"s\",\"schema\":\"brigade.run_event.v1\",\"schema_version\":1,\"sequence\":3")
            },
        ];
        for spoil in spoils {
            let spoiled = spoil(&journal);
            assert_ne!(spoiled, journal);
            fs::write(directory.join(JOURNAL), spoiled).unwrap();
            assert_eq!(verdict(&directory), "fail: malformed chain", "{words}");
            let error = Home::new().refuses(&directory);
            assert!(!error.contains("newer format"), "{error}");
        }
    }
}

#[test]
fn more_events_than_512_in_a_sound_chain_are_a_newer_format() {
    let folder = tempfile::tempdir().unwrap();
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    while legacy_run.lines.len() < 513 {
        let key = format!("key-{}", legacy_run.lines.len());
        legacy_run.append("run.planning.completed", &key, Object::default());
    }
    let directory = legacy_run.write(folder.path());
    assert_eq!(verdict(&directory), "warn: newer format");
    let journal = fs::read_to_string(directory.join(JOURNAL)).unwrap();
    fs::write(directory.join(JOURNAL), journal.replacen("\"sequence\":7", "\"sequence\":8", 1)).unwrap();
    assert_eq!(verdict(&directory), "fail: bound exceeded");
}

#[test]
fn evidence_of_a_later_projection_is_a_newer_format_unless_the_run_is_damaged() {
    let workspace = Workspace::new();
    let legacy_run = LegacyRun::new("r", &["started"]);
    let directory = legacy_run.write(&workspace.path());
    let evidence = br#"{"schema": "brigade.run_shadow.v1", "projector_version": 3}"#;
    write_files(&directory, [("events/shadow-comparison.json", &evidence[..])]);
    let answer = workspace.legbook(["doctor", "--legacy", "r"]);
    assert!(answer.expect(1).contains("newer format (its evidence is of projection 3"), "{answer:?}");
    let refused = workspace.legbook(["runs", "import", "r"]);
    let said = refused.refused(2, "is refused: newer format: its evidence is of projection 3");
    assert!(said.contains("with a newer legbook"), "{said}");
    fs::write(directory.join(JOURNAL), "{}\n").unwrap();
    assert_eq!(verdict(&directory), "fail: malformed chain");
}
