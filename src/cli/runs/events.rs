//! `legbook runs events`: a run's journal, at once or as it grows.

use std::time::Duration;

use clap::Args;
use legbook::db::Store;
use legbook::event::Event;
use legbook::id::RunId;
use legbook::json::{self, Value};
use legbook::run::{self, Details};

use super::RunArgument;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{bytes, moment, object, printable};

/// How often a followed run is looked at.
const POLL: Duration = Duration::from_millis(200);
/// How many events are read at once.
const BATCH: usize = 1_000;

/// Print a run's events in order
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  legbook runs events latest
  legbook runs events r1 --follow --json | jq -r .event_type

A recovery appends no event: where the run's last snapshot is its receipt, a last line says so (not with --json).")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
    /// Only events after this sequence
    #[arg(long, value_name = "SEQ", default_value_t = 0, hide_default_value = true)]
    after: i64,
    /// Go on printing as events come, until the run has ended; with --json one object a line
    #[arg(short, long)]
    follow: bool,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    if arguments.follow {
        follow(context, &store, &run_id, arguments.after)?;
        return Ok(Exit::DONE);
    }
    let mut events = Vec::new();
    loop {
        let after = events.last().map_or(arguments.after, Event::sequence);
        let batch = run::events(&store, &run_id, after, BATCH)?;
        if batch.is_empty() {
            break;
        }
        events.extend(batch);
    }
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("events", Value::Array(events.iter().map(envelope).collect())),
    ]);
    let last = recovery_line(&store, &run_id)?;
    let text: String = heading(context).into_iter().chain(events.iter().map(line)).chain(last).collect();
    context.render.answer(&answer, if events.is_empty() { "" } else { &text })?;
    note_no_journal(context, &store, &run_id)?;
    Ok(Exit::DONE)
}

/// What tells people that the run's last snapshot is a recovery's receipt, of which the journal has no event.
fn recovery_line(store: &Store, run_id: &RunId) -> Result<Option<String>, Failure> {
    let Details { run, last_snapshot, .. } = run::show(store, run_id)?;
    Ok(matches!(last_snapshot, Some((_, true))).then(|| {
        let status = run.status.unwrap_or_default();
        row("-", &moment(run.finished_at.as_deref()), "(recovery, no event)", &status)
    }))
}

fn note_no_journal(context: &Context, store: &Store, run_id: &RunId) -> Result<(), Failure> {
    if !run::get(store, run_id)?.journaled {
        context.render.note(&format!("run {run_id} has no journal"));
    }
    Ok(())
}

fn follow(context: &Context, store: &Store, run_id: &RunId, mut after: i64) -> Result<(), Failure> {
    let render = context.render;
    if !render.json() && !render.stream(heading(context).unwrap_or_default().as_bytes())? {
        return Ok(());
    }
    loop {
        // Asked before the events: what a run writes last is then among them.
        let ended = run::has_ended(store, run_id)?;
        let batch = run::events(store, run_id, after, BATCH)?;
        for event in &batch {
            let text = if render.json() { json::line(&envelope(event)) + "\n" } else { line(event) };
            if !render.stream(text.as_bytes())? {
                return Ok(());
            }
            after = event.sequence();
        }
        match (batch.is_empty(), ended) {
            (true, true) => {
                if !render.json() {
                    let last = recovery_line(store, run_id)?.unwrap_or_default();
                    render.stream(last.as_bytes())?;
                }
                return note_no_journal(context, store, run_id);
            }
            (true, false) => store.clock().sleep(POLL),
            (false, _) => {}
        }
    }
}

/// The envelope as it is journaled: twelve keys.
fn envelope(event: &Event) -> Value {
    json::parse(event.line().as_bytes()).unwrap_or(Value::Null)
}

fn heading(context: &Context) -> Option<String> {
    (!context.render.quiet()).then(|| format!("{:>6}  {:<23}  {:<24}  DETAIL\n", "SEQ", "RECORDED", "EVENT"))
}

fn line(event: &Event) -> String {
    let time = moment(Some(event.recorded_at()));
    let detail = detail(event);
    row(&event.sequence().to_string(), &time, event.event_type(), &detail)
}

fn row(sequence: &str, time: &str, what: &str, detail: &str) -> String {
    printable(&format!("{sequence:>6}  {time:<23}  {what:<24}  {detail}")).into_owned() + "\n"
}

/// The payload in a few words.
fn detail(event: &Event) -> String {
    let payload = event.payload();
    let text = |key: &str| payload.get(key.as_bytes()).and_then(Value::as_str);
    if event.is_checkpoint() {
        let size = payload.get("byte_size".as_bytes()).and_then(Value::as_i64).unwrap_or_default();
        let sha256: String = text("sha256").unwrap_or_default().chars().take(12).collect();
        return format!("{sha256}…  {}", bytes(u64::try_from(size).unwrap_or_default()));
    }
    match (text("status"), text("detail")) {
        (Some(word), None) | (None, Some(word)) if payload.len() == 1 => return word.to_owned(),
        (Some(status), Some(detail)) if status == detail => return status.to_owned(),
        _ => {}
    }
    json::line(&Value::Object(payload.clone()))
}
