//! The closed vocabulary of events: types, payload keys, and how statuses and types stand for each other.
//!
//! Tables only, each said once: the store's reference tables hold the same rows and a test compares them. A payload is
//! flat; a key may be missing and none may be added (contract events.md, Registry).

use crate::json::{Object, Value};

/// An event type and the keys that its payload may have.
#[derive(Debug, PartialEq, Eq)]
pub struct EventType {
    /// The type's name, as `event_type` holds it.
    pub name: &'static str,
    /// The keys that the payload may have.
    pub payload_keys: &'static [&'static str],
}

/// The type of the event that names a checkpoint.
pub const CHECKPOINT_EVENT_TYPE: &str = "run.snapshot.checkpointed";

const DETAIL: &[&str] = &["detail"];
const DISPATCH: &[&str] = &["seat", "attempt", "detail"];
const DECISION: &[&str] = &["approval_id", "decided_at", "decision_state"];
const ENDING: &[&str] = &["status", "detail"];
/// The keys of a checkpoint's payload: all six must be there.
pub const CHECKPOINT_KEYS: &[&str] =
    &["path", "sha256", "media_type", "byte_size", "privacy_class", "paired_event_type"];

/// Every event type.
pub const EVENT_TYPES: &[EventType] = &[
    EventType { name: "run.created", payload_keys: &["status"] },
    EventType { name: "run.planning.started", payload_keys: DETAIL },
    EventType { name: "run.planning.completed", payload_keys: DETAIL },
    EventType { name: "run.planning.failed", payload_keys: DETAIL },
    EventType { name: "run.dispatch.requested", payload_keys: DISPATCH },
    EventType { name: "run.dispatch.observed", payload_keys: DISPATCH },
    EventType { name: "run.dispatch.completed", payload_keys: DISPATCH },
    EventType { name: "run.dispatch.failed", payload_keys: DISPATCH },
    EventType { name: "run.synthesis.started", payload_keys: DETAIL },
    EventType { name: "run.synthesis.completed", payload_keys: DETAIL },
    EventType { name: "run.synthesis.failed", payload_keys: DETAIL },
    EventType { name: "run.paused", payload_keys: &["approval_id", "reason"] },
    EventType { name: "run.resumed", payload_keys: &["approval_id"] },
    EventType {
        name: "approval.requested",
        payload_keys: &["approval_id", "source", "contract_fingerprint"],
    },
    EventType { name: "approval.granted", payload_keys: DECISION },
    EventType { name: "approval.rejected", payload_keys: DECISION },
    EventType { name: "approval.held", payload_keys: DECISION },
    EventType { name: "approval.consumed", payload_keys: &["approval_id", "consuming_run_id"] },
    EventType { name: "run.recovery.started", payload_keys: DETAIL },
    EventType { name: "run.recovery.completed", payload_keys: DETAIL },
    EventType { name: "run.completed", payload_keys: ENDING },
    EventType { name: "run.failed", payload_keys: ENDING },
    EventType { name: "run.interrupted", payload_keys: ENDING },
    EventType { name: CHECKPOINT_EVENT_TYPE, payload_keys: CHECKPOINT_KEYS },
];

/// Payload keys that are refused by name, whatever the type: what they hold is private.
pub const PRIVATE_KEYS: &[&str] = &[
    "prompt",
    "prompt_text",
    "model_output",
    "tool_args",
    "credentials",
    "provider_response",
    "stack_trace",
];

/// Status word and the type of the event that a transition to it appends.
pub const STATUS_EVENT_TYPES: &[(&str, &str)] = &[
    ("started", "run.created"),
    ("planning", "run.planning.started"),
    ("dispatching", "run.dispatch.requested"),
    ("result-processing", "run.dispatch.completed"),
    ("synthesizing", "run.synthesis.started"),
    ("handoff", "run.synthesis.completed"),
    ("ok", "run.completed"),
    ("failed", "run.failed"),
    ("canceled", "run.interrupted"),
    ("timeout", "run.failed"),
];

/// Status words that are written but append no status event. With the mapped ones these are all that a command takes.
pub const UNMAPPED_STATUSES: &[&str] = &["dry-run", "incomplete", "artifact-collection"];

/// One way in which an event tells a status.
#[derive(Debug, PartialEq, Eq)]
pub struct EventStatus {
    /// The event's type.
    pub event_type: &'static str,
    /// The status that it tells.
    pub status: &'static str,
    /// Whether the payload's `status` must be that word; else the type alone tells it.
    pub in_payload: bool,
}

const fn by_type(event_type: &'static str, status: &'static str) -> EventStatus {
    EventStatus { event_type, status, in_payload: false }
}

const fn by_payload(event_type: &'static str, status: &'static str) -> EventStatus {
    EventStatus { event_type, status, in_payload: true }
}

/// Every event that tells a status (contract events.md, Event -> status).
pub const EVENT_STATUSES: &[EventStatus] = &[
    by_type("run.planning.started", "planning"),
    by_type("run.dispatch.requested", "dispatching"),
    by_type("run.dispatch.completed", "result-processing"),
    by_type("run.synthesis.started", "synthesizing"),
    by_type("run.synthesis.completed", "handoff"),
    by_payload("run.created", "started"),
    by_payload("run.completed", "ok"),
    by_payload("run.failed", "failed"),
    by_payload("run.failed", "timeout"),
    by_payload("run.interrupted", "canceled"),
];

/// The registered type of that name.
pub fn event_type(name: &str) -> Option<&'static EventType> {
    EVENT_TYPES.iter().find(|event_type| event_type.name == name)
}

/// The type of the event that a transition to `status` appends; `None` where the status is unmapped.
pub fn event_type_of_status(status: &str) -> Option<&'static str> {
    STATUS_EVENT_TYPES.iter().find(|(word, _)| *word == status).map(|(_, event_type)| *event_type)
}

/// Whether some status maps to this event type: whether a checkpoint may be paired with it.
pub fn is_status_event_type(event_type: &str) -> bool {
    STATUS_EVENT_TYPES.iter().any(|(_, mapped)| *mapped == event_type)
}

/// The status that an event tells; `None` where it tells none (another type, or a payload without a status of the type).
pub fn status_of_event(event_type: &str, payload: &Object) -> Option<&'static str> {
    let said = payload.get("status".as_bytes()).and_then(Value::as_str);
    EVENT_STATUSES
        .iter()
        .find(|row| row.event_type == event_type && (!row.in_payload || said == Some(row.status)))
        .map(|row| row.status)
}

/// Whether events of this type ever tell a status.
pub fn tells_status(event_type: &str) -> bool {
    EVENT_STATUSES.iter().any(|row| row.event_type == event_type)
}
