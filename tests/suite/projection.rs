//! The projection: derived and preserved fields, and the order of its refusals.

use legbook::digest::Digest;
use legbook::error::ProjectionError;
use legbook::event::{Event, EventInput, Head};
use legbook::json::{self, Object, Value};
use legbook::projection::{self, DERIVED_FIELDS, PRESERVED_FIELDS};

fn object(text: &str) -> Object {
    json::parse_object(text.as_bytes()).unwrap()
}

/// A chain of events of one run.
fn chain(events: &[(&str, &str)]) -> Vec<Event> {
    let mut chain: Vec<Event> = Vec::new();
    for (event_type, payload) in events {
        chain.push(next(chain.last(), "r", event_type, payload));
    }
    chain
}

fn next(last: Option<&Event>, run_id: &str, event_type: &str, payload: &str) -> Event {
    let sequence = last.map_or(1, |last| last.sequence() + 1);
    Event::new(EventInput {
        run_id,
        sequence,
        event_type,
        recorded_at: "2026-03-04T05:06:07.000008Z",
        idempotency_key: &format!("key-{sequence}"),
        previous_digest: last.map(Event::event_digest),
        payload: object(payload),
    })
    .unwrap()
}

#[test]
fn projection_vectors_come_out_byte_for_byte() {
    let mut refused = std::collections::BTreeSet::new();
    for vector in include_str!("../vectors/projections.jsonl").lines() {
        let vector = json::parse(vector.as_bytes()).unwrap();
        let text = |key: &str| vector.get(key).unwrap().as_str();
        let Some(Value::Array(lines)) = vector.get("lines") else { panic!("a vector without lines") };
        let events: Vec<Event> =
            lines.iter().map(|line| Event::parse_line(line.as_str().unwrap().as_bytes()).unwrap()).collect();
        let journal_present = *vector.get("journal_present").unwrap() == Value::Bool(true);
        let projected = projection::project(&object(text("base").unwrap()), &events, journal_present);
        assert_eq!(projected.as_ref().err().map(ProjectionError::rule), text("refused"));
        assert_eq!(
            projected.ok().map(|snapshot| json::snapshot_bytes(&snapshot)).as_deref(),
            text("snapshot").map(str::as_bytes)
        );
        refused.extend(text("refused").map(str::to_owned));
    }
    assert_eq!(refused.len(), 5, "the vectors break every rule: {refused:?}");
}

#[test]
fn refusals_come_in_the_order_of_the_rules() {
    let mut broken = chain(&[("run.created", r#"{"status": "planning"}"#), ("run.paused", "{}")]);
    let unmapped_first = chain(&[("run.paused", "{}"), ("run.created", r#"{"status": "planning"}"#)]);
    let project = |base: &str, events: &[Event]| {
        projection::project(&object(base), events, true).map_err(|error| error.rule()).unwrap_err()
    };
    assert_eq!(project(r#"{"status": "started"}"#, &broken), "event-payload");
    assert_eq!(project(r#"{"status": "started"}"#, &unmapped_first), "unmapped-event-type");
    assert_eq!(project(r#"{"status": 5}"#, &broken), "projection-input");
    assert_eq!(project("{}", &broken), "projection-input");
    broken.swap(0, 1);
    assert_eq!(project(r#"{"status": 5}"#, &broken), "event-chain");
    assert_eq!(project(r#"{"status": 5, "nope": 1}"#, &broken), "unknown-snapshot-field");
}

#[test]
fn a_chain_with_a_fault_is_never_projected() {
    let whole = chain(&[
        ("run.created", r#"{"status": "started"}"#),
        ("run.planning.started", "{}"),
        ("run.dispatch.requested", "{}"),
    ]);
    let project = |events: &[Event]| projection::project(&object(r#"{"status": "x"}"#), events, true);
    assert!(project(&whole).is_ok());
    let fault = |place| Err(ProjectionError::EventChain { place });
    assert_eq!(project(&whole[1..]), fault(1), "a chain starts at 1");
    assert_eq!(project(&[whole[0].clone(), whole[2].clone()]), fault(2), "no gap");
    assert_eq!(project(&[whole[0].clone(), whole[0].clone()]), fault(2), "no repetition");
    let skipping = Event::new(EventInput {
        run_id: "r",
        sequence: 3,
        event_type: "run.planning.started",
        recorded_at: "2026-03-04T05:06:07.000008Z",
        idempotency_key: "key",
        previous_digest: Some(whole[0].event_digest()),
        payload: Object::default(),
    });
    assert_eq!(project(&[whole[0].clone(), skipping.unwrap()]), fault(2), "no gap behind a link that holds");
    let foreign = next(Some(&whole[1]), "other", "run.dispatch.requested", "{}");
    assert_eq!(project(&[whole[0].clone(), whole[1].clone(), foreign]), fault(3), "one run");
    let other = chain(&[("run.created", r#"{"status": "started"}"#), ("run.dispatch.requested", "{}")]);
    assert_eq!(project(&[whole[0].clone(), other[1].clone(), whole[2].clone()]), fault(3), "links hold");
}

#[test]
fn a_checkpoint_tells_no_status_and_still_moves_the_head() {
    let events = chain(&[
        ("run.snapshot.checkpointed", "{}"),
        ("run.failed", r#"{"status": "timeout"}"#),
        ("run.snapshot.checkpointed", "{}"),
    ]);
    let base = object(r#"{"status": "planning", "journal_last_sequence": 99}"#);
    let first = projection::project(&base, &events[..1], true).unwrap();
    assert_eq!(first["status".as_bytes()].as_str(), Some("planning"));
    let all = projection::project(&base, &events, true).unwrap();
    assert_eq!(all["status".as_bytes()].as_str(), Some("timeout"));
    assert_eq!(all["journal_last_sequence".as_bytes()].as_i64(), Some(3));
    let digest = events[2].event_digest().to_hex();
    assert_eq!(all["journal_last_event_digest".as_bytes()].as_str(), Some(digest.as_str()));
}

#[test]
fn the_candidate_of_a_shadow_comparison_keeps_the_status_that_was_written() {
    let mut candidate = object(r#"{"status": "incomplete"}"#);
    let head = Head { sequence: 7, digest: Digest::of(b"x") };
    projection::stamp(&mut candidate, Some(head), true);
    let expected = format!(
        r#"{{"status": "incomplete", "projector_version": 2, "journal_present": true,
            "journal_last_sequence": 7, "journal_last_event_digest": "{}"}}"#,
        head.digest
    );
    assert_eq!(candidate, object(&expected));
}

#[test]
fn no_field_is_both_derived_and_preserved() {
    assert_eq!((DERIVED_FIELDS.len(), PRESERVED_FIELDS.len()), (5, 44));
    assert!(DERIVED_FIELDS.iter().all(|field| !PRESERVED_FIELDS.contains(field)));
}
