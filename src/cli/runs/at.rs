//! `legbook runs at`: run.json as it was at an event, to the byte.

use clap::Args;
use legbook::digest::Digest;
use legbook::run;

use super::{RunArgument, sequence};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::object;
use crate::cli::values::Sequence;

/// Print run.json as it was at an event, to the byte
#[derive(Debug, Args)]
#[command(
    allow_missing_positional = true,
    after_help = "\
Example:
  legbook runs at latest 3 | sha256sum"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
    /// The event's sequence, or `last` (also `latest`)
    #[arg(value_name = "SEQ")]
    sequence: Sequence,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let sequence = sequence(&store, &run_id, arguments.sequence)?;
    let snapshot = run::at(&store, &run_id, sequence)?;
    if context.render.json() {
        // The bytes as one string: an object would be spelled anew.
        let answer = object([
            ("run_id", run_id.as_str().into()),
            ("sequence", sequence.into()),
            ("sha256", Digest::of(&snapshot).to_hex().into()),
            ("run_json", String::from_utf8_lossy(&snapshot).into_owned().into()),
        ]);
        context.render.answer(&answer, "")?;
    } else {
        context.render.raw(&snapshot)?;
    }
    Ok(Exit::DONE)
}
