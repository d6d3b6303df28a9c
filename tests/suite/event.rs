//! The envelope, the registry, the chain and coverage.
//!
//! The vectors say which events are refused and what the others become; the mutations say that each rule of the
//! envelope is a refusal of its own, so that a broken rule can't hide behind another.

use std::collections::BTreeSet;

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::error::{ChainFault, CheckpointPayloadError, EventError};
use legbook::event::{self, CheckpointPayload, Event, EventInput, JournalBounds};
use legbook::json::{self, Object, Text, Value};

mod lines;

fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Object {
    members.into_iter().map(|(key, value)| (Text::from(key), value)).collect()
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector.get(key).unwrap().as_str().unwrap()
}

/// The lines of a vector's journal.
fn lines(vector: &Value) -> Vec<&str> {
    let Some(Value::Array(lines)) = vector.get("lines") else { panic!("a vector without lines") };
    lines.iter().map(|line| line.as_str().unwrap()).collect()
}

/// An event that every rule allows; each mutation changes one thing of it.
fn valid() -> EventInput<'static> {
    EventInput {
        run_id: "run-1",
        sequence: 2,
        event_type: "run.completed",
        recorded_at: "2026-03-04T05:06:07.000008Z",
        idempotency_key: "key",
        previous_digest: Some(Digest::of(b"before")),
        payload: object([("status", "ok".into()), ("detail", "done".into())]),
    }
}

#[test]
fn event_vectors_come_out_byte_for_byte() {
    let vectors = vectors(include_str!("../vectors/events.jsonl"));
    for vector in &vectors {
        let event = Event::new(EventInput {
            run_id: text(vector, "run_id"),
            sequence: vector.get("sequence").unwrap().as_i64().unwrap(),
            event_type: text(vector, "event_type"),
            recorded_at: text(vector, "recorded_at"),
            idempotency_key: text(vector, "idempotency_key"),
            previous_digest: vector
                .get("previous_digest")
                .unwrap()
                .as_str()
                .map(|hex| Digest::parse(hex).unwrap()),
            payload: vector.get("payload").unwrap().as_object().unwrap().clone(),
        });
        match vector.get("expect").unwrap() {
            Value::Null => assert!(event.is_err(), "{event:?}"),
            expect => {
                let event = event.unwrap();
                assert_eq!(event.line(), text(expect, "line"));
                assert_eq!(event.event_id(), text(expect, "event_id"));
                assert_eq!(event.event_digest().to_hex(), text(expect, "event_digest"));
                assert_eq!(event.request_digest().to_hex(), text(expect, "request_digest"));
                assert_eq!(Event::parse_line(event.line().as_bytes()), Ok(event));
            }
        }
    }
    assert_eq!(vectors.len(), 200);
}

#[test]
fn a_new_event_breaks_each_rule_with_an_error_of_its_own() {
    type Mutation = (fn(&mut EventInput<'static>), EventError);
    const OF: &str = "run.completed";
    let long: &'static str = "é".repeat(129).leak();
    let mutations: Vec<Mutation> = vec![
        (|input| input.event_type = "run.finished", EventError::UnknownType),
        (|input| input.event_type = "", EventError::UnknownType),
        (|input| put(input, "prompt", "x"), EventError::PrivateKey { key: "prompt" }),
        (|input| put(input, "stack_trace", 1), EventError::PrivateKey { key: "stack_trace" }),
        (|input| put(input, "seat", "x"), EventError::ExtraPayloadKey { event_type: OF }),
        (|input| put(input, "Status", "x"), EventError::ExtraPayloadKey { event_type: OF }),
        (
            |input| put(input, "detail", Value::Array(vec![])),
            EventError::PayloadNotFlat { event_type: OF, key: "detail" },
        ),
        (
            |input| put(input, "detail", Value::Object(Object::default())),
            EventError::PayloadNotFlat { event_type: OF, key: "detail" },
        ),
        (|input| put(input, "detail", true), EventError::PayloadBoolean { event_type: OF, key: "detail" }),
        (
            |input| put(input, "detail", json_value("1.0")),
            EventError::PayloadFloat { event_type: OF, key: "detail" },
        ),
        (
            |input| put(input, "detail", json_value("NaN")),
            EventError::PayloadFloat { event_type: OF, key: "detail" },
        ),
        (
            |input| put(input, "detail", json_value("9223372036854775808")),
            EventError::PayloadIntegerRange { event_type: OF, key: "detail" },
        ),
        (
            |input| put(input, "detail", json_value(r#""\ud800""#)),
            EventError::PayloadSurrogate { event_type: OF, key: "detail" },
        ),
        (
            |input| put(input, "detail", "é".repeat(513)),
            EventError::PayloadStringTooLong { event_type: OF, key: "detail" },
        ),
        (|input| input.run_id = "", EventError::RunId),
        (|input| input.run_id = "a/b", EventError::RunId),
        (|input| input.run_id = "a\n", EventError::RunId),
        (|input| input.run_id = "é", EventError::RunId),
        (|input| input.sequence = 0, EventError::Sequence),
        (|input| input.sequence = -1, EventError::Sequence),
        (|input| input.recorded_at = "2026-03-04T05:06:07Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-03-04T05:06:07.0000008Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-03-04T05:06:07.000008+00:00", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-03-04 05:06:07.000008Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-13-04T05:06:07.000008Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-02-30T05:06:07.000008Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-03-04T24:06:07.000008Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-03-04T05:06:60.000008Z", EventError::RecordedAt),
        (|input| input.recorded_at = "2026-03-04T05:06:07.00000٨Z", EventError::RecordedAt),
        (|input| input.idempotency_key = "", EventError::KeyLength),
        (|input| input.sequence = 1, EventError::PreviousAtFirst),
        (|input| input.previous_digest = None, EventError::PreviousMissing),
    ];
    for (mutate, error) in mutations {
        let mut input = valid();
        mutate(&mut input);
        assert_eq!(Event::new(input).unwrap_err(), error);
    }
    assert_eq!(
        Event::new(EventInput { idempotency_key: long, ..valid() }).unwrap_err(),
        EventError::KeyLength
    );
    assert!(Event::new(valid()).is_ok());
}

fn put(input: &mut EventInput<'static>, key: &str, value: impl Into<Value>) {
    input.payload.insert(key.into(), value.into());
}

fn json_value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

/// A stored line with one field put in another's place, in canonical bytes where it has such.
fn line_with(field: &str, value: Value) -> Vec<u8> {
    let mut envelope = json::parse_object(Event::new(valid()).unwrap().line().as_bytes()).unwrap();
    envelope.insert(field.into(), value);
    let envelope = Value::Object(envelope);
    json::canonical_bytes(&envelope).unwrap_or_else(|_| json::line(&envelope).replace(": ", ":").into_bytes())
}

#[test]
fn a_stored_line_breaks_each_rule_with_an_error_of_its_own() {
    let hex = Digest::of(b"another").to_hex();
    let field_type = |field| EventError::FieldType { field };
    let shape = |field| EventError::DigestShape { field };
    let cases: Vec<(&str, Value, EventError)> = vec![
        ("schema", "brigade.run_event.v2".into(), EventError::Schema),
        ("schema", Value::Null, field_type("schema")),
        ("schema_version", 2.into(), EventError::SchemaVersion),
        ("schema_version", "1".into(), EventError::SchemaVersion),
        ("schema_version", json_value("1.0"), EventError::SchemaVersion),
        ("schema_version", true.into(), EventError::SchemaVersion),
        ("run_id", "a/b".into(), EventError::RunId),
        ("run_id", 7.into(), field_type("run_id")),
        ("run_id", "run-2".into(), EventError::EventDigest),
        ("sequence", 0.into(), EventError::Sequence),
        ("sequence", json_value("9223372036854775808"), EventError::Sequence),
        ("sequence", json_value("2.0"), field_type("sequence")),
        ("sequence", "2".into(), field_type("sequence")),
        ("sequence", 1.into(), EventError::PreviousAtFirst),
        ("sequence", 3.into(), EventError::EventDigest),
        ("event_type", "run.finished".into(), EventError::UnknownType),
        ("event_type", "run.failed".into(), EventError::RequestDigest),
        ("event_type", Value::Null, field_type("event_type")),
        ("recorded_at", "2026-03-04T05:06:07Z".into(), EventError::RecordedAt),
        ("recorded_at", "2026-03-04T05:06:07.000009Z".into(), EventError::EventDigest),
        ("recorded_at", 7.into(), field_type("recorded_at")),
        ("idempotency_key", "".into(), EventError::KeyLength),
        ("idempotency_key", "k".repeat(129).into(), EventError::KeyLength),
        ("idempotency_key", "other".into(), EventError::RequestDigest),
        ("idempotency_key", Value::Null, field_type("idempotency_key")),
        ("previous_digest", Value::Null, EventError::PreviousMissing),
        ("previous_digest", hex.to_uppercase().into(), shape("previous_digest")),
        ("previous_digest", hex.as_str().into(), EventError::EventDigest),
        ("previous_digest", 7.into(), field_type("previous_digest")),
        ("payload", Value::Null, field_type("payload")),
        ("payload", Value::Object(object([])), EventError::RequestDigest),
        (
            "payload",
            Value::Object(object([("prompt", "x".into())])),
            EventError::PrivateKey { key: "prompt" },
        ),
        ("request_digest", hex[1..].into(), shape("request_digest")),
        ("request_digest", Value::Null, field_type("request_digest")),
        ("request_digest", hex.as_str().into(), EventError::RequestDigest),
        ("event_digest", hex.to_uppercase().into(), shape("event_digest")),
        ("event_digest", hex.as_str().into(), EventError::EventDigest),
        ("event_id", "run-1-000002-000000000000".into(), EventError::EventId),
        ("event_id", Value::Null, field_type("event_id")),
        ("extra", Value::Null, EventError::ExtraField),
    ];
    for (field, value, error) in cases {
        assert_eq!(Event::parse_line(&line_with(field, value.clone())), Err(error), "{field} {value:?}");
    }
    for field in event::FIELDS {
        let mut envelope = json::parse_object(Event::new(valid()).unwrap().line().as_bytes()).unwrap();
        envelope.shift_remove(field.as_bytes());
        let line = json::canonical_bytes(&Value::Object(envelope)).unwrap();
        assert_eq!(Event::parse_line(&line), Err(EventError::MissingField { field }));
    }
}

#[test]
fn the_right_values_in_another_spelling_are_refused() {
    let mut input = valid();
    put(&mut input, "detail", "é/\u{7f}");
    let event = Event::new(input).unwrap();
    let line = event.line();
    assert_eq!(Event::parse_line(line.as_bytes()), Ok(event.clone()));
    for other in [
        json::line(&json_value(line)),
        format!("{line}\n"),
        format!(" {line}"),
        line.replace('é', "\\u00e9"),
        line.replace('/', "\\/"),
        line.replace("\u{7f}", "\\u007f"),
        line.replace(r#""sequence":2"#, r#""sequence":2,"sequence":2"#),
        line.replace(r#""sequence":2"#, r#""sequence":9,"sequence":2"#),
        line.replacen(r#"{"event_digest""#, r#"{"schema":"brigade.run_event.v1","event_digest""#, 1),
    ] {
        assert_ne!(other, line);
        assert_eq!(Event::parse_line(other.as_bytes()), Err(EventError::NotCanonical), "{other}");
    }
    for no_object in ["", "[]", "null", "{", "{}{}", "\u{feff}{}"] {
        assert!(
            matches!(Event::parse_line(no_object.as_bytes()), Err(EventError::NotJson(_))),
            "{no_object}"
        );
    }
    assert!(matches!(Event::parse_line(b"\xff"), Err(EventError::NotJson(_))));
}

#[test]
fn bounds_are_in_characters_for_texts_and_in_bytes_for_the_line() {
    let mut input = valid();
    let key = "é".repeat(128);
    input.payload = object([("status", "é".repeat(512).into())]);
    input.idempotency_key = key.leak();
    assert!(Event::new(input).is_ok());

    // The run id has no bound of its own, so it can fill a line to the byte; it stands in the line twice.
    let of_length = |run_id: usize, detail: usize| {
        let mut input = valid();
        put(&mut input, "detail", "d".repeat(detail));
        Event::new(EventInput { run_id: &"r".repeat(run_id), ..input })
    };
    let longest = (0..2)
        .find_map(|detail| {
            let left = event::MAX_LINE - 1 - of_length(1, detail).unwrap().line().len();
            left.is_multiple_of(2).then(|| (1 + left / 2, detail))
        })
        .unwrap();
    let event = of_length(longest.0, longest.1).unwrap();
    assert_eq!(event.line().len() + 1, event::MAX_LINE);
    assert_eq!(Event::parse_line(event.line().as_bytes()), Ok(event.clone()));
    assert_eq!(of_length(longest.0, longest.1 + 1), Err(EventError::LineTooLong));
    assert_eq!(Event::parse_line(format!("{} ", event.line()).as_bytes()), Err(EventError::LineTooLong));
}

#[test]
fn no_refusal_repeats_a_value_of_the_payload() {
    for (key, value) in [
        ("detail", Value::Array(vec!["hunter2".into()])),
        ("detail", Value::from(format!("hunter2{}", "x".repeat(512)))),
        ("hunter2", Value::Null),
        ("prompt", "hunter2".into()),
    ] {
        let mut input = valid();
        put(&mut input, key, value);
        let message = Event::new(input).unwrap_err().to_string();
        assert!(!message.contains("hunter2") && message.len() <= 240, "{message}");
    }
}

/// A chain of events of run `r`; each has its place in its key.
fn chain(events: &[(&str, Object)]) -> Vec<Event> {
    let mut chain: Vec<Event> = Vec::new();
    for (event_type, payload) in events {
        let key = format!("key-{}", chain.len());
        chain.push(next(chain.last(), "r", event_type, &key, payload.clone()));
    }
    chain
}

fn next(last: Option<&Event>, run_id: &str, event_type: &str, key: &str, payload: Object) -> Event {
    Event::new(EventInput {
        run_id,
        sequence: last.map_or(1, |last| last.sequence() + 1),
        event_type,
        recorded_at: "2026-03-04T05:06:07.000008Z",
        idempotency_key: key,
        previous_digest: last.map(Event::event_digest),
        payload,
    })
    .unwrap()
}

fn three() -> Vec<Event> {
    chain(&[
        ("run.created", object([("status", "started".into())])),
        ("run.planning.started", object([])),
        ("run.dispatch.requested", object([])),
    ])
}

fn verify(events: &[Event]) -> Result<event::Chain, ChainFault> {
    event::verify_chain(events.iter().map(Event::line), "r", JournalBounds::LEGACY)
}

#[test]
fn every_break_of_a_chain_is_told_apart() {
    let whole = three();
    assert_eq!(verify(&whole).unwrap().events, whole);
    let [first, second, third] = &whole[..] else { panic!("three events") };
    let pick = |events: &[&Event]| events.iter().map(|event| (*event).clone()).collect::<Vec<_>>();

    assert_eq!(verify(&[]), Err(ChainFault::Empty));
    assert_eq!(verify(&whole[1..]), Err(ChainFault::Sequence { line: 1 }));
    assert_eq!(verify(&pick(&[first, third])), Err(ChainFault::Sequence { line: 2 }));
    assert_eq!(verify(&pick(&[first, third, second])), Err(ChainFault::Sequence { line: 2 }));
    assert_eq!(verify(&pick(&[first, first])), Err(ChainFault::Sequence { line: 2 }));
    let other = chain(&[("run.created", object([])), ("run.planning.started", object([]))]);
    assert_eq!(verify(&pick(&[first, &other[1], third])), Err(ChainFault::Link { line: 2 }));
    let skipping = Event::new(EventInput {
        sequence: 3,
        run_id: "r",
        previous_digest: Some(first.event_digest()),
        ..valid()
    });
    assert_eq!(verify(&pick(&[first, &skipping.unwrap()])), Err(ChainFault::Sequence { line: 2 }));
    let foreign = next(Some(first), "other", "run.planning.started", "key-1", object([]));
    assert_eq!(verify(&pick(&[first, &foreign])), Err(ChainFault::MixedRuns { line: 2 }));
    let repeated = next(Some(second), "r", "run.dispatch.requested", "key-0", object([]));
    assert_eq!(verify(&pick(&[first, second, &repeated])), Err(ChainFault::RepeatedKey { line: 3 }));

    let bounds = JournalBounds::LEGACY;
    let renamed = event::verify_chain(whole.iter().map(Event::line), "renamed", bounds);
    assert_eq!(renamed, Err(ChainFault::RunId));
    let blank = event::verify_chain([first.line(), "", second.line()], "renamed", bounds).unwrap_err();
    assert!(matches!(blank, ChainFault::Event { line: 2, error: EventError::NotJson(_) }), "{blank:?}");
    assert_eq!(blank.category(), "malformed chain");
}

#[test]
fn a_bound_comes_before_every_other_fault() {
    let whole = three();
    let lines: Vec<&str> = whole.iter().map(Event::line).collect();
    let bytes = lines.iter().map(|line| line.len() as u64 + 1).sum();
    let verify = |lines: &[&str], max_events, max_bytes| {
        event::verify_chain(lines, "r", JournalBounds { max_events, max_bytes })
            .map(|chain| chain.events.len())
    };
    assert_eq!(verify(&lines, 3, bytes), Ok(3));
    assert_eq!(verify(&lines, 2, bytes), Err(ChainFault::TooManyEvents { limit: 2 }));
    assert_eq!(verify(&lines, 3, bytes - 1), Err(ChainFault::TooManyBytes { limit: bytes - 1 }));
    assert_eq!(verify(&["{", lines[1], lines[2]], 2, bytes), Err(ChainFault::TooManyEvents { limit: 2 }));
    assert_eq!(verify(&["{", lines[1], lines[2]], 3, bytes).unwrap_err().category(), "malformed chain");
    assert_eq!(ChainFault::TooManyEvents { limit: 2 }.category(), "bound exceeded");
}

#[test]
fn coverage_vectors_are_judged_alike() {
    for vector in vectors(include_str!("../vectors/coverage.jsonl")) {
        let chain = event::verify_chain(lines(&vector), "r", JournalBounds::LEGACY).unwrap();
        let status = vector.get("checkpoint_status").unwrap().as_str();
        let covered = chain.latest_checkpoint().is_some_and(|(checkpoint, tail)| {
            let payload = CheckpointPayload::parse(checkpoint.payload(), 16 << 20).unwrap();
            event::covered(&payload, tail, status)
        });
        assert_eq!(Value::Bool(covered), *vector.get("covered").unwrap(), "{vector:?}");
    }
}

#[test]
fn a_tail_is_covered_only_by_the_paired_event_with_the_checkpoints_status() {
    let payload =
        |paired| CheckpointPayload { sha256: Digest::of(b""), byte_size: 0, paired_event_type: paired };
    let failed = |status: Value| chain(&[("run.failed", object([("status", status)]))]);
    let covered = |paired, tail: &[Event], status| event::covered(&payload(paired), tail, status);
    assert!(covered(None, &[], None));
    assert!(covered(Some("run.failed"), &[], Some("failed")), "its status event may be missing");
    assert!(covered(Some("run.failed"), &failed("timeout".into()), Some("timeout")));
    assert!(!covered(Some("run.failed"), &failed("timeout".into()), Some("failed")));
    assert!(!covered(Some("run.failed"), &failed("timeout".into()), None));
    assert!(!covered(Some("run.failed"), &failed(Value::Null), None), "no status is not the same status");
    assert!(!covered(Some("run.completed"), &failed("failed".into()), Some("failed")));
    assert!(!covered(None, &failed("failed".into()), Some("failed")));
    assert!(!covered(Some("run.created"), &three(), Some("started")));
}

#[test]
fn journal_vectors_are_whole_and_have_the_keys_that_the_write_path_makes() {
    let mut checked = 0;
    for vector in vectors(include_str!("../vectors/journals.jsonl")) {
        let run_id = text(&vector, "run_id");
        let chain = event::verify_chain(lines(&vector), run_id, JournalBounds::LEGACY).unwrap();
        let Some(Value::Array(writes)) = vector.get("writes") else { panic!("a vector without writes") };
        // A receipt is a prior snapshot too, and stands in no event.
        if writes.iter().any(|write| write.get("receipt").is_some()) {
            continue;
        }
        let (mut prior, mut last, mut keys) = (None, None, BTreeSet::new());
        for event in &chain.events {
            let mut key = if event.is_checkpoint() {
                let payload = CheckpointPayload::parse(event.payload(), 16 << 20).unwrap();
                let (sha256, paired) = (payload.sha256, payload.paired_event_type);
                let size = i64::try_from(payload.byte_size).unwrap();
                assert_eq!(*event.payload(), event::checkpoint_payload(sha256, size, paired));
                prior = last.replace(sha256);
                event::checkpoint_key(sha256, paired)
            } else {
                let payload = event::status_payload(event.event_type(), event.status().unwrap());
                assert_eq!(*event.payload(), payload);
                event::status_key(event.event_type(), &payload, prior).unwrap()
            };
            if !keys.insert(key.clone()) {
                key = event::recurring_key(&key, event.sequence());
            }
            assert_eq!(event.idempotency_key(), key);
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked} events had their key checked");
}

#[test]
fn a_checkpoint_payload_breaks_each_rule_with_an_error_of_its_own() {
    let sha256 = Digest::of(b"{}\n");
    let parse = |key: &str, value: Value| {
        let mut payload = event::checkpoint_payload(sha256, 3, Some("run.failed"));
        payload.insert(key.into(), value);
        CheckpointPayload::parse(&payload, 1024)
    };
    let other = Digest::of(b"other");
    let whole = CheckpointPayload { sha256, byte_size: 3, paired_event_type: Some("run.failed") };
    assert_eq!(parse("byte_size", 3.into()), Ok(whole));
    assert_eq!(parse("byte_size", 0.into()), Ok(CheckpointPayload { byte_size: 0, ..whole }));
    assert_eq!(parse("byte_size", 1024.into()), Ok(CheckpointPayload { byte_size: 1024, ..whole }));
    assert_eq!(
        parse("paired_event_type", Value::Null),
        Ok(CheckpointPayload { paired_event_type: None, ..whole })
    );
    let cases: Vec<(&str, Value, CheckpointPayloadError)> = vec![
        ("run_id", "r".into(), CheckpointPayloadError::Keys),
        ("media_type", "application/json".into(), CheckpointPayloadError::MediaType),
        ("privacy_class", "public".into(), CheckpointPayloadError::PrivacyClass),
        ("sha256", sha256.to_hex().to_uppercase().into(), CheckpointPayloadError::Digest),
        ("sha256", 3.into(), CheckpointPayloadError::Digest),
        ("sha256", other.to_hex().into(), CheckpointPayloadError::Path),
        ("byte_size", (-1).into(), CheckpointPayloadError::Size),
        ("byte_size", true.into(), CheckpointPayloadError::Size),
        ("byte_size", "3".into(), CheckpointPayloadError::Size),
        ("byte_size", json_value("3.0"), CheckpointPayloadError::Size),
        ("byte_size", 1025.into(), CheckpointPayloadError::SizeBound { limit: 1024 }),
        ("path", event::checkpoint_path(other).into(), CheckpointPayloadError::Path),
        ("path", format!("/{}", event::checkpoint_path(sha256)).into(), CheckpointPayloadError::Path),
        ("paired_event_type", "".into(), CheckpointPayloadError::Pairing),
        ("paired_event_type", 3.into(), CheckpointPayloadError::Pairing),
        ("paired_event_type", "run.paused".into(), CheckpointPayloadError::Pairing),
        ("paired_event_type", "run.planning.completed".into(), CheckpointPayloadError::Pairing),
        ("paired_event_type", "run.snapshot.checkpointed".into(), CheckpointPayloadError::Pairing),
    ];
    for (key, value, error) in cases {
        assert_eq!(parse(key, value.clone()), Err(error), "{key} {value:?}");
    }
    for key in event::CHECKPOINT_KEYS {
        let mut payload = event::checkpoint_payload(sha256, 3, None);
        payload.shift_remove(key.as_bytes());
        assert_eq!(CheckpointPayload::parse(&payload, 1024), Err(CheckpointPayloadError::Keys), "{key}");
    }
}

#[test]
fn every_status_comes_back_from_the_event_that_it_appends() {
    for (status, event_type) in event::STATUS_EVENT_TYPES {
        let payload = event::status_payload(event_type, status);
        assert!(!payload.is_empty());
        assert_eq!(event::event_type_of_status(status), Some(*event_type));
        assert_eq!(event::status_of_event(event_type, &payload), Some(*status));
    }
    for status in event::UNMAPPED_STATUSES.iter().chain(&["", "running", "OK"]) {
        assert_eq!(event::event_type_of_status(status), None);
    }
    let with_status = |status: Value| object([("status", status)]);
    assert_eq!(event::status_of_event("run.failed", &with_status("ok".into())), None);
    assert_eq!(event::status_of_event("run.failed", &with_status(Value::Null)), None);
    assert_eq!(event::status_of_event("run.failed", &object([("detail", "failed".into())])), None);
    assert_eq!(event::status_of_event("run.paused", &with_status("ok".into())), None);
}

#[test]
fn the_stores_reference_tables_hold_the_same_registry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Store::open(&path, StoreOptions::default()).unwrap());
    let database = rusqlite::Connection::open(&path).unwrap();
    let rows = |query: &str| -> BTreeSet<String> {
        let mut statement = database.prepare(query).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };

    let types = event::EVENT_TYPES.iter().map(|event_type| event_type.name.to_owned());
    assert_eq!(rows("SELECT event_type FROM event_types"), types.collect());
    let keys = event::EVENT_TYPES.iter().flat_map(|event_type| {
        event_type.payload_keys.iter().map(|key| format!("{} {key}", event_type.name))
    });
    assert_eq!(rows("SELECT event_type || ' ' || key FROM event_payload_keys"), keys.collect());
    let mapped =
        event::STATUS_EVENT_TYPES.iter().map(|(status, event_type)| format!("{status} {event_type}"));
    assert_eq!(rows("SELECT status || ' ' || event_type FROM status_events"), mapped.collect());
    let told = event::EVENT_STATUSES.iter().map(|row| {
        format!("{} {} {}", row.event_type, if row.in_payload { row.status } else { "any" }, row.status)
    });
    let query =
        "SELECT event_type || ' ' || coalesce(payload_status, 'any') || ' ' || status FROM event_statuses";
    assert_eq!(rows(query), told.collect());
}
