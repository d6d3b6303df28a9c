//! `legbook stage import`: take over a legacy directory.

use std::path::PathBuf;

use clap::Args;
use legbook::stage::{self, Imported, PipelineName};

use super::{answer, list};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::nullable;
use crate::cli::values;

/// Make the run of a legacy directory (manifest.json, STAGE.json) the pipeline's run
#[derive(Debug, Args)]
#[command(after_help = "\
What begin would not trust is not taken; `shortfall` says why it is less than the manifest names. A run that the
pipeline was in goes. The directory is only read.

Example:
  legbook stage import /workspace/group/state/cfp-run --pipeline cfp")]
pub(crate) struct Arguments {
    /// The directory
    #[arg(value_parser = values::path())]
    dir: PathBuf,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let store = context.open_or_make()?;
    let Imported { run_date, completed, markers, shortfall } =
        stage::import(&store, pipeline, &arguments.dir)?;
    answer(
        context,
        [
            ("run_date", nullable(run_date.map(|day| day.to_string()))),
            ("completed", list(&completed)),
            ("markers", list(&markers)),
            ("shortfall", nullable(shortfall.map(|shortfall| shortfall.to_string()))),
        ],
    )
}
