//! `legbook stage invalidate`: drop stages and what came after them.

use clap::Args;
use legbook::stage::{self, Invalidated, PipelineName};

use super::{answer, list, stage_names};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};

/// Drop stages, every stage completed after the earliest of them, and the markers that are named
#[derive(Debug, Args)]
#[command(after_help = "\
A marker goes only where it is named: it has no place in the order, so none goes with a stage, and no stage with it.
Prints {\"invalidated\": [\"verify\"], \"absent\": []}; absent are names under which nothing was saved.

Example:
  legbook stage invalidate verify working_set verify-evidence")]
pub(crate) struct Arguments {
    /// The stages and markers
    #[arg(required = true, value_name = "STAGE")]
    stages: Vec<String>,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let names = stage_names(arguments.stages.iter().map(String::as_str))?;
    let Invalidated { invalidated, absent } = match context.open_if_there()? {
        Some(store) => stage::invalidate(&store, pipeline, &names)?,
        None => Invalidated::all_absent(&names),
    };
    answer(context, [("invalidated", list(&invalidated)), ("absent", list(&absent))])
}
