//! `legbook runs at`: run.json as it was at an event, to the byte.

use clap::Args;
use legbook::digest::Digest;
use legbook::run;

use super::RunArgument;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::object;

/// Print run.json as it was at an event, to the byte
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  legbook runs at latest 3 | sha256sum")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
    /// The event's sequence
    sequence: i64,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let snapshot = run::at(&store, &run_id, arguments.sequence)?;
    if context.render.json() {
        // The bytes as one string: an object would be spelled anew.
        let answer = object([
            ("run_id", run_id.as_str().into()),
            ("sequence", arguments.sequence.into()),
            ("sha256", Digest::of(&snapshot).to_hex().into()),
            ("run_json", String::from_utf8_lossy(&snapshot).into_owned().into()),
        ]);
        context.render.answer(&answer, "")?;
    } else {
        context.render.raw(&snapshot)?;
    }
    Ok(Exit::DONE)
}
