//! The envelope: twelve fields, their rules, the three values that are computed from them, and the canonical line.
//!
//! Whatever is stored is checked by making it again: a line is valid where its seven given fields, put through
//! [`Event::new`]'s rules, give the very same digests, id and bytes.
//!
//! Events are made and read several times a write, so neither way builds a tree of the envelope. The order of the fields
//! is fixed ([`FIELDS`]) and only the idempotency key and the payload can hold what needs an escape, so a line is these two
//! in canonical bytes and the others as they are. To read a line, it is cut where a canonical one has its fields, and
//! the event made of the pieces stands if its own line is the given one to the byte: a wrong cut can refuse a line, never
//! let one pass. What does not stand is read again as JSON, rule by rule, for the first rule that is broken.

use std::ops::Range;

use chrono::NaiveDate;

use super::registry::{self, EventType, PRIVATE_KEYS};
use crate::digest::Digest;
use crate::error::EventError;
use crate::json::{self, Object, Value};

/// What `schema` holds.
pub const SCHEMA: &str = "brigade.run_event.v1";
/// What `schema_version` holds.
pub const SCHEMA_VERSION: i64 = 1;
/// The most bytes of a canonical line with its newline.
pub const MAX_LINE: usize = 16_384;
/// The most characters (code points) of an idempotency key.
pub const MAX_KEY: usize = 128;
/// The most characters (code points) of a payload string.
pub const MAX_STRING: usize = 512;

/// The envelope's twelve fields in the order of the canonical line.
pub const FIELDS: &[&str] = &[
    "event_digest",
    "event_id",
    "event_type",
    "idempotency_key",
    "payload",
    "previous_digest",
    "recorded_at",
    "request_digest",
    "run_id",
    "schema",
    "schema_version",
    "sequence",
];

/// What a new event is made of; everything else of the envelope follows from it.
#[derive(Debug, Clone)]
pub struct EventInput<'a> {
    /// `[A-Za-z0-9._-]+` whole: wider than what a command takes as a run's name.
    pub run_id: &'a str,
    /// From 1.
    pub sequence: i64,
    /// A registered type's name.
    pub event_type: &'a str,
    /// `YYYY-MM-DDTHH:MM:SS.ffffffZ`, as [`crate::clock::event_time`] gives it.
    pub recorded_at: &'a str,
    /// 1 to 128 characters, once in a run.
    pub idempotency_key: &'a str,
    /// The last event's digest; `None` at sequence 1 and only there.
    pub previous_digest: Option<Digest>,
    /// Flat, with keys of the type only.
    pub payload: Object,
}

/// One valid event of a journal: checked, digested, with its canonical line.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    run_id: String,
    sequence: i64,
    event_type: &'static EventType,
    recorded_at: String,
    idempotency_key: String,
    request_digest: Digest,
    previous_digest: Option<Digest>,
    event_digest: Digest,
    event_id: String,
    payload: Object,
    line: String,
}

impl Event {
    /// Checks `input` against every rule of the envelope and the registry, and computes digests, id and line.
    ///
    /// # Errors
    /// The [`EventError`] of the first rule that is broken (contract events.md, Envelope).
    pub fn new(input: EventInput<'_>) -> Result<Self, EventError> {
        let event_type = registry::event_type(input.event_type).ok_or(EventError::UnknownType)?;
        check_payload(event_type, &input.payload)?;
        check_fields(&input)?;

        let EventInput { run_id, sequence, recorded_at, .. } = input;
        let event_type_name = event_type.name;
        let idempotency_key = json::canonical_string(input.idempotency_key);
        let payload = json::canonical_object(&input.payload).map_err(|_| EventError::NotCanonical)?;
        let previous_digest = digest_or_null(input.previous_digest);

        // Members without their braces, in the order of FIELDS: the request's three, then the ten that are digested.
        let request = format!(
            r#""event_type":"{event_type_name}","idempotency_key":{idempotency_key},"payload":{payload}"#
        );
        let request_digest = Digest::of(format!("{{{request}}}").as_bytes());
        let given = format!(
            r#"{request},"previous_digest":{previous_digest},"recorded_at":"{recorded_at}","request_digest":"{request_digest}","run_id":"{run_id}","schema":"{SCHEMA}","schema_version":{SCHEMA_VERSION},"sequence":{sequence}"#
        );
        let event_digest = Digest::of(format!("{{{given}}}").as_bytes());
        let event_id = event_id(run_id, sequence, event_digest);
        let line = format!(r#"{{"event_digest":"{event_digest}","event_id":"{event_id}",{given}}}"#);
        if line.len() + "\n".len() > MAX_LINE {
            return Err(EventError::LineTooLong);
        }
        Ok(Self {
            run_id: run_id.to_owned(),
            sequence,
            event_type,
            recorded_at: recorded_at.to_owned(),
            idempotency_key: input.idempotency_key.to_owned(),
            request_digest,
            previous_digest: input.previous_digest,
            event_digest,
            event_id,
            payload: input.payload,
            line,
        })
    }

    /// Reads a stored line, without its newline: exactly the canonical bytes of a valid event.
    ///
    /// # Errors
    /// The [`EventError`] of the first rule that is broken. A line over [`MAX_LINE`] is not parsed.
    pub fn parse_line(line: &[u8]) -> Result<Self, EventError> {
        if line.len() >= MAX_LINE {
            return Err(EventError::LineTooLong);
        }
        match Self::of_canonical(line) {
            Some(event) => Ok(event),
            None => Self::of_json(line),
        }
    }

    /// The event of a line that is the event's own; none for a line that is to be read as JSON.
    fn of_canonical(line: &[u8]) -> Option<Self> {
        let event = Self::new(cut(std::str::from_utf8(line).ok()?)?).ok()?;
        (event.line.as_bytes() == line).then_some(event)
    }

    /// The event of a line in whatever spelling, or the first rule that the line breaks.
    fn of_json(line: &[u8]) -> Result<Self, EventError> {
        let envelope = json::parse_object(line).map_err(|error| EventError::NotJson(error.fault))?;
        for field in FIELDS {
            member(&envelope, field)?;
        }
        if envelope.len() != FIELDS.len() {
            return Err(EventError::ExtraField);
        }
        if text(&envelope, "schema")? != SCHEMA {
            return Err(EventError::Schema);
        }
        if member(&envelope, "schema_version")?.as_i64() != Some(SCHEMA_VERSION) {
            return Err(EventError::SchemaVersion);
        }
        let sequence = match member(&envelope, "sequence")? {
            Value::Integer(integer) => integer.as_i64().ok_or(EventError::Sequence)?,
            _ => return Err(EventError::FieldType { field: "sequence" }),
        };
        let previous_digest = match member(&envelope, "previous_digest")? {
            Value::Null => None,
            _ => Some(digest(&envelope, "previous_digest")?),
        };
        let Value::Object(payload) = member(&envelope, "payload")? else {
            return Err(EventError::FieldType { field: "payload" });
        };
        let event = Self::new(EventInput {
            run_id: text(&envelope, "run_id")?,
            sequence,
            event_type: text(&envelope, "event_type")?,
            recorded_at: text(&envelope, "recorded_at")?,
            idempotency_key: text(&envelope, "idempotency_key")?,
            previous_digest,
            payload: payload.clone(),
        })?;
        if digest(&envelope, "request_digest")? != event.request_digest {
            return Err(EventError::RequestDigest);
        }
        if digest(&envelope, "event_digest")? != event.event_digest {
            return Err(EventError::EventDigest);
        }
        if text(&envelope, "event_id")? != event.event_id {
            return Err(EventError::EventId);
        }
        // All values are right; what is left is their spelling: spaces, order, escapes, a repeated key.
        if line != event.line.as_bytes() {
            return Err(EventError::NotCanonical);
        }
        Ok(event)
    }

    /// The run that the event belongs to.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The event's place in its journal, from 1.
    pub fn sequence(&self) -> i64 {
        self.sequence
    }

    /// The type's name.
    pub fn event_type(&self) -> &'static str {
        self.event_type.name
    }

    /// When it was made: `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
    pub fn recorded_at(&self) -> &str {
        &self.recorded_at
    }

    /// The key under which a repeated request is known.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// The digest of type, payload and key.
    pub fn request_digest(&self) -> Digest {
        self.request_digest
    }

    /// The digest of the event before this one; `None` at sequence 1.
    pub fn previous_digest(&self) -> Option<Digest> {
        self.previous_digest
    }

    /// The digest of the envelope without itself and the id.
    pub fn event_digest(&self) -> Digest {
        self.event_digest
    }

    /// `<run_id>-<sequence, six digits at least>-<first 12 of event_digest>`.
    pub fn event_id(&self) -> &str {
        &self.event_id
    }

    /// The payload.
    pub fn payload(&self) -> &Object {
        &self.payload
    }

    /// The canonical line, without a newline.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Whether this event names a checkpoint.
    pub fn is_checkpoint(&self) -> bool {
        self.event_type.name == registry::CHECKPOINT_EVENT_TYPE
    }

    /// The status that this event tells, if any.
    pub fn status(&self) -> Option<&'static str> {
        registry::status_of_event(self.event_type.name, &self.payload)
    }
}

fn event_id(run_id: &str, sequence: i64, event_digest: Digest) -> String {
    format!("{run_id}-{sequence:06}-{:.12}", event_digest.to_hex())
}

/// A digest as it stands in canonical bytes.
pub(super) fn digest_or_null(digest: Option<Digest>) -> String {
    digest.map_or_else(|| "null".to_owned(), |digest| format!("\"{digest}\""))
}

/// Cuts a line where a canonical one has its seven given fields. What is found need not be right, for the caller
/// compares bytes: a key with escapes, say, is taken as it is spelled and makes another line.
fn cut(line: &str) -> Option<EventInput<'_>> {
    let mut rest = line;
    between(&mut rest, r#"{"event_digest":"#, ",")?;
    between(&mut rest, r#""event_id":"#, ",")?;
    let event_type = between(&mut rest, r#""event_type":""#, r#"","#)?;
    let idempotency_key = between(&mut rest, r#""idempotency_key":""#, r#"","#)?;
    let payload = between(&mut rest, r#""payload":"#, r#","previous_digest":"#)?;
    let previous_digest = between(&mut rest, "", ",")?;
    let recorded_at = between(&mut rest, r#""recorded_at":""#, r#"","#)?;
    between(&mut rest, r#""request_digest":"#, ",")?;
    let run_id = between(&mut rest, r#""run_id":""#, r#"","#)?;
    between(&mut rest, r#""schema":"#, ",")?;
    between(&mut rest, r#""schema_version":"#, ",")?;
    let sequence = between(&mut rest, r#""sequence":"#, "}")?;
    Some(EventInput {
        run_id,
        sequence: sequence.parse().ok()?,
        event_type,
        recorded_at,
        idempotency_key,
        previous_digest: match previous_digest {
            "null" => None,
            quoted => Some(Digest::parse(quoted.trim_matches('"'))?),
        },
        payload: json::parse_object(payload.as_bytes()).ok()?,
    })
}

/// Passes over `before`, the next `after` and what stands between them, and gives the latter.
fn between<'a>(rest: &mut &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (found, behind) = rest.strip_prefix(before)?.split_once(after)?;
    *rest = behind;
    Some(found)
}

fn check_payload(event_type: &'static EventType, payload: &Object) -> Result<(), EventError> {
    let event_type_name = event_type.name;
    for (key, value) in payload {
        if let Some(key) = PRIVATE_KEYS.iter().find(|private| private.as_bytes() == key.as_bytes()) {
            return Err(EventError::PrivateKey { key });
        }
        let Some(key) = event_type.payload_keys.iter().find(|own| own.as_bytes() == key.as_bytes()) else {
            return Err(EventError::ExtraPayloadKey { event_type: event_type_name });
        };
        let event_type = event_type_name;
        match value {
            Value::Null => {}
            Value::Bool(_) => return Err(EventError::PayloadBoolean { event_type, key }),
            Value::Double(_) => return Err(EventError::PayloadFloat { event_type, key }),
            Value::Array(_) | Value::Object(_) => return Err(EventError::PayloadNotFlat { event_type, key }),
            Value::Integer(integer) if integer.as_i64().is_none() => {
                return Err(EventError::PayloadIntegerRange { event_type, key });
            }
            Value::Integer(_) => {}
            Value::String(text) if text.as_str().is_none() => {
                return Err(EventError::PayloadSurrogate { event_type, key });
            }
            Value::String(text) if is_longer(text.as_bytes().len(), text.code_points(), MAX_STRING) => {
                return Err(EventError::PayloadStringTooLong { event_type, key });
            }
            Value::String(_) => {}
        }
    }
    Ok(())
}

/// Whether a text of `bytes` bytes has more than `most` characters; they are counted only where there might be.
fn is_longer(bytes: usize, mut characters: impl Iterator, most: usize) -> bool {
    bytes > most && characters.nth(most).is_some()
}

fn check_fields(input: &EventInput<'_>) -> Result<(), EventError> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if input.run_id.is_empty() || !input.run_id.bytes().all(allowed) {
        return Err(EventError::RunId);
    }
    if input.sequence < 1 {
        return Err(EventError::Sequence);
    }
    if !is_event_time(input.recorded_at) {
        return Err(EventError::RecordedAt);
    }
    let key = input.idempotency_key;
    if key.is_empty() || is_longer(key.len(), key.chars(), MAX_KEY) {
        return Err(EventError::KeyLength);
    }
    match (input.sequence, input.previous_digest) {
        (1, Some(_)) => Err(EventError::PreviousAtFirst),
        (2.., None) => Err(EventError::PreviousMissing),
        _ => Ok(()),
    }
}

/// Whether `text` has exactly the form of an event's moment and names one that the calendar has.
fn is_event_time(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00.000000Z";
    let same_form = text.len() == FORM.len()
        && text.bytes().zip(FORM).all(|(is, should)| match should {
            b'0' => is.is_ascii_digit(),
            _ => is == *should,
        });
    let number = |places: Range<usize>| text.get(places).and_then(|digits| digits.parse::<u32>().ok());
    let moment = || {
        let date = NaiveDate::from_ymd_opt(number(0..4)? as i32, number(5..7)?, number(8..10)?)?;
        date.and_hms_opt(number(11..13)?, number(14..16)?, number(17..19)?)
    };
    same_form && moment().is_some()
}

fn member<'a>(envelope: &'a Object, field: &'static str) -> Result<&'a Value, EventError> {
    envelope.get(field.as_bytes()).ok_or(EventError::MissingField { field })
}

fn text<'a>(envelope: &'a Object, field: &'static str) -> Result<&'a str, EventError> {
    match member(envelope, field)? {
        // A lone surrogate can only stand there as an escape, which canonical bytes do not use.
        Value::String(text) => text.as_str().ok_or(EventError::NotCanonical),
        _ => Err(EventError::FieldType { field }),
    }
}

fn digest(envelope: &Object, field: &'static str) -> Result<Digest, EventError> {
    Digest::parse(text(envelope, field)?).ok_or(EventError::DigestShape { field })
}
