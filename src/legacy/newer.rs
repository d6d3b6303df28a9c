//! Telling a directory of a newer program from a damaged one.
//!
//! A newer program may write event types, payload keys and lengths that this legbook does not know, more events than this
//! legbook takes, and evidence of a later projection. Its journal is still a chain: canonical lines whose digests and links
//! hold. So the chain is checked again here, without the rules that a newer program may have changed. It is asked only
//! about journals that broke one of them, so a good directory is not read twice.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};

use super::folder::Folder;
use super::layout::{EVIDENCE, JOURNAL};
use crate::digest::Digest;
use crate::error::EventError;
use crate::event::{Event, JournalBounds};
use crate::json::{self, Object, Value};
use crate::projection::PROJECTOR_VERSION;

/// The most events that a newer program writes.
const MAX_EVENTS: u64 = 2_048;
/// The most bytes of an evidence file that are read.
const MAX_EVIDENCE: u64 = 1024 * 1024;
/// The members of an envelope.
const FIELDS: usize = 12;

/// What a newer program has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Newer {
    /// What it is, in words.
    pub(super) what: String,
    /// The number of events, if that is all that is new.
    pub(super) events: Option<u64>,
}

/// What is newer in the journal of `run_id`. `None`: nothing is, or its chain is damaged as well.
pub(super) fn in_journal(events: &Folder, run_id: &str, bounds: JournalBounds) -> Option<Newer> {
    let found = events.file(JOURNAL).ok()??;
    found.check_size(bounds.max_bytes).ok()?;
    let mut reader = BufReader::new(found.file.take(found.size));
    let (mut keys, mut previous) = (HashSet::new(), None);
    let (mut line, mut count, mut what) = (Vec::new(), 0_u64, None);
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if line.pop_if(|last| *last == b'\n').is_none() {
            break;
        }
        count += 1;
        if count > MAX_EVENTS {
            return None;
        }
        let link = match Event::parse_line(&line) {
            Ok(event) => Link::of(&event),
            Err(error) => {
                let new = words(&error)?;
                what.get_or_insert_with(|| format!("line {count} has {new}"));
                Link::read(&line)?
            }
        };
        let follows = link.run_id == run_id
            && u64::try_from(link.sequence) == Ok(count)
            && link.previous == previous
            && keys.insert(link.key);
        if !follows {
            return None;
        }
        previous = Some(link.digest);
        line.clear();
    }
    match what {
        Some(what) => Some(Newer { what, events: None }),
        None if count > bounds.max_events => Some(Newer {
            what: format!("the journal has {count} events, and at most {} are read here", bounds.max_events),
            events: Some(count),
        }),
        None => None,
    }
}

/// Which rule of an event a newer program may have changed, in words.
fn words(error: &EventError) -> Option<&'static str> {
    match error {
        EventError::UnknownType => Some("an event type that this legbook does not know"),
        EventError::ExtraPayloadKey { .. } => Some("a payload key that this legbook does not know"),
        EventError::PayloadStringTooLong { .. } | EventError::LineTooLong => {
            Some("a payload that is longer than this legbook takes")
        }
        _ => None,
    }
}

/// What is newer in the evidence file, if there is one.
pub(super) fn in_evidence(events: &Folder) -> Option<Newer> {
    in_evidence_bytes(&events.file(EVIDENCE).ok()??.read(MAX_EVIDENCE).ok()?)
}

/// What is newer in the bytes of an evidence file.
pub(super) fn in_evidence_bytes(bytes: &[u8]) -> Option<Newer> {
    let version = json::parse_object(bytes).ok()?.get("projector_version".as_bytes())?.as_i64()?;
    (version > PROJECTOR_VERSION).then(|| Newer {
        what: format!("its evidence is of projection {version}, and this legbook knows {PROJECTOR_VERSION}"),
        events: None,
    })
}

/// What of an event makes the chain.
struct Link {
    run_id: String,
    sequence: i64,
    key: String,
    previous: Option<Digest>,
    digest: Digest,
}

impl Link {
    fn of(event: &Event) -> Self {
        Self {
            run_id: event.run_id().to_owned(),
            sequence: event.sequence(),
            key: event.idempotency_key().to_owned(),
            previous: event.previous_digest(),
            digest: event.event_digest(),
        }
    }

    /// Reads a line by the rules that no version changes: the envelope's fields, canonical bytes, and all digests.
    fn read(line: &[u8]) -> Option<Self> {
        let envelope = json::parse_object(line).ok()?;
        let canonical = |object: &Object| json::canonical_bytes(&Value::Object(object.clone())).ok();
        if envelope.len() != FIELDS || canonical(&envelope)? != line {
            return None;
        }
        let member = |field: &str| envelope.get(field.as_bytes());
        let text = |field: &str| member(field).and_then(Value::as_str);
        let digest = |field: &str| text(field).and_then(Digest::parse);
        let previous = match member("previous_digest")? {
            Value::Null => None,
            _ => Some(digest("previous_digest")?),
        };
        let (run_id, sequence) = (text("run_id")?, member("sequence")?.as_i64()?);
        let (event_digest, key) = (digest("event_digest")?, text("idempotency_key")?);
        text("recorded_at")?;
        let request = ["event_type", "idempotency_key", "payload"];
        let request = request
            .map(|field| Some((field, member(field)?.clone())))
            .into_iter()
            .collect::<Option<Vec<_>>>();
        let mut digested = envelope.clone();
        digested.retain(|field, _| !matches!(field.as_bytes(), b"event_digest" | b"event_id"));
        let holds = text("schema")? == "brigade.run_event.v1"
            && member("schema_version")?.as_i64()? == 1
            && digest("request_digest")? == Digest::of(&canonical(&json::object(request?))?)
            && event_digest == Digest::of(&canonical(&digested)?)
            && text("event_id")? == format!("{run_id}-{sequence:06}-{:.12}", event_digest.to_hex());
        holds.then(|| Self {
            run_id: run_id.to_owned(),
            sequence,
            key: key.to_owned(),
            previous,
            digest: event_digest,
        })
    }
}
