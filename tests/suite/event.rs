//! The envelope, the registry, the chain and coverage.
//!
//! The vectors say which events are refused and what the others become; the mutations say that each rule of the
//! envelope is a refusal of its own, so that a broken rule can't hide behind another.

use legbook::digest::Digest;
use legbook::error::EventError;
use legbook::event::{Event, EventInput};
use legbook::json::{self, Object, Text, Value};

fn vectors(text: &str) -> Vec<Value> {
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Object {
    members.into_iter().map(|(key, value)| (Text::from(key), value)).collect()
}

fn text<'a>(vector: &'a Value, key: &str) -> &'a str {
    vector.get(key).unwrap().as_str().unwrap()
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
