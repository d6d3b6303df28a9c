//! The snapshots that legbook itself makes (contract events.md, The write path, last paragraph). Pure.

use chrono::{DateTime, Utc};

use crate::clock::{parse_time, snapshot_time, to_micros};
use crate::event::{STATUS_EVENT_TYPES, UNMAPPED_STATUSES};
use crate::json::{Object, Text, Value};
use crate::receipt;

/// Why a run failed, for the fields `error`, `failure_phase`, `failure_kind` and `failure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened, in words.
    pub error: String,
    /// What the run was doing: `command` for a supervised child.
    pub phase: String,
    /// `exit`, `signal`, `timeout` or `reported`.
    pub kind: String,
}

/// What the opening snapshot says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Opening<'a> {
    pub(crate) task: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) workspace: &'a str,
    pub(crate) run_dir: &'a str,
    pub(crate) journal: bool,
}

/// A new run's first snapshot, status `started`.
pub(crate) fn opening(opening: &Opening<'_>, now: DateTime<Utc>) -> Object {
    let now = snapshot_time(to_micros(now));
    let members: [(&str, Value); 12] = [
        ("schema", "brigade.run.v1".into()),
        ("schema_version", 1.into()),
        ("task", opening.task.into()),
        ("cwd", opening.cwd.into()),
        ("lock_workspace", opening.workspace.into()),
        ("artifacts", opening.run_dir.into()),
        ("dry_run", false.into()),
        ("read_only", false.into()),
        ("lifecycle_journal_requested", opening.journal.into()),
        ("status", "started".into()),
        ("started_at", now.as_str().into()),
        ("status_started_at", now.as_str().into()),
    ];
    members.into_iter().map(|(key, value)| (Text::from(key), value)).collect()
}

/// The snapshot of a run that is taken up again: `started`, with `resumed_at`, without the fields of its end.
pub(crate) fn resumed(base: &Object, run_dir: &str, now: DateTime<Utc>) -> Object {
    let now = snapshot_time(to_micros(now));
    let mut object = base.clone();
    for key in ["finished_at", "duration_seconds", "error", "failure_phase", "failure_kind", "failure"] {
        object.shift_remove(key.as_bytes());
    }
    set(&mut object, "artifacts", run_dir);
    set(&mut object, "status", "started");
    set(&mut object, "status_started_at", now.as_str());
    set(&mut object, "resumed_at", now.as_str());
    object
}

/// `base` with a new status and what follows from it. `changes` are put in last but never over the status itself.
pub(crate) fn with_status(
    base: &Object,
    status: &str,
    failure: Option<&Failure>,
    changes: &[(String, Value)],
    now: DateTime<Utc>,
) -> Object {
    let moment = to_micros(now);
    let text = snapshot_time(moment);
    let mut object = base.clone();
    let prior = object.get("status".as_bytes()).and_then(Value::as_str).unwrap_or("unknown").to_owned();
    set(&mut object, "status", status);
    set(&mut object, "status_started_at", text.as_str());
    if ends_run(status) {
        set(&mut object, "finished_at", text.as_str());
        if let Some(started) =
            object.get("started_at".as_bytes()).and_then(Value::as_str).and_then(parse_time)
        {
            object.insert(Text::from("duration_seconds"), Value::Double(seconds_between(started, moment)));
        }
        let told = failure.cloned().or_else(|| (status == "failed").then(|| reported(&prior)));
        if let Some(failure) = told {
            put_failure(&mut object, &failure, &prior);
        }
    }
    for (key, value) in changes.iter().filter(|(key, _)| key != "status") {
        object.insert(Text::from(key.as_str()), value.clone());
    }
    object
}

fn reported(prior: &str) -> Failure {
    Failure {
        error: "the run was reported as failed".to_owned(),
        phase: prior.to_owned(),
        kind: "reported".to_owned(),
    }
}

fn put_failure(object: &mut Object, failure: &Failure, prior: &str) {
    set(object, "error", failure.error.as_str());
    set(object, "failure_phase", failure.phase.as_str());
    set(object, "failure_kind", failure.kind.as_str());
    let detail: [(&str, &str); 4] = [
        ("detail", &failure.error),
        ("kind", &failure.kind),
        ("phase", &failure.phase),
        ("prior_status", prior),
    ];
    let detail = detail.into_iter().map(|(key, value)| (Text::from(key), value.into())).collect();
    object.insert(Text::from("failure"), Value::Object(detail));
}

/// Seconds with three decimals; a clock that jumped back gives 0.
fn seconds_between(start: DateTime<Utc>, end: DateTime<Utc>) -> f64 {
    let millis = (end - start).num_milliseconds().max(0);
    millis as f64 / 1_000.0
}

fn set(object: &mut Object, key: &str, value: &str) {
    object.insert(Text::from(key), value.into());
}

/// The status words that `runs status` takes: the ten mapped ones, and the three that no event stands for.
pub fn known_statuses() -> impl Iterator<Item = &'static str> {
    STATUS_EVENT_TYPES.iter().map(|(status, _)| *status).chain(UNMAPPED_STATUSES.iter().copied())
}

/// Whether a run with this status has ended (contract recovery.md, Recovery, 2).
pub fn ends_run(status: &str) -> bool {
    let object: Object = [(Text::from("status"), status.into())].into_iter().collect();
    receipt::is_terminal(&object)
}
