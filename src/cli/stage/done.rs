//! `legbook stage done`: the run is over.

use clap::Args;
use legbook::stage::{self, PipelineName};

use super::answer;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};

/// Remove the run with all that it holds, so that the next one starts clean
#[derive(Debug, Args)]
#[command(after_help = "Prints {\"cleared\": true}, also where there was no run.")]
pub(crate) struct Arguments {}

pub(super) fn run(context: &Context, pipeline: &PipelineName) -> Result<Exit, Failure> {
    if let Some(store) = context.open_if_there()? {
        stage::done(&store, pipeline)?;
    }
    answer(context, [("cleared", true.into())])
}
