//! `legbook handoff report`: leg 2b.

use clap::Args;
use legbook::clock::snapshot_time;
use legbook::db::Store;
use legbook::error::{HandoffFile, Record};
use legbook::handoff::{Awaits, Pending, ReportLeg, Reported};
use legbook::json::{Raw, Value};

use super::{LegArguments, Place, read};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;

/// Leg 2b: store what the engine made of the judgments as the pending report
#[derive(Debug, Args)]
#[command(after_help = "\
The file: {\"bundle_id\": …, \"report\": {…}, \"angle_inputs\": {id: {…}}, \"run_ref\"?: …, \"judgments\"?: N}
With judgments, the number that judge printed, a report that was made from earlier judgments is refused.
Prints the angle inputs and the shape of an angles file. The pending report is fresh for an hour from now.

Example:
  engine --resume < judged.json | legbook handoff report -")]
pub(super) struct Arguments {
    /// The report file, or - for stdin
    #[arg(value_name = "FILE", required_unless_present = "nothing_solid", conflicts_with = "nothing_solid")]
    input: Option<Input>,
    /// Say that nothing of this round was solid: supersedes any pending report and stores none
    #[arg(long, value_name = "BUNDLE_ID")]
    nothing_solid: Option<String>,
    #[command(flatten)]
    leg: LegArguments,
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    let mock = arguments.leg.mock;
    place.leg(mock, || {
        place.check_mock(mock)?;
        let store = place.open_for(Record::Bundle)?;
        let leg = ReportLeg::begin(&store, mock)?;
        let reported = match (&arguments.nothing_solid, &arguments.input) {
            (Some(bundle_id), _) => leg.nothing_solid(bundle_id)?,
            (None, input) => {
                let input = input.as_ref().unwrap_or(&Input::Stdin);
                leg.finish(&read(input, HandoffFile::Report)?)?
            }
        };
        place.warn(&reported.warnings);
        print(place, &store, &reported, mock)?;
        place.end(arguments.leg, &reported.source_status)
    })
}

fn print(place: &Place<'_>, store: &Store, reported: &Reported, mock: bool) -> Result<(), Failure> {
    let Reported { bundle_id, pending, .. } = reported;
    let text = |text: &str| Raw::from(&Value::from(text));
    let null = || Raw::from(&Value::Null);
    if place.context.render.json() {
        let answer = Raw::object([
            ("bundle_id", text(bundle_id)),
            ("run_ref", pending.as_ref().map_or_else(null, |pending| text(&pending.run_ref))),
            (
                "expires_at",
                pending.as_ref().map_or_else(null, |pending| text(&snapshot_time(pending.expires_at))),
            ),
            (
                "angle_inputs",
                pending.as_ref().map_or_else(|| Raw::object([]), |pending| pending.angle_inputs.clone()),
            ),
        ]);
        return place.print_untrusted(store, &answer);
    }
    let quiet = place.context.render.quiet();
    let said = match pending {
        None if quiet => String::new(),
        None => format!(
            "Nothing solid: round {bundle_id} has no pending report and awaits nothing. When the next sweep is due: {}\n",
            place.call(mock).next(Awaits::NextSweep)
        ),
        Some(pending) if quiet => format!("{}\n{}\n", pending.host_inputs, shape(bundle_id, pending)),
        Some(pending) => format!(
            "The pending report of round {bundle_id} is stored as {}, until {}.\n\
             Angle inputs:\n{}\n\
             Write your angles to a file of this shape (either hook may be left out), then: {} --angles FILE\n\
             {}\n",
            pending.run_ref,
            snapshot_time(pending.expires_at),
            pending.host_inputs,
            place.call(mock).command("finalize"),
            shape(bundle_id, pending)
        ),
    };
    place.context.render.text(&said)
}

/// An angles file for this round.
fn shape(bundle_id: &str, pending: &Pending) -> String {
    format!(
        "{{\"bundle_id\": \"{bundle_id}\", \"angles\": [\
         {{\"id\": \"{}\", \"podcast\": \"A hook\", \"x_article\": \"A hook\"}}]}}",
        first_id(&pending.angle_inputs)
    )
}

/// The first id that awaits angles; an id is one of legbook's own.
fn first_id(angle_inputs: &Raw) -> String {
    let first = angle_inputs.value().members().and_then(|mut inputs| inputs.next());
    first.and_then(|(id, _)| id.as_str().map(str::to_owned)).unwrap_or_default()
}
