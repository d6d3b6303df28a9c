//! `legbook handoff queue`: the topics that surfaced, and which of them were covered.

use clap::{Args, Subcommand};
use legbook::handoff::{Topic, cover, topics};
use legbook::json::Value;

use super::Place;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{nullable, object, table};

/// List the topics that finalized reports surfaced, or mark one as covered
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Mark a topic as covered; it stays so
    Cover {
        /// The topic's name, in any case and punctuation
        name: String,
    },
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    place.leg(false, || {
        match &arguments.command {
            None => list(place)?,
            Some(Command::Cover { name }) => {
                let topic = cover(&place.open()?, name)?;
                let text = format!("{}: {}", topic.name, topic.state());
                place.context.render.done(&as_object(&topic), &text)?;
            }
        }
        Ok(Exit::DONE)
    })
}

fn list(place: &Place<'_>) -> Result<(), Failure> {
    let topics = place.open_if_there()?.map(|store| topics(&store)).transpose()?.unwrap_or_default();
    let rows = topics.iter().map(|topic| {
        vec![
            topic.name.clone(),
            topic.state().to_owned(),
            topic.surface_count.to_string(),
            topic.last_surfaced.clone().unwrap_or_default(),
            topic.domain.clone(),
        ]
    });
    let render = place.context.render;
    if topics.is_empty() && !render.json() {
        render.note("no topics: no finalized report has surfaced one");
        return Ok(());
    }
    let text = table(render, &["TOPIC", "STATE", "COUNT", "LAST SURFACED", "DOMAIN"], rows);
    let answer = object([("topics", Value::Array(topics.iter().map(as_object).collect()))]);
    render.answer(&answer, &text)
}

fn as_object(topic: &Topic) -> Value {
    object([
        ("name", topic.name.as_str().into()),
        ("normalized_name", topic.normalized_name.as_str().into()),
        ("domain", topic.domain.as_str().into()),
        ("state", topic.state().into()),
        ("surface_count", topic.surface_count.into()),
        ("first_surfaced", nullable(topic.first_surfaced.as_deref())),
        ("last_surfaced", nullable(topic.last_surfaced.as_deref())),
        ("covered_at", nullable(topic.covered_at.as_deref())),
    ])
}
