//! `legbook runs lock`: what a run's lock looks like from outside.

use clap::Args;
use legbook::clock::store_time;
use legbook::id::RunId;
use legbook::json::Value;
use legbook::lock::{self, Lock, LockState};
use legbook::process::Identity;
use legbook::run;

use super::RunArgument;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Fields, Render, moment, nullable, object};

/// Show the state of a run's lock: absent, live, stale, foreign or invalid
#[derive(Debug, Args)]
#[command(after_help = "\
absent   the run holds no lock, and its workspace is not locked
live     the owner lives, or cannot be judged from here: see `why`
stale    this run's owner is dead: legbook runs recover RUN
foreign  the dead owner of another run has the workspace's lock
invalid  the owner can't be read")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let workspace = run::get(&store, &run_id)?.workspace;
    let state = lock::state(&store, workspace.as_deref(), &run_id)?;
    let lock = state.lock();
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("state", state.word().into()),
        ("why", nullable(state.why())),
        ("judged", state.is_judged().map_or(Value::Null, Value::from)),
        ("holder", nullable(lock.map(|lock| lock.run_id.as_str()))),
        ("workspace", nullable(lock.map(|lock| lock.workspace.display().to_string()))),
        ("acquired_at", nullable(lock.map(|lock| lock.acquired_at.as_str()))),
        ("last_write_at", nullable(lock.map(|lock| store_time(lock.last_write_at)))),
        ("lease_ends_at", nullable(lock.and_then(Lock::lease_end).map(store_time))),
        ("owner", nullable(lock.map(|lock| identity(&lock.owner)))),
        (
            "claimed_at",
            nullable(lock.and_then(|lock| lock.claim.as_ref()).map(|claim| claim.claimed_at.as_str())),
        ),
        (
            "claimer",
            nullable(lock.and_then(|lock| lock.claim.as_ref()).map(|claim| identity(&claim.identity))),
        ),
    ]);
    context.render.answer(&answer, &page(context.render, &state))?;
    if let Some(advice) = stale_lock_advice(&state, &run_id, context.program()) {
        context.render.note(&advice);
    }
    Ok(Exit::DONE)
}

/// What there is to do about a lock whose owner is dead.
pub(super) fn stale_lock_advice(state: &LockState, run_id: &RunId, program: &str) -> Option<String> {
    match state {
        LockState::Stale { .. } => Some(format!(
            "a leg that still has the token can just write on; a command that the dead owner had started (legbook run) \
             may still run; end the run with: {program} runs recover {run_id}"
        )),
        LockState::Foreign { lock, .. } => Some(format!(
            "the workspace's lock is that of run {0}, whose owner is dead: {program} runs recover {0}",
            lock.run_id
        )),
        LockState::Absent | LockState::Live { .. } | LockState::Invalid { .. } => None,
    }
}

fn identity(identity: &Identity) -> Value {
    let text = |value: &Option<String>| nullable(value.as_deref());
    object([
        ("pid", i64::from(identity.pid).into()),
        ("start_time", text(&identity.start_time)),
        ("boot_id", text(&identity.boot_id)),
        ("machine_id", text(&identity.machine_id)),
        ("host_name", text(&identity.host_name)),
        ("pid_namespace", text(&identity.pid_namespace)),
    ])
}

fn page(render: Render, state: &LockState) -> String {
    let mut fields = Fields::new(render);
    fields.add("state", state.word());
    if let Some(why) = state.why() {
        fields.add("why", why);
    }
    if let Some(lock) = state.lock() {
        fields
            .add("run", lock.run_id.as_str())
            .add("workspace", &lock.workspace.display().to_string())
            .add("owner", &process(&lock.owner))
            .add("taken", &moment(Some(&lock.acquired_at)))
            .add("last write", &moment(Some(&store_time(lock.last_write_at))));
        if let Some(end) = lock.lease_end() {
            fields.add("lease ends", &moment(Some(&store_time(end))));
        }
        if let Some(claim) = &lock.claim {
            fields.add("claimed by", &process(&claim.identity));
        }
    }
    fields.text()
}

fn process(identity: &Identity) -> String {
    format!("pid {} on {}", identity.pid, identity.host_name.as_deref().unwrap_or("an unnamed host"))
}
