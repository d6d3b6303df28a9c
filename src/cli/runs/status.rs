//! `legbook runs status` and `legbook runs finish`: the last snapshot with a new status.

use std::ffi::OsStr;

use clap::Args;
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use legbook::json::{self, Value};
use legbook::projection;
use legbook::run::{self, StatusChange};

use super::{RunArgument, WriterArguments, note_kept, report, report_write, resolve, run_of_environment};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};

/// Write the last snapshot with a new status
#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
The words: started, planning, dispatching, result-processing, synthesizing, handoff, ok, failed, canceled, timeout, \
dry-run, incomplete, artifact-collection.

Examples:
  legbook runs status \"$LEGBOOK_RUN\" planning
  legbook runs status r1 dispatching --set 'active_seats=[\"worker-1\"]'"
)]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    run: RunArgument,
    /// The new status; it may be the only argument if LEGBOOK_RUN is set
    status: String,
    /// Set another key of the snapshot; the value is JSON, so a string needs its quotes
    #[arg(long, value_name = "KEY=JSON", value_parser = AssignmentParser)]
    set: Vec<Assignment>,
    #[command(flatten)]
    writer: WriterArguments,
}

/// End the run with a final status and release its lock
#[derive(Debug, Args)]
#[command(after_help = "\
Without STATUS a run that has ended keeps its status, and any other ends `ok`.

Example:
  legbook runs finish \"$LEGBOOK_RUN\" failed")]
pub(crate) struct FinishArguments {
    #[command(flatten)]
    run: RunArgument,
    /// How the run ended; it may be the only argument if LEGBOOK_RUN is set: ok, failed, canceled, timeout, dry-run, incomplete
    status: Option<String>,
    #[command(flatten)]
    writer: WriterArguments,
}

/// The keys of a snapshot that every status is written with, or without.
const OWN_KEYS: [&str; 4] = ["status", "status_started_at", "finished_at", "duration_seconds"];

/// One `KEY=JSON`.
#[derive(Debug, Clone)]
struct Assignment(String, Value);

impl Assignment {
    fn parse(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("there is no '=' in it")?;
        if key.is_empty() {
            return Err("the key is empty".to_owned());
        }
        if OWN_KEYS.contains(&key) {
            return Err(format!("{key} is written with the status, and can't be set"));
        }
        match json::parse(value.as_bytes()) {
            Ok(value) => Ok(Self(key.to_owned(), value)),
            Err(error) => Err(format!("{error}; a string needs its quotes, as in --set 'task=\"new\"'")),
        }
    }
}

/// Parses an [`Assignment`]. clap's own error for a wrong value repeats it, and this one may hold a payload.
#[derive(Debug, Clone)]
struct AssignmentParser;

impl TypedValueParser for AssignmentParser {
    type Value = Assignment;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Assignment, clap::Error> {
        let parsed = value.to_str().ok_or_else(|| "it is not UTF-8".to_owned()).and_then(Assignment::parse);
        parsed.map_err(|rule| {
            let message = format!("invalid value for '--set <KEY=JSON>': {rule}");
            clap::Error::raw(ErrorKind::ValueValidation, message).format(&mut command.clone())
        })
    }
}

pub(super) fn status(context: &Context, arguments: StatusArguments) -> Result<Exit, Failure> {
    let store = context.open_to_write()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let change = StatusChange {
        status: arguments.status,
        failure: None,
        set: arguments.set.into_iter().map(|Assignment(key, value)| (key, value)).collect(),
    };
    let written = run::set_status(&store, &run_id, &change, &arguments.writer.credentials(context)?)?;
    note_unknown_fields(context, change.set.iter().map(|(key, _)| key.as_str()));
    report(context, &store, &written)?;
    Ok(Exit::DONE)
}

/// Tells which keys keep the run from ever being ready.
fn note_unknown_fields<'a>(context: &Context, keys: impl Iterator<Item = &'a str>) {
    for key in keys.filter(|key| !projection::knows_field(key)) {
        let key: String = key.chars().take(80).collect();
        context.render.warn(&format!(
            "the projection does not know the field {key}: `runs readiness` says no for this run from now on, and \
             `runs project` fails while the field is there"
        ));
    }
}

pub(super) fn finish(context: &Context, arguments: FinishArguments) -> Result<Exit, Failure> {
    let store = context.open_to_write()?;
    let (run, status) = match (arguments.run.run, arguments.status) {
        // With LEGBOOK_RUN, a status alone is the status.
        (Some(word), None)
            if run_of_environment().is_some() && run::known_statuses().any(|known| known == word) =>
        {
            (None, Some(word))
        }
        both => both,
    };
    let run_id = resolve(context, &store, run.as_deref())?;
    let change = status.map(|status| StatusChange { status, ..StatusChange::default() });
    let credentials = arguments.writer.credentials(context)?;
    let finished = run::finish(&store, &run_id, change.as_ref(), &credentials)?;
    match finished.written {
        Some(written) => report(context, &store, &written)?,
        // The run had ended before: only its lock was let go.
        None => {
            note_kept(context, &run_id, finished.kept_as.as_deref());
            let last = run::show(&store, &run_id)?.last_snapshot;
            report_write(context, &run_id, None, last.map(|(sha256, _)| sha256), true)?;
        }
    }
    Ok(Exit::DONE)
}
