//! `legbook runs`: a run of many calls, and questions about runs. A file a verb.

mod at;
mod diff;
mod events;
mod export;
mod import;
mod list;
mod lock;
mod project;
mod readiness;
mod recover;
mod show;
mod start;
mod status;
mod watch;
mod write;

use clap::{Args, Subcommand};
use legbook::db::Store;
use legbook::digest::Digest;
use legbook::id::RunId;
use legbook::json::{self, Value};
use legbook::run::{self, Credentials, NearBound, Written};

use super::context::Context;
use super::exit::{Exit, Failure};
use super::render::{nullable, object};
use super::token::TokenArguments;
use super::values::Sequence;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Start(start::Arguments),
    Write(write::Arguments),
    Status(status::StatusArguments),
    Finish(status::FinishArguments),
    List(list::Arguments),
    Show(show::Arguments),
    Watch(watch::Arguments),
    Events(events::Arguments),
    At(at::Arguments),
    Diff(diff::Arguments),
    Project(project::Arguments),
    Readiness(readiness::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
    Recover(recover::Arguments),
    Lock(lock::Arguments),
}

pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Start(arguments) => start::run(context, arguments),
        Command::Write(arguments) => write::run(context, arguments),
        Command::Status(arguments) => status::status(context, arguments),
        Command::Finish(arguments) => status::finish(context, arguments),
        Command::List(arguments) => list::run(context, &arguments),
        Command::Show(arguments) => show::run(context, &arguments),
        Command::Watch(arguments) => watch::run(context, &arguments),
        Command::Events(arguments) => events::run(context, &arguments),
        Command::At(arguments) => at::run(context, &arguments),
        Command::Diff(arguments) => diff::run(context, &arguments),
        Command::Project(arguments) => project::run(context, &arguments),
        Command::Readiness(arguments) => readiness::run(context, &arguments),
        Command::Export(arguments) => export::run(context, &arguments),
        Command::Import(arguments) => import::run(context, &arguments),
        Command::Recover(arguments) => recover::run(context, &arguments),
        Command::Lock(arguments) => lock::run(context, &arguments),
    }
}

/// Which run is meant.
#[derive(Debug, Args)]
struct RunArgument {
    /// A run id, a run directory, or `latest` [default: LEGBOOK_RUN]
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

impl RunArgument {
    /// The run that is meant, in `store`.
    fn resolve(&self, context: &Context, store: &Store) -> Result<RunId, Failure> {
        resolve(context, store, self.run.as_deref())
    }
}

/// The run that `text` names, else LEGBOOK_RUN.
fn resolve(context: &Context, store: &Store, text: Option<&str>) -> Result<RunId, Failure> {
    Ok(run::resolve(store, &run_named(text)?, context.cwd())?)
}

/// The word that names the run: the one that was given, else LEGBOOK_RUN.
fn run_named(text: Option<&str>) -> Result<String, Failure> {
    text.map(str::to_owned).or_else(run_of_environment).ok_or(Failure::NoRun)
}

/// LEGBOOK_RUN; an empty variable counts as none.
fn run_of_environment() -> Option<String> {
    std::env::var("LEGBOOK_RUN").ok().filter(|run| !run.is_empty())
}

/// What a writer shows.
#[derive(Debug, Args)]
struct WriterArguments {
    #[command(flatten)]
    token: TokenArguments,
    /// Who owns the lock from now on, if its owner is dead: the agent's long-lived process [default: the parent]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
}

impl WriterArguments {
    fn credentials(&self, context: &Context) -> Result<Credentials, Failure> {
        let owner_pid = Some(self.pid.unwrap_or_else(std::os::unix::process::parent_id));
        Ok(Credentials { token: self.token.shown(context)?, owner_pid })
    }
}

/// Prints what a write did: one JSON line for people too, since it is scripts that write.
fn report(context: &Context, store: &Store, written: &Written) -> Result<(), Failure> {
    note_kept(context, &written.run_id, written.kept_as.as_deref());
    note_near_bounds(context, store, &written.run_id);
    report_write(context, &written.run_id, written.sequence, Some(written.sha256), written.replayed)
}

/// Notes each bound that the run is near, with the command that raises it. The write is done by now, so a question that
/// fails is no failure of the command.
fn note_near_bounds(context: &Context, store: &Store, run_id: &RunId) {
    for NearBound { key, used, bound } in run::near_bounds(store, run_id).unwrap_or_default() {
        let doubled = bound.saturating_mul(2);
        context.render.note(&format!(
            "note: {run_id} uses {used} of {bound} of {key}; raise it: {} db set {key} {doubled}",
            context.program()
        ));
    }
}

/// Tells people that a run.json was replaced that was never a snapshot of the run, and where it is now. Not even
/// `--quiet` hides it.
pub(super) fn note_kept(context: &Context, run_id: &RunId, kept_as: Option<&str>) {
    if let Some(name) = kept_as {
        context.render.say(&format!(
            "note: run.json of {run_id} was not a snapshot from this store: it was edited, or the store is an older copy; \
             it is kept beside the new one as {name}"
        ));
    }
}

fn report_write(
    context: &Context,
    run_id: &RunId,
    sequence: Option<i64>,
    sha256: Option<Digest>,
    replayed: bool,
) -> Result<(), Failure> {
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("sequence", nullable(sequence)),
        ("sha256", nullable(sha256.map(Digest::to_hex))),
        ("replayed", replayed.into()),
    ]);
    context.render.done(&answer, &json::line(&answer))
}

/// The sequence that is meant, of the journal of `run_id`.
fn sequence(store: &Store, run_id: &RunId, meant: Sequence) -> Result<i64, Failure> {
    match meant {
        Sequence::Number(sequence) => Ok(sequence),
        Sequence::Last => Ok(run::show(store, run_id)?.events),
    }
}

/// A text of the store, or null.
fn text(value: Option<&str>) -> Value {
    nullable(value)
}
