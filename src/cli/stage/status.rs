//! `legbook stage status`: how far the pipeline is. A terminal shows people a table; elsewhere the answer is one line of
//! JSON, as every stage command's.

use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::Args;
use legbook::clock::{self, Clock, SystemClock};
use legbook::json::{self, Value};
use legbook::stage::{self, PipelineName, Run, Saved, StageName};

use super::{answer, stage_names};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Fields, Tone, bytes, nullable, table};

/// Show the pipeline's run: stages, sizes, ages, and what comes next
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  legbook stage status --plan fetch,candidates,verify,working_set")]
pub(crate) struct Arguments {
    /// The pipeline's stages in their order
    #[arg(long, value_name = "STAGES", value_delimiter = ',')]
    plan: Vec<String>,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let plan = stage_names(arguments.plan.iter().map(|stage| stage.trim()))?;
    let run = match context.open_if_there()? {
        Some(store) => stage::status(&store, pipeline)?,
        None => None,
    };
    let next = match &run {
        Some(run) => run.next(&plan),
        None => plan.first(),
    };
    let now = SystemClock.now();
    if context.render.for_people() {
        context.render.text(&text(context, now, pipeline, run.as_ref(), &plan, next))?;
        return Ok(Exit::DONE);
    }
    let saved = |list: fn(&Run) -> &[Saved]| {
        let list = run.as_ref().map(list).unwrap_or_default();
        Value::Array(list.iter().map(|saved| saved_value(now, saved)).collect())
    };
    let run = run.as_ref();
    answer(
        context,
        [
            ("pipeline", pipeline.as_str().into()),
            ("run_date", nullable(run.map(|run| run.run_date.to_string()))),
            ("schema_version", nullable(run.map(|run| run.schema_version))),
            ("begun_at", nullable(run.map(|run| clock::store_time(run.begun_at)))),
            ("completed", saved(|run| &run.completed)),
            ("markers", saved(|run| &run.markers)),
            ("next", nullable(next.map(StageName::as_str))),
        ],
    )
}

fn saved_value(now: DateTime<Utc>, saved: &Saved) -> Value {
    Value::Object(json::object([
        ("stage", saved.name.as_str().into()),
        ("byte_size", Value::from(saved.byte_size.cast_signed())),
        ("sha256", saved.sha256.to_hex().into()),
        ("saved_at", clock::store_time(saved.saved_at).into()),
        ("age_seconds", Value::from(age_in_seconds(now, saved.saved_at).cast_signed())),
    ]))
}

fn text(
    context: &Context,
    now: DateTime<Utc>,
    pipeline: &PipelineName,
    run: Option<&Run>,
    plan: &[StageName],
    next: Option<&StageName>,
) -> String {
    let render = context.render;
    let mut fields = Fields::new(render);
    fields.add("pipeline", pipeline.as_str());
    match run {
        Some(run) => fields.add("run", &format!("of {} (UTC)", run.run_date)),
        None => fields.add("run", "none"),
    };
    match next {
        Some(next) => fields.add_painted("next", next.as_str(), Tone::Doubtful),
        None if !plan.is_empty() => {
            fields.add_painted("next", "nothing: all of the plan is completed", Tone::Good)
        }
        None => &mut fields,
    };
    let row = |state: &str, saved: &Saved| {
        let age = age(now, saved.saved_at);
        vec![saved.name.to_string(), state.to_owned(), bytes(saved.byte_size), age]
    };
    let completed = run.map(|run| run.completed.as_slice()).unwrap_or_default();
    let markers = run.map(|run| run.markers.as_slice()).unwrap_or_default();
    let open = plan.iter().filter(|stage| !completed.iter().any(|saved| saved.name == **stage));
    let rows: Vec<_> = (completed.iter().map(|saved| row("completed", saved)))
        .chain(open.map(|stage| vec![stage.to_string(), "to do".to_owned(), "-".to_owned(), "-".to_owned()]))
        .chain(markers.iter().map(|saved| row("marker", saved)))
        .collect();
    if rows.is_empty() {
        return fields.text();
    }
    format!("{}\n{}", fields.text(), table(render, &["STAGE", "STATE", "SIZE", "SAVED"], rows))
}

/// A moment in the future, as clocks make it, counts as now.
fn age_in_seconds(now: DateTime<Utc>, moment: DateTime<Utc>) -> u64 {
    (now - moment).num_seconds().max(0).unsigned_abs()
}

/// How long ago, not finer than people care for.
fn age(now: DateTime<Utc>, moment: DateTime<Utc>) -> String {
    let seconds = age_in_seconds(now, moment);
    let grain = match seconds {
        0..3_600 => 1,
        3_600..86_400 => 60,
        _ => 3_600,
    };
    let words = humantime::format_duration(Duration::from_secs(seconds / grain * grain));
    format!("{words} ago")
}
