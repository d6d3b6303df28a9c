//! The event: what one line of a run's journal may hold, and what makes a whole journal of such lines.
//!
//! Here live the envelope `brigade.run_event.v1` ([`Event`]), the registry of types, keys and statuses, the payloads and
//! idempotency keys that the write path makes, and the rules of a chain. Not here: where lines are stored (the journal
//! room), which events a write appends (the run room), what a checkpoint's body must be (the checkpoint room).
//!
//! Pure: no files, no clock, no SQL. An [`Event`] can't be had without having been checked: both ways to one, a new event
//! and a stored line, go through the same rules and compute the digests themselves.

mod chain;
mod envelope;
mod payload;
mod registry;

pub use chain::{Chain, ChainVerifier, Head, JournalBounds, covered, verify_chain};
pub use envelope::{Event, EventInput, FIELDS, MAX_KEY, MAX_LINE, MAX_STRING, SCHEMA, SCHEMA_VERSION};
pub use payload::{
    CheckpointPayload, MEDIA_TYPE, PRIVACY_CLASS, checkpoint_key, checkpoint_path, checkpoint_payload,
    recurring_key, status_key, status_payload,
};
pub use registry::{
    CHECKPOINT_EVENT_TYPE, CHECKPOINT_KEYS, EVENT_STATUSES, EVENT_TYPES, EventStatus, EventType,
    PRIVATE_KEYS, STATUS_EVENT_TYPES, UNMAPPED_STATUSES, event_type, event_type_of_status,
    is_status_event_type, status_of_event, tells_status,
};
