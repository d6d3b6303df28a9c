//! `legbook stage export`: write a legacy directory.

use std::path::PathBuf;

use clap::Args;
use legbook::stage::{self, Exported, PipelineName};

use super::{answer, list};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::values;

/// Write the run as a directory that the legacy script reads (manifest.json, STAGE.json)
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  legbook stage export ./cfp-run --pipeline cfp")]
pub(crate) struct Arguments {
    /// The directory, which must not be there, or be empty
    #[arg(value_parser = values::path())]
    dir: PathBuf,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let Exported { run_date, completed, markers } =
        stage::export(&context.open()?, pipeline, &arguments.dir)?;
    answer(
        context,
        [
            ("run_date", run_date.to_string().into()),
            ("completed", list(&completed)),
            ("markers", list(&markers)),
        ],
    )
}
