//! `legbook runs show`: one run, its journal's measure and its lock.

use clap::Args;
use legbook::id::RunId;
use legbook::json::{self, Object, Text, Value};
use legbook::lock::{self, LockState};
use legbook::run::{self, Details, RunJson};

use super::RunArgument;
use super::list::run_object;
use super::lock::stale_lock_advice;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Fields, Tone, bytes, moment, nullable};

/// Show one run: status, times, journal, run.json, lock
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0; 1 where the run has ended neither ok nor dry-run; 2 where it can't be shown.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let details = run::show(&store, &run_id)?;
    let lock = lock::state(&store, details.run.workspace.as_deref(), &run_id)?;
    context.render.answer(&answer(&details, &lock), &page(context, &details, &lock))?;
    if let Some(advice) = advice(&details, &lock, context.program()) {
        context.render.note(&advice);
    }
    Ok(exit(&details))
}

/// The exit code that tells how the run stands.
pub(super) fn exit(details: &Details) -> Exit {
    if ended_badly(details) { Exit::FAILED } else { Exit::DONE }
}

/// The command that ends the run of a dead owner; `None` where the lock is not stale.
pub(super) fn recover_command(context: &Context, run_id: &RunId, lock: &LockState) -> Option<String> {
    matches!(lock, LockState::Stale { .. }).then(|| format!("{} runs recover {run_id}", context.program()))
}

/// What there is to do about the run, where there is something.
fn advice(details: &Details, lock: &LockState, program: &str) -> Option<String> {
    let run_id = &details.run.run_id;
    if let Some(directory) = &details.moved_to {
        let directory = directory.display().to_string();
        let directory = shlex::try_quote(&directory).unwrap_or_else(|_| "DIR".into());
        return Some(format!(
            "the run directory is gone, and {directory} may be it; tell the store: \
             {program} runs recover {run_id} --run-dir {directory}"
        ));
    }
    match lock {
        LockState::Stale { .. } | LockState::Foreign { .. } => stale_lock_advice(lock, run_id, program),
        LockState::Live { lock, .. } if has_ended(details) && lock.run_id == *run_id => {
            Some(format!("ended, lock still held: {program} runs finish {run_id}"))
        }
        LockState::Absent if details.run_json_current == Some(false) => {
            Some(format!("put run.json back with: {program} runs export {run_id}"))
        }
        _ => None,
    }
}

fn answer(details: &Details, lock: &LockState) -> Value {
    let mut members = match run_object(&details.run) {
        Value::Object(members) => members,
        _ => Object::default(),
    };
    let snapshot = details.last_snapshot;
    let more: [(&str, Value); 10] = [
        ("events", details.events.into()),
        ("journal_bytes", i64::try_from(details.journal_bytes).unwrap_or(i64::MAX).into()),
        ("last_digest", nullable(details.last_digest.map(|digest| digest.to_hex()))),
        ("snapshot_sha256", nullable(snapshot.map(|(digest, _)| digest.to_hex()))),
        ("snapshot_is_receipt", nullable(snapshot.map(|(_, is_receipt)| is_receipt))),
        ("run_json_state", nullable(details.run_json.map(RunJson::word))),
        ("run_json_current", nullable(details.run_json_current)),
        ("lock_state", lock.word().into()),
        ("lock_why", nullable(lock.why())),
        ("snapshot", details.snapshot.clone().map_or(Value::Null, Value::Object)),
    ];
    members.extend(more.map(|(key, value)| (Text::from(key), value)));
    Value::Object(members)
}

fn page(context: &Context, details: &Details, lock: &LockState) -> String {
    let run = &details.run;
    let path =
        |path: Option<&std::path::Path>| path.map_or("-".to_owned(), |path| path.display().to_string());
    let journal = if run.journaled {
        format!("{} events, {}", details.events, bytes(details.journal_bytes))
    } else {
        "none".to_owned()
    };
    let run_json = match details.run_json {
        Some(RunJson::Last) => "is the store's last snapshot",
        Some(RunJson::Missing) => "is missing",
        Some(RunJson::Unparseable) => "is not the store's last snapshot: it is no JSON object",
        Some(RunJson::Older) => "is not the store's last snapshot: it is an older one of this run",
        Some(RunJson::Other) => "is not the store's last snapshot: it is one that the store does not know",
        None if run.journaled => "is kept as it was imported; the run has no run directory yet",
        None => "has no journal to be compared with",
    };
    let holder = lock.lock().map(|lock| &lock.run_id).filter(|holder| **holder != run.run_id);
    let of_run = holder.map(|holder| format!(", held by run {holder}")).unwrap_or_default();
    let lock = match lock.why() {
        Some(why) => format!("{}{of_run}: {why}", lock.word()),
        None => lock.word().to_owned(),
    };
    let tone = if ended_badly(details) { Tone::Bad } else { Tone::Good };
    let mut fields = Fields::new(context.render);
    fields
        .add("run", run.run_id.as_str())
        .add_painted("status", run.status.as_deref().unwrap_or("-"), tone)
        .add("task", run.task.as_deref().unwrap_or("-"))
        .add("started", &moment(run.started_at.as_deref()))
        .add("finished", &finished(details));
    if let Some(error) = member(details, "error").and_then(Value::as_str) {
        fields.add("error", error);
    }
    fields
        .add("journal", &journal)
        .add("run.json", run_json)
        .add("lock", &lock)
        .add("run dir", &path(run.run_dir.as_deref()))
        .add("workspace", &path(run.workspace.as_deref()));
    fields.text()
}

/// When the run ended, and how long it took.
fn finished(details: &Details) -> String {
    let moment = moment(details.run.finished_at.as_deref());
    match member(details, "duration_seconds") {
        Some(seconds @ (Value::Double(_) | Value::Integer(_))) => {
            format!("{moment}, after {} s", json::line(seconds))
        }
        _ => moment,
    }
}

/// A member of the last snapshot.
fn member<'a>(details: &'a Details, key: &str) -> Option<&'a Value> {
    details.snapshot.as_ref()?.get(key.as_bytes())
}

/// Whether the run has ended.
pub(super) fn has_ended(details: &Details) -> bool {
    details.snapshot.as_ref().is_some_and(legbook::receipt::is_terminal)
}

/// Whether the run has ended, and neither ok nor dry-run.
fn ended_badly(details: &Details) -> bool {
    let status = member(details, "status").and_then(Value::as_str);
    has_ended(details) && !matches!(status, Some("ok" | "dry-run"))
}
