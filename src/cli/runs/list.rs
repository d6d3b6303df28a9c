//! `legbook runs list`: the runs of the store, the newest first.

use clap::Args;
use legbook::json::Value;
use legbook::run::{self, Listed, Run};

use super::text;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{moment, object, path_value, table};

/// How many characters of a task a list shows.
const TASK_WIDTH: usize = 60;

/// List the runs, the newest first
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// At most so many
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let Listed { mut runs, invalid_ids, damaged } = match context.open_if_there()? {
        Some(store) => run::list(&store)?,
        None => {
            // Who named a store meant one that is there.
            if context.names_store() {
                context.render.note(&format!("no store at {}", context.location()?.path.display()));
            }
            Listed::default()
        }
    };
    note_invalid_ids(context, invalid_ids);
    let exit = if damaged.is_empty() { Exit::DONE } else { Exit::REFUSED };
    damaged.into_iter().for_each(|error| context.report(&error.into()));
    runs.truncate(arguments.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)));
    let answer = object([("runs", Value::Array(runs.iter().map(run_object).collect()))]);
    let render = context.render;
    if runs.is_empty() && !render.json() {
        if exit == Exit::DONE {
            render.note("no runs");
        }
        return Ok(exit);
    }
    let rows = runs.iter().map(|run| {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            run.run_id.to_string(),
            shown(&run.status),
            moment(run.started_at.as_deref()),
            moment(run.finished_at.as_deref()),
            (if run.journaled { "yes" } else { "no" }).to_owned(),
            shortened(run.task.as_deref().unwrap_or_default()),
        ]
    });
    let text = table(render, &["RUN", "STATUS", "STARTED", "FINISHED", "JOURNAL", "TASK"], rows);
    render.answer(&answer, &text)?;
    Ok(exit)
}

/// Says that runs are left out because of their ids.
pub(super) fn note_invalid_ids(context: &Context, count: usize) {
    if count > 0 {
        context
            .render
            .note(&format!("{count} runs are left out: their ids are not valid; see legbook doctor"));
    }
}

/// A task's beginning: it may be a whole letter.
fn shortened(task: &str) -> String {
    if task.chars().count() <= TASK_WIDTH {
        return task.to_owned();
    }
    task.chars().take(TASK_WIDTH).chain(['…']).collect()
}

/// What the store says of a run without looking into its journal.
pub(super) fn run_object(run: &Run) -> Value {
    object([
        ("run_id", run.run_id.as_str().into()),
        ("status", text(run.status.as_deref())),
        ("task", text(run.task.as_deref())),
        ("run_dir", path_value(run.run_dir.as_deref())),
        ("workspace", path_value(run.workspace.as_deref())),
        ("journaled", run.journaled.into()),
        ("created_at", run.created_at.as_str().into()),
        ("started_at", text(run.started_at.as_deref())),
        ("status_started_at", text(run.status_started_at.as_deref())),
        ("finished_at", text(run.finished_at.as_deref())),
    ])
}
