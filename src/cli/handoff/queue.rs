//! `legbook handoff queue`: the topics that surfaced, and which of them were covered.

use clap::{Args, Subcommand};
use legbook::handoff::{Topic, cover, topics};
use legbook::json::{Raw, Value};

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
                // The key is what was typed, normalized; the stored name is somebody else's text.
                let text = format!("{}: {}", topic.normalized_name, topic.state());
                place.context.render.done(&as_object(&topic), &text)?;
            }
        }
        Ok(Exit::DONE)
    })
}

fn list(place: &Place<'_>) -> Result<(), Failure> {
    let render = place.context.render;
    let store = place.open_if_there()?;
    let topics = store.as_ref().map(topics).transpose()?.unwrap_or_default();
    let answer = object([("topics", Value::Array(topics.iter().map(as_object).collect()))]);
    let Some(store) = store.filter(|_| !topics.is_empty()) else {
        if !render.json() {
            render.note("no topics: no finalized report has surfaced one");
        }
        return render.answer(&answer, "");
    };
    if render.json() {
        return place.print_untrusted(&store, &Raw::from(&answer));
    }
    let rows = topics.iter().map(|topic| {
        vec![
            topic.name.clone(),
            topic.state().to_owned(),
            topic.surface_count.to_string(),
            topic.last_surfaced.clone().unwrap_or_default(),
            topic.domain.clone(),
        ]
    });
    place.print_fenced(&store, &table(render, &["TOPIC", "STATE", "COUNT", "LAST SURFACED", "DOMAIN"], rows))
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
