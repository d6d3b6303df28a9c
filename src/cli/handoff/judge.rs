//! `legbook handoff judge`: leg 2a.

use clap::Args;
use legbook::error::{HandoffFile, Record};
use legbook::handoff::JudgeLeg;

use super::{LegArguments, Place, read, untrusted};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;

/// Leg 2a: store the host's judgments, and print the judged pool for the engine
#[derive(Debug, Args)]
#[command(after_help = "\
The file: {\"bundle_id\": …, \"judgments\": [{\"id\", \"name\"?, \"junk\"?, \"worthiness\"?}]}
A program reads the answer with --json; without, it is fenced for a host.
A new judge supersedes the pending report.

Example:
  legbook handoff judge judgments.json --json | engine --resume")]
pub(super) struct Arguments {
    /// The judgments file, or - for stdin
    #[arg(value_name = "FILE")]
    input: Input,
    #[command(flatten)]
    leg: LegArguments,
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    let mock = arguments.leg.mock;
    place.leg(mock, || {
        place.check_mock(mock)?;
        let store = place.open_for(Record::Bundle)?;
        let leg = JudgeLeg::begin(&store, mock)?;
        let judged = leg.finish(&read(&arguments.input, HandoffFile::Judgments)?)?;
        place.warn(&judged.warnings);
        if place.context.render.json() {
            // Not escaped: what is inside of a nomination comes back as it was spelled.
            place.context.render.raw((untrusted(&judged.answer).value().line() + "\n").as_bytes())?;
        } else {
            place.print_fenced(&store, &judged.answer.value().indented())?;
        }
        place.end(arguments.leg, &judged.source_status)
    })
}
