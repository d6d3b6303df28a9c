//! `legbook runs status` and `legbook runs finish`: the last snapshot with a new status.

use std::str::FromStr;

use clap::Args;
use legbook::json::{self, Value};
use legbook::run::{self, StatusChange};

use super::{RunArgument, WriterArguments, report, report_write};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};

/// Write the last snapshot with a new status
#[derive(Debug, Args)]
#[command(after_help = "\
The words: started, planning, dispatching, result-processing, synthesizing, handoff, ok, failed, canceled, timeout, \
dry-run, incomplete, artifact-collection.

Examples:
  legbook runs status \"$LEGBOOK_RUN\" planning
  legbook runs status r1 dispatching --set 'active_seats=[\"worker-1\"]'")]
pub(crate) struct StatusArguments {
    #[command(flatten)]
    run: RunArgument,
    /// The new status
    status: String,
    /// Set another key of the snapshot; the value is JSON, so a string needs its quotes
    #[arg(long, value_name = "KEY=JSON")]
    set: Vec<Assignment>,
    #[command(flatten)]
    writer: WriterArguments,
}

/// Write a status that ends the run, and let its lock go
#[derive(Debug, Args)]
#[command(after_help = "\
Without STATUS a run that has ended keeps its status, and any other ends `ok`.

Example:
  legbook runs finish \"$LEGBOOK_RUN\" failed")]
pub(crate) struct FinishArguments {
    #[command(flatten)]
    run: RunArgument,
    /// How the run ended: ok, failed, canceled, timeout, dry-run, incomplete
    status: Option<String>,
    #[command(flatten)]
    writer: WriterArguments,
}

/// One `KEY=JSON`.
#[derive(Debug, Clone)]
struct Assignment(String, Value);

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) = text.split_once('=').ok_or("there is no '=' in it")?;
        if key.is_empty() {
            return Err("the key is empty".to_owned());
        }
        let value = json::parse(value.as_bytes()).map_err(|error| error.to_string())?;
        Ok(Self(key.to_owned(), value))
    }
}

pub(super) fn status(context: &Context, arguments: StatusArguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let change = StatusChange {
        status: arguments.status,
        failure: None,
        set: arguments.set.into_iter().map(|Assignment(key, value)| (key, value)).collect(),
    };
    let written = run::set_status(&store, &run_id, &change, &arguments.writer.credentials()?)?;
    report(context, &written)?;
    Ok(Exit::DONE)
}

pub(super) fn finish(context: &Context, arguments: FinishArguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let change = arguments.status.map(|status| StatusChange { status, ..StatusChange::default() });
    let written = run::finish(&store, &run_id, change.as_ref(), &arguments.writer.credentials()?)?;
    match written {
        Some(written) => report(context, &written)?,
        // The run had ended before: only its lock was let go.
        None => {
            let last = run::show(&store, &run_id)?.last_snapshot;
            report_write(context, &run_id, None, last.map(|(sha256, _)| sha256), true)?;
        }
    }
    Ok(Exit::DONE)
}
