//! `legbook runs list`: the runs of the store, the newest first.

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::Args;
use clap::builder::PossibleValuesParser;
use legbook::clock::{self, Clock, SystemClock};
use legbook::json::{Text, Value};
use legbook::run::{self, Run, State};

use super::text;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{moment, object, path_value, table};

/// How many characters of a task a list shows.
const TASK_WIDTH: usize = 60;
/// For how many stale runs the command that recovers them is printed.
const MOST_ADVICE: usize = 5;

/// List the runs, the newest first
#[derive(Debug, Args)]
#[command(after_help = "\
The state of a run:
running  it has not ended, and the owner of its lock is live
stale    the owner of its lock is dead: legbook runs recover RUN, or go on with its token
unknown  it has not ended, and it has no lock, or the owner of the lock cannot be checked from this machine
ended    its status ends it

Examples:
  legbook runs list --state stale
  legbook runs list --since 2h --task inbox")]
pub(crate) struct Arguments {
    /// Print at most COUNT runs, 1 or more [default: all]
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only runs in this state
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(State::ALL.map(State::word)))]
    state: Option<String>,
    /// Only runs made since then: a duration (90s, 30m, 2h, 7d), a date or a time in UTC
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<DateTime<Utc>>,
    /// Only runs whose task contains TEXT, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
}

/// A moment: so long ago, a day, or an ISO 8601 time.
fn since(text: &str) -> Result<DateTime<Utc>, String> {
    let ago = humantime::parse_duration(text).ok().and_then(|ago| chrono::TimeDelta::from_std(ago).ok());
    let day = || text.parse::<NaiveDate>().ok().map(|day| day.and_time(NaiveTime::MIN).and_utc());
    ago.and_then(|ago| SystemClock.now().checked_sub_signed(ago))
        .or_else(day)
        .or_else(|| clock::parse_time(text))
        .ok_or_else(|| {
            "give a duration like 2h or 7d, a date like 2026-11-30, or an ISO 8601 time".to_owned()
        })
}

impl Arguments {
    fn takes(&self, run: &Run, state: State) -> bool {
        let is_status = |status: &String| run.status.as_deref() == Some(status);
        let is_since =
            |since: &DateTime<Utc>| clock::parse_time(&run.created_at).is_none_or(|made| made >= *since);
        let has_text = |text: &String| {
            run.task.as_deref().unwrap_or_default().to_lowercase().contains(&text.to_lowercase())
        };
        self.status.as_ref().is_none_or(is_status)
            && self.state.as_ref().is_none_or(|word| word == state.word())
            && self.since.as_ref().is_none_or(is_since)
            && self.task.as_ref().is_none_or(has_text)
    }
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let mut runs = match context.open_if_there()? {
        Some(store) => run::list_with_state(&store)?,
        None => {
            // Who named a store meant one that is there.
            if context.names_store() {
                context.render.note(&format!("no store at {}", context.location()?.path.display()));
            }
            Vec::new()
        }
    };
    runs.retain(|(run, state)| arguments.takes(run, *state));
    let limit = arguments.limit.and_then(|limit| usize::try_from(limit).ok());
    runs.truncate(limit.unwrap_or(usize::MAX));
    let listed = |(run, state): &(Run, State)| with_state(run_object(run), *state);
    let answer = object([("runs", Value::Array(runs.iter().map(listed).collect()))]);
    let render = context.render;
    if runs.is_empty() && !render.json() {
        render.note("no runs");
        return Ok(Exit::DONE);
    }
    let rows = runs.iter().map(|(run, state)| {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        vec![
            run.run_id.to_string(),
            state.word().to_owned(),
            shown(&run.status),
            moment(run.started_at.as_deref()),
            moment(run.finished_at.as_deref()),
            (if run.journaled { "yes" } else { "no" }).to_owned(),
            shortened(run.task.as_deref().unwrap_or_default()),
        ]
    });
    let text = table(render, &["RUN", "STATE", "STATUS", "STARTED", "FINISHED", "JOURNAL", "TASK"], rows);
    render.answer(&answer, &text)?;
    advise(context, &runs);
    Ok(Exit::DONE)
}

/// What to do about the runs whose owner is dead.
fn advise(context: &Context, runs: &[(Run, State)]) {
    let stale: Vec<&Run> =
        runs.iter().filter(|(_, state)| *state == State::Stale).map(|(run, _)| run).collect();
    for run in stale.iter().take(MOST_ADVICE) {
        let program = context.program();
        context.render.note(&format!(
            "run {0} is stale: end it with {program} runs recover {0}, or go on with its token",
            run.run_id
        ));
    }
    if let Some(more) = stale.len().checked_sub(MOST_ADVICE).filter(|more| *more > 0) {
        context.render.note(&format!("{more} more runs are stale"));
    }
}

fn with_state(run: Value, state: State) -> Value {
    match run {
        Value::Object(mut members) => {
            members.insert(Text::from("state"), state.word().into());
            Value::Object(members)
        }
        other => other,
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
