//! The failure receipt: what run.json becomes when a run's owner is dead.
//!
//! Recovery makes a receipt of the snapshot that it finds, doctor makes it again of the checkpoint and compares. Both use
//! the one pure function here, so that doctor accepts exactly what recovery writes and nothing else.
//!
//! The rule of a stored receipt is `Stored::check`. The write path, recovery and doctor all ask it; the trigger
//! `recoveries_insert` asks as much of it as SQL can. Not here: the lock, the journal, the files (recovery), nor when a
//! receipt is due.

use crate::clock;
use crate::digest::Digest;
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

/// The rule of a receipt that its own bytes can show: `None` if `candidate` is one.
///
/// Which snapshot it was made of is not asked here; that is [`matches_receipt`].
pub fn fault(candidate: &Object) -> Option<&'static str> {
    let said = |key: &str| text(candidate, key).and_then(Text::as_str);
    if said("status") != Some("failed") {
        return Some("its status is not failed");
    }
    if said("failure_phase") != Some(PHASE) {
        return Some("its failure_phase is not stale-lock-recovery");
    }
    let Some(Value::Object(failure)) = candidate.get("failure".as_bytes()) else {
        return Some("it has no failure object");
    };
    let told = |key: &str| text(failure, key).and_then(Text::as_str);
    if told("phase") != Some(PHASE) || told("kind") != Some(KIND) {
        return Some("its failure is not the one of a stale lock");
    }
    if !matches!(failure.get("owner_pid".as_bytes()), Some(Value::Integer(_))) {
        return Some("its failure has no owner_pid");
    }
    if text(failure, "prior_status").is_none() {
        return Some("its failure has no prior_status");
    }
    let recovered_at = told("recovered_at");
    if recovered_at.and_then(clock::parse_time).is_none() {
        return Some("its failure has no valid recovered_at");
    }
    if said("finished_at") != recovered_at || said("status_started_at") != recovered_at {
        return Some("its finished_at and status_started_at are not its recovered_at");
    }
    None
}

/// A receipt as a row of the table `recoveries` has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) sha256: &'a str,
    pub(crate) byte_size: i64,
    pub(crate) recovered_at: &'a str,
    pub(crate) owner_pid: Option<i64>,
    pub(crate) prior_status: Option<&'a str>,
}

impl Stored<'_> {
    /// The receipt; `checkpoint`: the latest checkpoint before it, if the run has one.
    ///
    /// # Errors
    /// The first rule that the row breaks.
    pub(crate) fn check(&self, checkpoint: Option<&Object>) -> Result<Object, &'static str> {
        if Digest::of(self.bytes).to_hex() != self.sha256 {
            return Err("digest-mismatch: its bytes have another SHA-256");
        }
        if usize::try_from(self.byte_size) != Ok(self.bytes.len()) {
            return Err("its byte_size is not the number of its bytes");
        }
        let object = json::parse_object(self.bytes)
            .ok()
            .filter(|object| json::snapshot_bytes(object) == self.bytes)
            .ok_or("encoding-mismatch: it is not a snapshot")?;
        if let Some(fault) = fault(&object) {
            return Err(fault);
        }
        let failure = object.get("failure".as_bytes());
        let told = |key: &str| failure.and_then(|failure| failure.get(key));
        if told("recovered_at").and_then(Value::as_str) != Some(self.recovered_at) {
            return Err("its recovered_at is not the one in its bytes");
        }
        if told("prior_status").and_then(Value::as_str) != self.prior_status {
            return Err("its prior_status is not the one in its bytes");
        }
        if told("owner_pid").and_then(Value::as_i64) != self.owner_pid {
            return Err("its owner_pid is not the one in its bytes");
        }
        if checkpoint.is_some_and(is_terminal) {
            return Err("the checkpoint before it has ended the run");
        }
        Ok(object)
    }
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
