//! The projection: a run's snapshot as its journal tells it.
//!
//! A pure function of a base snapshot, verified events and whether there is a journal. It derives five fields and
//! preserves the rest; a field that it does not know is refused rather than carried along unseen (contract events.md,
//! Projection). Shadow comparison and `runs project` use it; nothing is ever written to run.json from here. What a
//! journal tells is a fold over its events, so that it can be taken up where it was left.

use crate::error::{ProjectionError, field_name};
use crate::event::{self, Event, Head};
use crate::json::{Object, Text, Value};

/// The version of these rules. Evidence of another version is stale.
pub const PROJECTOR_VERSION: i64 = 2;

/// The fields that the projection sets.
pub const DERIVED_FIELDS: &[&str] =
    &["status", "projector_version", "journal_present", "journal_last_sequence", "journal_last_event_digest"];

/// The fields that it takes over from the base.
pub const PRESERVED_FIELDS: &[&str] = &[
    "schema",
    "schema_version",
    "task",
    "orchestrator",
    "roster",
    "worker",
    "scheduler",
    "dry_run",
    "read_only",
    "cwd",
    "lock_workspace",
    "codex_transport",
    "lifecycle_journal_requested",
    "started_at",
    "status_started_at",
    "finished_at",
    "duration_seconds",
    "resumed_at",
    "recovery_history",
    "recovery_preserved_artifact",
    "code_graph_brief",
    "drift_impact_brief",
    "evidence_brief",
    "brief_budget",
    "route",
    "skill_route_policy",
    "pre_run_snapshot",
    "git",
    "code_graph_delta",
    "context_eval",
    "suspected_noop",
    "control_transport",
    "control_socket",
    "active_stage",
    "active_seats",
    "phase_owner",
    "error",
    "failure_phase",
    "failure_kind",
    "failure",
    "transport_warning",
    "artifact_collection",
    "artifacts",
    "handoff",
];

/// The snapshot that `events`, a whole journal from sequence 1 on, make of `base`.
///
/// The status is that of the last event that tells one, the base's where none does. Checkpoints tell none and count as
/// events all the same. Cost: linear in the events and the base.
///
/// # Errors
/// In this order: [`ProjectionError::UnknownSnapshotField`], [`ProjectionError::EventChain`],
/// [`ProjectionError::BaseStatus`], then of the first event in question [`ProjectionError::UnmappedEventType`] or
/// [`ProjectionError::EventPayload`].
pub fn project<'a>(
    base: &Object,
    events: impl IntoIterator<Item = &'a Event>,
    journal_present: bool,
) -> Result<Object, ProjectionError> {
    check_fields(base)?;
    let mut told = Told::default();
    for event in events {
        told.push(event)?;
    }
    told.onto(base, journal_present)
}

/// What a journal tells, taken event by event: all of the projection that does not depend on the base.
///
/// [`project`] is nothing but this over a whole journal. So whoever keeps a `Told` (its head and its status) and goes on
/// from it with the events that have come since has what [`project`] gives for the whole journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    run_id: Option<String>,
    head: Option<Head>,
    status: Result<Option<&'static str>, ProjectionError>,
}

impl Default for Told {
    /// An empty journal.
    fn default() -> Self {
        Self { run_id: None, head: None, status: Ok(None) }
    }
}

impl Told {
    /// What a journal of `run_id` up to `head` told before: [`Told::head`] and [`Told::status`] of then.
    pub fn resumed(run_id: &str, head: Head, status: Result<Option<&'static str>, ProjectionError>) -> Self {
        Self { run_id: Some(run_id.to_owned()), head: Some(head), status }
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// [`ProjectionError::EventChain`] for one that does not follow; nothing is taken then.
    pub fn push(&mut self, event: &Event) -> Result<(), ProjectionError> {
        let place = self.head.map_or(1, |head| head.sequence + 1);
        let follows = event.sequence() == place
            && event.previous_digest() == self.head.map(|head| head.digest)
            && *self.run_id.get_or_insert_with(|| event.run_id().to_owned()) == event.run_id();
        if !follows {
            return Err(ProjectionError::EventChain { place });
        }
        self.head = Some(Head { sequence: place, digest: event.event_digest() });
        // Every fault of the chain comes before any fault of a status, so the first of the latter is kept for the end.
        if self.status.is_ok() && !event.is_checkpoint() {
            self.status = told_status(event).map(Some);
        }
        Ok(())
    }

    /// The last event taken; `None` before the first.
    pub fn head(&self) -> Option<Head> {
        self.head
    }

    /// The status that the last event tells that tells one; `None` where none does.
    ///
    /// # Errors
    /// Of the first event that the projection refuses [`ProjectionError::UnmappedEventType`] or
    /// [`ProjectionError::EventPayload`].
    pub fn status(&self) -> Result<Option<&'static str>, ProjectionError> {
        self.status.clone()
    }

    /// Whether [`Told::onto`] leaves the status of `base` as it is, so that nothing but the stamp is new. Nothing is copied.
    ///
    /// # Errors
    /// As [`Told::onto`].
    pub(crate) fn keeps_status_of(&self, base: &Object) -> Result<bool, ProjectionError> {
        let own = Self::check_base(base)?;
        Ok(self.status()?.is_none_or(|told| own.as_str() == Some(told)))
    }

    /// Refuses a base that cannot be projected onto; gives its status.
    fn check_base(base: &Object) -> Result<&Text, ProjectionError> {
        check_fields(base)?;
        base.get("status".as_bytes()).and_then(Value::as_text).ok_or(ProjectionError::BaseStatus)
    }

    /// The snapshot that the events taken make of `base`.
    ///
    /// # Errors
    /// As [`project`], except [`ProjectionError::EventChain`].
    pub fn onto(&self, base: &Object, journal_present: bool) -> Result<Object, ProjectionError> {
        Self::check_base(base)?;
        let mut snapshot = base.clone();
        if let Some(status) = self.status()? {
            snapshot.insert("status".into(), status.into());
        }
        stamp(&mut snapshot, self.head, journal_present);
        Ok(snapshot)
    }
}

/// Whether the projection knows a field of a snapshot. It refuses a snapshot with any other.
pub fn knows_field(field: &str) -> bool {
    is_known(field.as_bytes())
}

fn is_known(field: &[u8]) -> bool {
    DERIVED_FIELDS.iter().chain(PRESERVED_FIELDS).any(|known| known.as_bytes() == field)
}

fn check_fields(base: &Object) -> Result<(), ProjectionError> {
    match base.keys().find(|key| !is_known(key.as_bytes())) {
        None => Ok(()),
        Some(key) => Err(ProjectionError::UnknownSnapshotField { field: field_name(key) }),
    }
}

/// Sets the four derived fields that tell of the journal (all but the status), as shadow comparison does with what was
/// written. Without a head the sequence is 0 and the digest null.
pub fn stamp(snapshot: &mut Object, head: Option<Head>, journal_present: bool) {
    let digest = head.map_or(Value::Null, |head| head.digest.to_hex().into());
    let fields: [(&str, Value); 4] = [
        ("projector_version", PROJECTOR_VERSION.into()),
        ("journal_present", journal_present.into()),
        ("journal_last_sequence", head.map_or(0, |head| head.sequence).into()),
        ("journal_last_event_digest", digest),
    ];
    for (field, value) in fields {
        snapshot.insert(field.into(), value);
    }
}

/// The status that an event tells which is no checkpoint.
///
/// # Errors
/// [`ProjectionError::UnmappedEventType`], [`ProjectionError::EventPayload`].
pub(crate) fn told_status(event: &Event) -> Result<&'static str, ProjectionError> {
    let (sequence, event_type) = (event.sequence(), event.event_type());
    event.status().ok_or(if event::tells_status(event_type) {
        ProjectionError::EventPayload { sequence, event_type }
    } else {
        ProjectionError::UnmappedEventType { sequence, event_type }
    })
}
