//! What holds for every line: it is read as its JSON would be read, rule by rule, and only its own spelling passes.
//!
//! Lines are written and read by shorter ways than through a JSON value. Here the longer way is gone again: lines are
//! made of values ([`line_of`]), and what a line is refused for is what the same line with a space in front of it is
//! refused for, which can only be read as JSON.

use legbook::digest::Digest;
use legbook::error::EventError;
use legbook::event::{self, Event, EventInput};
use legbook::json::{self, Object, Value};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Texts that are easily taken for something else in a line.
const PIECES: &[&str] = &[
    "a",
    "run",
    "0",
    " ",
    "\"",
    "\\",
    "/",
    ",",
    ":",
    "{",
    "}",
    "\",",
    "\"}",
    "\\\"",
    "\\u0061",
    "\n",
    "\u{0}",
    "\u{7f}",
    "é",
    "😀",
    "\u{2028}",
    "null",
    r#"","payload":{"#,
    r#","previous_digest":"#,
    r#"","recorded_at":""#,
    r#""sequence":2}"#,
];

fn any_text(pieces: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let piece = prop_oneof![4 => "[a-z:-]{1,9}", 4 => select(PIECES).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, pieces).prop_map(|pieces| pieces.concat())
}

fn any_payload_value() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), any_text(0..8).prop_map(Value::from)]
}

/// The given fields of an event that every rule allows.
#[derive(Debug, Clone)]
struct Given {
    run_id: String,
    sequence: i64,
    event_type: &'static str,
    recorded_at: String,
    idempotency_key: String,
    previous_digest: Option<Digest>,
    payload: Object,
}

prop_compose! {
    fn any_given()(
        run_id in "[A-Za-z0-9._-]{1,40}",
        sequence in prop_oneof![Just(1), 2..2_000_000_i64, Just(i64::MAX)],
        event_type in select(event::EVENT_TYPES.iter().collect::<Vec<_>>()),
        date in "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
        time in "([01][0-9]|2[0-3])(:[0-5][0-9]){2}\\.[0-9]{6}",
        idempotency_key in any_text(1..8),
        previous in any::<u64>(),
        values in prop::collection::vec((any::<Index>(), any_payload_value()), 0..7),
    ) -> Given {
        let keys = event_type.payload_keys;
        Given {
            run_id,
            sequence,
            event_type: event_type.name,
            recorded_at: format!("{date}T{time}Z"),
            idempotency_key,
            previous_digest: (sequence > 1).then(|| Digest::of(&previous.to_le_bytes())),
            payload: json::object(values.into_iter().map(|(key, value)| (keys[key.index(keys.len())], value))),
        }
    }
}

impl Given {
    fn event(&self) -> Event {
        Event::new(EventInput {
            run_id: &self.run_id,
            sequence: self.sequence,
            event_type: self.event_type,
            recorded_at: &self.recorded_at,
            idempotency_key: &self.idempotency_key,
            previous_digest: self.previous_digest,
            payload: self.payload.clone(),
        })
        .unwrap()
    }

    /// The members of the envelope that the event does not compute.
    fn members(&self) -> Object {
        json::object([
            ("schema", event::SCHEMA.into()),
            ("schema_version", event::SCHEMA_VERSION.into()),
            ("run_id", self.run_id.as_str().into()),
            ("sequence", self.sequence.into()),
            ("event_type", self.event_type.into()),
            ("recorded_at", self.recorded_at.as_str().into()),
            ("idempotency_key", self.idempotency_key.as_str().into()),
            ("previous_digest", self.previous_digest.map_or(Value::Null, |digest| digest.to_hex().into())),
            ("payload", Value::Object(self.payload.clone())),
        ])
    }
}

/// The canonical line of an envelope with these members, right or wrong: digests and id are those that they make
/// (contract events.md, Envelope).
fn line_of(mut members: Object) -> Vec<u8> {
    let bytes = |members: &Object| json::canonical_bytes(&Value::Object(members.clone())).unwrap();
    let request =
        ["event_type", "payload", "idempotency_key"].map(|key| (key, members[key.as_bytes()].clone()));
    members.insert("request_digest".into(), Digest::of(&bytes(&json::object(request))).to_hex().into());
    let digest = Digest::of(&bytes(&members)).to_hex();
    let written = |key: &str| match &members[key.as_bytes()] {
        Value::Integer(integer) => format!("{:0>6}", integer.as_str()),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let event_id = format!("{}-{}-{}", written("run_id"), written("sequence"), &digest[..12]);
    members.insert("event_digest".into(), digest.into());
    members.insert("event_id".into(), event_id.into());
    bytes(&members)
}

/// A line is read as the JSON that it holds, and only in the bytes that this JSON has.
fn assert_read_by_the_rules(line: &[u8]) {
    let read = Event::parse_line(line);
    let spaced = Event::parse_line(&[b" ", line].concat()).unwrap_err();
    let shown = String::from_utf8_lossy(line);
    let value = json::parse(line);
    let canonical =
        value.as_ref().is_ok_and(|value| json::canonical_bytes(value).is_ok_and(|bytes| bytes == line));
    if spaced != EventError::NotCanonical || !canonical {
        assert_eq!(read, Err(spaced), "{shown}");
        return;
    }
    let (event, value) = (read.unwrap(), value.unwrap());
    assert_eq!(event.line().as_bytes(), line);
    let members = json::object([
        ("event_digest", event.event_digest().to_hex().into()),
        ("event_id", event.event_id().into()),
        ("event_type", event.event_type().into()),
        ("idempotency_key", event.idempotency_key().into()),
        ("payload", Value::Object(event.payload().clone())),
        ("previous_digest", event.previous_digest().map_or(Value::Null, |digest| digest.to_hex().into())),
        ("recorded_at", event.recorded_at().into()),
        ("request_digest", event.request_digest().to_hex().into()),
        ("run_id", event.run_id().into()),
        ("schema", event::SCHEMA.into()),
        ("schema_version", event::SCHEMA_VERSION.into()),
        ("sequence", event.sequence().into()),
    ]);
    assert_eq!(Value::Object(members), value, "{shown}");
    let keys = |payload: &Object| payload.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(event.payload()), keys(value.get("payload").unwrap().as_object().unwrap()), "{shown}");
}

/// A small damage of a line's bytes.
#[derive(Debug, Clone)]
enum Damage {
    Replace(Index, u8),
    Remove(Index),
    Insert(Index, &'static str),
    /// The character there, as an escape.
    Escape(Index),
}

fn any_damage() -> impl Strategy<Value = Damage> {
    let bytes = prop_oneof![any::<u8>(), select(&b" \"\\,:{}[]-+.0123456789abcdefnu/"[..])];
    prop_oneof![
        (any::<Index>(), bytes).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        any::<Index>().prop_map(Damage::Remove),
        (any::<Index>(), select(PIECES)).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        any::<Index>().prop_map(Damage::Escape),
    ]
}

fn damaged(line: &str, damage: &Damage) -> Vec<u8> {
    let mut bytes = line.as_bytes().to_vec();
    match damage {
        Damage::Replace(at, byte) => *at.get_mut(&mut bytes) = *byte,
        Damage::Remove(at) => drop(bytes.remove(at.index(line.len()))),
        Damage::Insert(at, piece) => {
            let at = at.index(line.len() + 1);
            bytes.splice(at..at, piece.bytes());
        }
        Damage::Escape(at) => {
            let (start, character) = line.char_indices().nth(at.index(line.chars().count())).unwrap();
            let units = character
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect::<String>();
            bytes.splice(start..start + character.len_utf8(), units.into_bytes());
        }
    }
    bytes
}

/// A member of the envelope and a value that it may not have, or not there.
fn any_wrong_member() -> impl Strategy<Value = (&'static str, Value)> {
    let values = ["0", "1", "2", "-1", "null", r#""""#, r#""1""#, "{}", "[]", r#""run.paused""#];
    let fields: Vec<_> = event::FIELDS.iter().copied().chain(["extra"]).collect();
    let times = ["2026-02-30T05:06:07.000008Z", "2026-03-04T05:06:60.000008Z", "2026-03-04T05:06:07.00008Z"];
    let payloads = [r#"{"prompt":"x"}"#, r#"{"extra":1}"#, r#"{"status":[]}"#, r#"{"detail":{"a":1}}"#];
    let json = |text: &'static str| json::parse(text.as_bytes()).unwrap();
    prop_oneof![
        (select(fields), select(values.to_vec()).prop_map(json)),
        select(times.to_vec()).prop_map(|time| ("recorded_at", time.into())),
        select(payloads.to_vec()).prop_map(move |payload| ("payload", json(payload))),
        any_payload_value().prop_map(|value| ("payload", Value::Object(json::object([("detail", value)])))),
        any_text(0..3).prop_map(|run_id| ("run_id", run_id.into())),
        (120..140_usize).prop_map(|length| ("idempotency_key", "é".repeat(length).into())),
        (505..520_usize).prop_map(|length| {
            ("payload", Value::Object(json::object([("detail", "é".repeat(length).into())])))
        }),
    ]
}

proptest! {
    #[test]
    fn a_line_is_what_its_values_make(given in any_given()) {
        let event = given.event();
        prop_assert_eq!(event.line().as_bytes(), line_of(given.members()));
        prop_assert_eq!(Event::parse_line(event.line().as_bytes()), Ok(event.clone()));
        assert_read_by_the_rules(event.line().as_bytes());
    }

    #[test]
    fn a_damaged_line_is_refused_for_the_rule_that_it_breaks(
        given in any_given(),
        damage in prop::collection::vec(any_damage(), 1..3),
    ) {
        let mut line = given.event().line().to_owned();
        for damage in &damage {
            let bytes = damaged(&line, damage);
            assert_read_by_the_rules(&bytes);
            let Ok(text) = String::from_utf8(bytes) else { break };
            line = text;
        }
    }

    #[test]
    fn a_line_in_another_order_or_with_a_member_twice_or_of_another_line_is_not_the_line(
        given in any_given(),
        other in any_given(),
        one in any::<Index>(),
        another in any::<Index>(),
    ) {
        let members = |given: &Given| {
            let line = json::raw::parse(given.event().line().as_bytes()).unwrap();
            let members = line.value().members().unwrap();
            members.map(|(key, value)| format!("\"{}\":{}", key.as_str().unwrap(), value.as_str())).collect::<Vec<_>>()
        };
        let line = |members: Vec<String>| format!("{{{}}}", members.join(","));
        let (members, other) = (members(&given), members(&other));
        let (one, another) = (one.index(members.len()), another.index(members.len()));
        let whole = line(members.clone());
        prop_assert_eq!(whole, given.event().line().to_owned());

        let mut swapped = members.clone();
        swapped.swap(one, another);
        assert_read_by_the_rules(line(swapped).as_bytes());
        let mut twice = members.clone();
        twice.insert(another, members[one].clone());
        assert_read_by_the_rules(line(twice).as_bytes());
        let mut mixed = members;
        mixed[one].clone_from(&other[one]);
        assert_read_by_the_rules(line(mixed).as_bytes());
    }

    #[test]
    fn a_wrong_value_is_refused_however_right_the_digests_are(
        given in any_given(),
        (field, value) in any_wrong_member(),
    ) {
        let mut members = given.members();
        members.insert(field.into(), value);
        assert_read_by_the_rules(&line_of(members));
    }

    #[test]
    fn a_right_digest_of_wrong_bytes_is_no_right_digest(given in any_given(), at in any::<Index>()) {
        // The members as they are written, one of them with a space, digested with it.
        let event = given.event();
        let (_, digested) = event.line().split_once(r#","event_type""#).unwrap();
        let spaces: Vec<_> = digested.match_indices([':', ',', '{', '}']).collect();
        let place = at.get(&spaces).0;
        let (before, behind) = digested.split_at(place);
        let digested = format!(r#""event_type"{before} {behind}"#);
        let digest = Digest::of(format!("{{{digested}").as_bytes()).to_hex();
        let event_id = format!("{}-{:06}-{}", given.run_id, given.sequence, &digest[..12]);
        let line = format!(r#"{{"event_digest":"{digest}","event_id":"{event_id}",{digested}"#);
        prop_assert!(Event::parse_line(line.as_bytes()).is_err());
        assert_read_by_the_rules(line.as_bytes());
    }
}
