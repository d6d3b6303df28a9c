//! `legbook handoff nominate`: leg 1.

use clap::Args;
use legbook::clock::snapshot_time;
use legbook::error::HandoffFile;
use legbook::handoff::{self, Nominated, Pool};
use legbook::json::Value;

use super::{LegArguments, Place, read};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;
use crate::cli::render::object;

/// Leg 1: store a sweep's pool, a JSON object from a file or stdin, as the current round
#[derive(Debug, Args)]
#[command(after_help = "\
Prints what the host reads, then the shape of the judgments file. The earlier round is superseded.

Example:
  sweep | legbook handoff nominate --domain 'ai agents'")]
pub(super) struct Arguments {
    /// The pool's file, or - for stdin
    #[arg(value_name = "FILE", default_value = "-")]
    input: Input,
    /// The domain of the sweep, if the pool names none
    #[arg(long, value_name = "D")]
    domain: Option<String>,
    #[command(flatten)]
    leg: LegArguments,
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    let mock = arguments.leg.mock;
    place.leg(mock, || {
        place.check_mock(mock)?;
        let bytes = read(&arguments.input, HandoffFile::Pool)?;
        let pool = Pool::read(&bytes, arguments.domain.as_deref())?;
        match store(place, &pool, mock)? {
            Some(nominated) => print(place, &nominated, mock)?,
            None => print_nothing(place)?,
        }
        place.end(arguments.leg, &pool.head.source_status)
    })
}

/// A pool without nominations ends the round of a store that is there, and makes none.
fn store(place: &Place<'_>, pool: &Pool, mock: bool) -> Result<Option<Nominated>, Failure> {
    let store =
        if pool.nominations.is_empty() { place.open_if_there()? } else { Some(place.open_or_make()?) };
    Ok(store.map(|store| handoff::nominate(&store, pool, mock)).transpose()?.flatten())
}

fn print(place: &Place<'_>, nominated: &Nominated, mock: bool) -> Result<(), Failure> {
    let Nominated { bundle_id, nominations, expires_at, host_digest } = nominated;
    let answer = object([
        ("bundle_id", bundle_id.as_str().into()),
        ("nominations", Value::from(i64::try_from(*nominations).unwrap_or(i64::MAX))),
        ("expires_at", snapshot_time(*expires_at).into()),
        ("host_digest", host_digest.as_str().into()),
    ]);
    let instructions = format!(
        "Write your judgments to a file of this shape (worthiness 0 to 100; what you leave out stays as the engine has it), then: {} FILE\n",
        place.call(mock).command("judge")
    );
    let instructions = if place.context.render.quiet() { "" } else { &instructions };
    let text = format!(
        "{host_digest}\n\
         {instructions}\
         {{\"bundle_id\": \"{bundle_id}\", \"judgments\": [\
         {{\"id\": \"n1\", \"name\": \"A better name\", \"junk\": false, \"worthiness\": 50}}]}}"
    );
    place.context.render.answer(&answer, &text)
}

fn print_nothing(place: &Place<'_>) -> Result<(), Failure> {
    let answer = object([
        ("bundle_id", Value::Null),
        ("nominations", Value::from(0)),
        ("expires_at", Value::Null),
        ("host_digest", Value::Null),
    ]);
    let text = "No nominations: nothing is stored, and no round is current. The brief is: nothing solid this window.";
    place.context.render.answer(&answer, text)
}
