//! `legbook stage save`: an artifact from a file or stdin.

use clap::Args;
use legbook::stage::{self, Artifact, Kind, PipelineName};

use super::{answer, stage_name};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;

/// Keep the JSON of a file or stdin as a stage's artifact, which completes the stage
#[derive(Debug, Args)]
#[command(after_help = "\
Prints {\"saved\": \"verify\"}. A stage saved again gets the new artifact and keeps its place.

Examples:
  echo '{\"talks\": []}' | legbook stage save verify
  echo '{\"seen\": 3}' | legbook stage save verify-evidence --marker")]
pub(crate) struct Arguments {
    /// The stage's name: a-z, 0-9, _ and -
    stage: String,
    /// The artifact's file, or - for stdin
    #[arg(value_name = "FILE", default_value = "-")]
    input: Input,
    /// Keep it beside the stages: it completes nothing
    #[arg(long)]
    marker: bool,
}

pub(super) fn run(
    context: &Context,
    pipeline: &PipelineName,
    arguments: &Arguments,
) -> Result<Exit, Failure> {
    let name = stage_name(&arguments.stage)?;
    let kind = if arguments.marker { Kind::Marker } else { Kind::Stage };
    let input = arguments.input.open()?;
    let store = context.open_or_make()?;
    let read = Artifact::read(&store, input, arguments.input.origin());
    let artifact =
        read.map_err(|source| Failure::Artifact { stage: name.clone(), source: Box::new(source) })?;
    stage::save(&store, pipeline, &name, kind, &artifact)?;
    answer(context, [("saved", name.as_str().into())])
}
