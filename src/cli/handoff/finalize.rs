//! `legbook handoff finalize`: leg 3.

use clap::Args;
use legbook::error::{HandoffFile, Record};
use legbook::handoff::FinalizeLeg;
use legbook::json::Raw;

use super::{LegArguments, Place, read};
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;

/// Leg 3: print the pending report with the host's angles, and count its topics in the queue
#[derive(Debug, Args)]
#[command(after_help = "\
The file: {\"bundle_id\": …, \"angles\": [{\"id\", \"podcast\"?, \"x_article\"?}]}
A program reads the answer with --json; without, it is fenced for a host.
The pending report stays, so that corrected angles can be tried; the queue counts each topic once a run_ref.

Example:
  legbook handoff finalize --angles angles.json --json | engine --render")]
pub(super) struct Arguments {
    /// The angles file, or - for stdin
    #[arg(long, value_name = "FILE")]
    angles: Option<Input>,
    #[command(flatten)]
    leg: LegArguments,
}

pub(super) fn run(place: &Place<'_>, arguments: &Arguments) -> Result<Exit, Failure> {
    let mock = arguments.leg.mock;
    place.leg(mock, || {
        place.check_mock(mock)?;
        let store = place.open_for(Record::PendingReport)?;
        let leg = FinalizeLeg::begin(&store, mock)?;
        let angles = arguments.angles.as_ref().map(|input| read(input, HandoffFile::Angles)).transpose()?;
        let finalized = leg.finish(angles.as_deref())?;
        place.warn(&finalized.warnings);
        place.print_untrusted(&store, &Raw::from(&finalized.answer))?;
        place.end(arguments.leg, &finalized.source_status)
    })
}
