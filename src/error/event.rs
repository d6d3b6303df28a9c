//! What the event envelope, the registry, a chain, a checkpoint's payload and the projection refuse.
//!
//! No message holds a value of a payload. A key is named only where the registry knows it.

use super::JsonFault;
use crate::json::{self, Text, Value};

/// The most characters of a field's name that a message holds.
const MAX_FIELD_NAME: usize = 80;

/// The name of a snapshot's field for a message: as JSON writes it, without the quotes, at most 80 characters.
pub(crate) fn field_name(field: &Text) -> String {
    let written = json::line(&Value::String(field.clone()));
    let name = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&written);
    name.chars().take(MAX_FIELD_NAME).collect()
}

/// A refused event. One variant a rule of contract events.md, envelope and registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The registry has no such event type.
    #[error("the event type is not registered")]
    UnknownType,
    /// The payload holds a key that must never reach a journal.
    #[error("the payload key {key} is private and is never journaled")]
    PrivateKey {
        /// The key, as the registry's list of private keys has it.
        key: &'static str,
    },
    /// The payload holds a key that the event type does not allow.
    #[error("the payload of {event_type} has a key that is not its own")]
    ExtraPayloadKey {
        /// The event type.
        event_type: &'static str,
    },
    /// A payload value is a list or an object.
    #[error("the payload key {key} of {event_type} is not flat: it holds a list or an object")]
    PayloadNotFlat {
        /// The event type.
        event_type: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A payload value is a boolean.
    #[error("the payload key {key} of {event_type} holds a boolean")]
    PayloadBoolean {
        /// The event type.
        event_type: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A payload value is a number with a fraction or an exponent.
    #[error("the payload key {key} of {event_type} holds a float")]
    PayloadFloat {
        /// The event type.
        event_type: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A payload integer does not fit into 64 bits.
    #[error("the payload key {key} of {event_type} holds an integer outside the signed 64-bit range")]
    PayloadIntegerRange {
        /// The event type.
        event_type: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A payload string holds half of a surrogate pair.
    #[error("the payload key {key} of {event_type} holds a lone surrogate")]
    PayloadSurrogate {
        /// The event type.
        event_type: &'static str,
        /// The key.
        key: &'static str,
    },
    /// A payload string is too long.
    #[error("the payload key {key} of {event_type} holds more than 512 characters")]
    PayloadStringTooLong {
        /// The event type.
        event_type: &'static str,
        /// The key.
        key: &'static str,
    },
    /// The run id is not `[A-Za-z0-9._-]+`.
    #[error("the run_id holds something else than letters, digits, '.', '_' and '-', or nothing")]
    RunId,
    /// The sequence is below 1, or no integer in the signed 64-bit range.
    #[error("the sequence is not an integer from 1 on")]
    Sequence,
    /// The moment has another form, or is none of the calendar.
    #[error("recorded_at is not a moment of the form YYYY-MM-DDTHH:MM:SS.ffffffZ")]
    RecordedAt,
    /// The idempotency key is empty or too long.
    #[error("the idempotency_key does not have 1 to 128 characters")]
    KeyLength,
    /// The first event of a run names a predecessor.
    #[error("previous_digest is not null at sequence 1")]
    PreviousAtFirst,
    /// A later event names none.
    #[error("previous_digest is null after sequence 1")]
    PreviousMissing,
    /// A digest has another form.
    #[error("{field} is not 64 lower-case hex characters")]
    DigestShape {
        /// The envelope's field.
        field: &'static str,
    },
    /// The canonical line is too long.
    #[error("the line has more than 16,384 bytes with its newline")]
    LineTooLong,
    /// The line is no JSON object.
    #[error("the line is not a JSON object: {0}")]
    NotJson(JsonFault),
    /// The envelope lacks a field.
    #[error("the envelope has no {field}")]
    MissingField {
        /// The field.
        field: &'static str,
    },
    /// The envelope has a thirteenth field.
    #[error("the envelope has a field that is not its own")]
    ExtraField,
    /// A field holds a value of another type.
    #[error("{field} has the wrong type")]
    FieldType {
        /// The field.
        field: &'static str,
    },
    /// The schema is another one.
    #[error("the schema is not brigade.run_event.v1")]
    Schema,
    /// The schema version is another one.
    #[error("the schema_version is not 1")]
    SchemaVersion,
    /// The line is right JSON in another spelling, or holds what canonical bytes can't.
    #[error("the line is not in its canonical bytes")]
    NotCanonical,
    /// The request digest is not that of type, payload and key.
    #[error("request_digest is not the digest of the event's type, payload and key")]
    RequestDigest,
    /// The event digest is not that of the envelope.
    #[error("event_digest is not the digest of the envelope")]
    EventDigest,
    /// The event id is not made of its parts.
    #[error("event_id is not made of the run_id, the sequence and the event_digest")]
    EventId,
}

/// A refused payload of a checkpoint event (contract recovery.md, checkpoint validity). Checked before any body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointPayloadError {
    /// Not exactly the six keys.
    #[error("the checkpoint's payload does not have exactly its six keys")]
    Keys,
    /// Another media type.
    #[error("the checkpoint's media_type is another one")]
    MediaType,
    /// Another privacy class.
    #[error("the checkpoint's privacy_class is another one")]
    PrivacyClass,
    /// The digest has another form.
    #[error("the checkpoint's sha256 is not 64 lower-case hex characters")]
    Digest,
    /// The size is no integer, or below zero.
    #[error("the checkpoint's byte_size is not an integer from 0 on")]
    Size,
    /// The size is beyond what the store allows; doctor has a reason of its own for it.
    #[error("the checkpoint's byte_size is beyond the bound of {limit} bytes")]
    SizeBound {
        /// The bound.
        limit: u64,
    },
    /// The path is not the one that the digest makes.
    #[error("the checkpoint's path is not the one that its sha256 makes")]
    Path,
    /// The pairing is neither null nor an event type that a status maps to.
    #[error("the checkpoint's paired_event_type is neither null nor the event type of a status")]
    Pairing,
}

/// What is wrong with a whole journal. The categories, in doctor's words, are [`ChainFault::category`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainFault {
    /// More events than the bound.
    #[error("bound exceeded: the journal has more than {limit} events")]
    TooManyEvents {
        /// The bound.
        limit: u64,
    },
    /// More bytes (lines with their newlines) than the bound.
    #[error("bound exceeded: the journal has more than {limit} bytes")]
    TooManyBytes {
        /// The bound.
        limit: u64,
    },
    /// No event at all.
    #[error("empty journal")]
    Empty,
    /// A line that is no valid event.
    #[error("malformed chain: line {line}: {error}")]
    Event {
        /// The line, from 1.
        line: u64,
        /// The rule that it breaks.
        error: EventError,
    },
    /// A sequence that is not one more than the last.
    #[error("malformed chain: line {line}: the sequence is not {line}")]
    Sequence {
        /// The line, from 1; in a whole chain the sequence too.
        line: u64,
    },
    /// A link that does not hold.
    #[error("malformed chain: line {line}: previous_digest is not the event_digest before it")]
    Link {
        /// The line, from 1.
        line: u64,
    },
    /// Events of two runs in one journal.
    #[error("malformed chain: line {line}: the run_id is not that of the lines before it")]
    MixedRuns {
        /// The line, from 1.
        line: u64,
    },
    /// An idempotency key for the second time.
    #[error("malformed chain: line {line}: the idempotency_key stands in an earlier line")]
    RepeatedKey {
        /// The line, from 1.
        line: u64,
    },
    /// A whole chain, of another run.
    #[error("run_id mismatch")]
    RunId,
    /// A whole chain, and behind it a line that was cut off. Only an imported journal has one.
    #[error("partial tail: the last line has no newline")]
    PartialTail,
}

impl ChainFault {
    /// Doctor's word for this fault: `bound exceeded`, `empty journal`, `malformed chain`, `run_id mismatch` or
    /// `partial tail` (contract recovery.md, Doctor).
    pub fn category(&self) -> &'static str {
        match self {
            Self::TooManyEvents { .. } | Self::TooManyBytes { .. } => "bound exceeded",
            Self::Empty => "empty journal",
            Self::RunId => "run_id mismatch",
            Self::PartialTail => "partial tail",
            Self::Event { .. }
            | Self::Sequence { .. }
            | Self::Link { .. }
            | Self::MixedRuns { .. }
            | Self::RepeatedKey { .. } => "malformed chain",
        }
    }
}

/// A refused projection (contract events.md, Projection). [`ProjectionError::rule`] has the rule's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// The base snapshot has a field that is neither preserved nor derived.
    #[error("unknown-snapshot-field: the projection does not know the field {field} of the snapshot")]
    UnknownSnapshotField {
        /// The first such field as JSON writes it, at most 80 characters.
        field: String,
    },
    /// The events are not one chain of one run from sequence 1 on.
    #[error("event-chain: the event at place {place} does not follow the one before it")]
    EventChain {
        /// The event's place, from 1.
        place: i64,
    },
    /// The base snapshot's status is no string.
    #[error("projection-input: the base snapshot's status is not a string")]
    BaseStatus,
    /// An event type that stands for no status.
    #[error("unmapped-event-type: {event_type} at sequence {sequence} stands for no status")]
    UnmappedEventType {
        /// The event's sequence.
        sequence: i64,
        /// Its type.
        event_type: &'static str,
    },
    /// A payload whose status is not one of the event type's.
    #[error("event-payload: the payload of {event_type} at sequence {sequence} has no status of that type")]
    EventPayload {
        /// The event's sequence.
        sequence: i64,
        /// Its type.
        event_type: &'static str,
    },
}

impl ProjectionError {
    /// The sequence of the event that is refused; `None` where it is not an event's status that is.
    pub fn sequence(&self) -> Option<i64> {
        match self {
            Self::UnmappedEventType { sequence, .. } | Self::EventPayload { sequence, .. } => Some(*sequence),
            Self::UnknownSnapshotField { .. } | Self::EventChain { .. } | Self::BaseStatus => None,
        }
    }

    /// The rule's name, as shadow evidence records it.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::UnknownSnapshotField { .. } => "unknown-snapshot-field",
            Self::EventChain { .. } => "event-chain",
            Self::BaseStatus => "projection-input",
            Self::UnmappedEventType { .. } => "unmapped-event-type",
            Self::EventPayload { .. } => "event-payload",
        }
    }
}
