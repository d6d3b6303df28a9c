//! The failure receipt: what run.json becomes when a run's owner is dead.
//!
//! Recovery makes a receipt of the snapshot that it finds, doctor makes it again of the checkpoint and compares. Both use
//! the one pure function here, so that doctor accepts exactly what recovery writes and nothing else. Not here: the lock,
//! the journal, the files (recovery), nor when a receipt is due.

use crate::clock;
use crate::json::{self, Integer, Object, Text, Value};

/// What `schema` of a run's snapshot holds.
pub const RUN_SCHEMA: &str = "brigade.run.v1";
/// What `schema_version` of a run's snapshot holds.
pub const RUN_SCHEMA_VERSION: i64 = 1;

/// The statuses of a run that goes on. Any other non-empty status word is terminal (contract recovery.md, Recovery).
pub const ACTIVE_STATUSES: &[&str] = &[
    "started",
    "planning",
    "dispatching",
    "result-processing",
    "synthesizing",
    "handoff",
    "artifact-collection",
    "running",
];

const PHASE: &str = "stale-lock-recovery";
const KIND: &str = "owner-process-exited";
/// The prior status of a snapshot that has no status word.
const NO_STATUS: &str = "artifact-unavailable";

/// What the lock says of an owner that is dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadOwner {
    /// Its process id, as the lock has it.
    pub pid: Integer,
    /// The workspace that it had locked.
    pub workspace: Option<Text>,
    /// When it took the lock: ISO 8601.
    pub acquired_at: Option<Text>,
}

/// Whether the run has ended: a true-ish `finished_at`, or a non-empty status word outside [`ACTIVE_STATUSES`].
pub fn is_terminal(snapshot: &Object) -> bool {
    snapshot.get("finished_at".as_bytes()).is_some_and(Value::is_truthy)
        || status_word(snapshot)
            .is_some_and(|word| !ACTIVE_STATUSES.iter().any(|active| active.as_bytes() == word.as_bytes()))
}

/// The snapshot's status, where it is a non-empty string.
fn status_word(snapshot: &Object) -> Option<&Text> {
    non_empty_text(snapshot, "status")
}

/// The snapshot from which a receipt is made where run.json is missing or can't be read as an object.
///
/// `run_dir` is the run directory. `preserved` is the absolute path that an unparseable run.json was renamed to, kept as
/// `recovery_preserved_artifact` (contract recovery.md, Recovery, step 6).
pub fn unavailable_snapshot(run_dir: &str, preserved: Option<&str>) -> Object {
    let mut snapshot = Object::default();
    set(&mut snapshot, "schema", RUN_SCHEMA);
    set(&mut snapshot, "artifacts", run_dir);
    if let Some(name) = preserved {
        set(&mut snapshot, "recovery_preserved_artifact", name);
    }
    snapshot
}

/// The receipt of `snapshot`, whose owner is dead; `None` where the snapshot is terminal already.
///
/// `recovered_at` is the moment of recovery as [`clock::offset_time`] gives it. Where the run has a journal
/// (`journaled`), the failure also keeps what the lock said, so that [`matches_receipt`] can do without the lock.
/// Everything that is not named in contract recovery.md, The receipt, stays as it is in the snapshot.
pub fn receipt(snapshot: &Object, owner: &DeadOwner, recovered_at: &str, journaled: bool) -> Option<Object> {
    if is_terminal(snapshot) {
        return None;
    }
    let detail = format!("run owner process {} is no longer active", owner.pid.as_str());
    let mut failure = Object::default();
    set(&mut failure, "phase", PHASE);
    set(&mut failure, "kind", KIND);
    set(&mut failure, "detail", detail.as_str());
    set(&mut failure, "owner_pid", Value::Integer(owner.pid.clone()));
    set(&mut failure, "recovered_at", recovered_at);
    let prior_status = status_word(snapshot).cloned().unwrap_or_else(|| NO_STATUS.into());
    set(&mut failure, "prior_status", Value::String(prior_status));
    if let Some((key, seat)) = attribution(snapshot) {
        set(&mut failure, key, seat);
    }

    let mut receipt = snapshot.clone();
    if let Some(workspace) = &owner.workspace {
        set_default(&mut receipt, "cwd", Value::String(workspace.clone()));
        set_default(&mut receipt, "lock_workspace", Value::String(workspace.clone()));
        if journaled {
            set(&mut failure, "lock_workspace", Value::String(workspace.clone()));
        }
    }
    if let Some(acquired_at) = &owner.acquired_at {
        set_default(&mut receipt, "started_at", Value::String(acquired_at.clone()));
        if journaled {
            set(&mut failure, "lock_acquired_at", Value::String(acquired_at.clone()));
        }
    }
    set_default(&mut receipt, "schema", RUN_SCHEMA.into());
    set_default(&mut receipt, "schema_version", RUN_SCHEMA_VERSION.into());
    set(&mut receipt, "status", "failed");
    set(&mut receipt, "status_started_at", recovered_at);
    set(&mut receipt, "finished_at", recovered_at);
    set(&mut receipt, "error", detail);
    set(&mut receipt, "failure_phase", PHASE);
    set(&mut receipt, "failure", Value::Object(failure));
    Some(receipt)
}

/// Whether `candidate` is exactly the receipt that recovery makes of `checkpoint`, a journaled run's last checkpoint.
///
/// The owner and the moment come from the candidate's own failure object, everything else from the checkpoint: a
/// receipt of other contents, or of a terminal checkpoint, matches none (contract recovery.md, Doctor). Compared are the
/// snapshot bytes of both, so `1` is not `1.0`, and a `NaN` is itself.
pub fn matches_receipt(checkpoint: &Object, candidate: &Object) -> bool {
    let Some(Value::Object(failure)) = candidate.get("failure".as_bytes()) else { return false };
    let Some(Value::Integer(pid)) = failure.get("owner_pid".as_bytes()) else { return false };
    let Some(recovered_at) = failure.get("recovered_at".as_bytes()).and_then(Value::as_str) else {
        return false;
    };
    if clock::parse_time(recovered_at).is_none() {
        return false;
    }
    let owner = DeadOwner {
        pid: pid.clone(),
        workspace: text(failure, "lock_workspace").cloned(),
        acquired_at: text(failure, "lock_acquired_at").cloned(),
    };
    receipt(checkpoint, &owner, recovered_at, true)
        .is_some_and(|expected| json::snapshot_bytes(&expected) == json::snapshot_bytes(candidate))
}

/// Who had the run when its owner died: a dispatching run's active seats, else the first of phase owner, worker and
/// orchestrator. Only non-empty strings name a seat.
fn attribution(snapshot: &Object) -> Option<(&'static str, Value)> {
    let dispatching = status_word(snapshot).is_some_and(|word| word.as_bytes() == b"dispatching");
    if let (true, Some(Value::Array(seats))) = (dispatching, snapshot.get("active_seats".as_bytes())) {
        let mut named: Vec<Value> = seats.iter().filter(|seat| is_non_empty_text(seat)).cloned().collect();
        match named.len() {
            0 => {}
            1 => return named.pop().map(|seat| ("seat", seat)),
            _ => return Some(("seats", Value::Array(named))),
        }
    }
    ["phase_owner", "worker", "orchestrator"]
        .into_iter()
        .find_map(|key| non_empty_text(snapshot, key))
        .map(|seat| ("seat", Value::String(seat.clone())))
}

fn is_non_empty_text(value: &Value) -> bool {
    matches!(value, Value::String(_)) && value.is_truthy()
}

fn text<'a>(object: &'a Object, key: &str) -> Option<&'a Text> {
    match object.get(key.as_bytes()) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn non_empty_text<'a>(object: &'a Object, key: &str) -> Option<&'a Text> {
    text(object, key).filter(|text| !text.as_bytes().is_empty())
}

fn set(object: &mut Object, key: &str, value: impl Into<Value>) {
    object.insert(key.into(), value.into());
}

/// Sets `key` where it is absent; one that holds null is there.
fn set_default(object: &mut Object, key: &str, value: Value) {
    object.entry(key.into()).or_insert(value);
}
