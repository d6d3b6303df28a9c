//! `legbook stage begin`: start or resume.

use clap::Args;
use legbook::stage::{self, Begin, PipelineName};

use super::{answer, list};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};

/// Resume the run of this UTC day, or start a new one
#[derive(Debug, Args)]
#[command(after_help = "\
Prints {\"resume\": true, \"run_date\": \"2026-06-13\", \"completed\": [\"fetch\"]}: load what is completed, go on with the rest.

Example:
  legbook stage begin --keep-days 1")]
pub(crate) struct Arguments {
    /// Start over, whatever the day
    #[arg(long)]
    fresh: bool,
    /// Also resume a run that began up to so many days ago
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep_days: u32,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let how = Begin { fresh: arguments.fresh, keep_days: arguments.keep_days };
    let begun = stage::begin(&context.open_or_make()?, pipeline, how)?;
    answer(
        context,
        [
            ("resume", begun.resume.into()),
            ("run_date", begun.run_date.to_string().into()),
            ("completed", list(&begun.completed)),
        ],
    )
}
