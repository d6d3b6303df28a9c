//! `legbook stage load`: an artifact to stdout.

use clap::Args;
use legbook::stage::{self, PipelineName};

use super::stage_name;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};

/// Print a stage's or marker's artifact; exit 2 where nothing is saved under the name
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  legbook stage load fetch > fetch.json")]
pub(crate) struct Arguments {
    /// The name that it was saved under
    stage: String,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let name = stage_name(&arguments.stage)?;
    let saved = match context.open_if_there()? {
        Some(store) => stage::load(&store, pipeline, &name)?,
        None => None,
    };
    let bytes = saved.ok_or(Failure::NothingSaved { stage: name, pipeline: pipeline.clone() })?;
    context.render.raw(&bytes)?;
    context.render.raw(b"\n")?;
    Ok(Exit::DONE)
}
