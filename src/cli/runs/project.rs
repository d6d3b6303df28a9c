//! `legbook runs project`: a run's snapshot as its journal tells it.

use clap::Args;
use legbook::{json, run};

use super::RunArgument;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::object;

/// Print the run's last snapshot as its journal tells it
#[derive(Debug, Args)]
#[command(after_help = "\
The status is that of the last event that tells one; journal_present, journal_last_sequence, journal_last_event_digest \
and projector_version are added. A snapshot with a field that the projection does not know is refused. run.json is \
never made of this.

Example:
  legbook runs project latest | diff - \"$(legbook runs show latest --json | jq -r .run_dir)/run.json\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let projection = run::project(&store, &run_id)?;
    if context.render.json() {
        let answer = object([("run_id", run_id.as_str().into()), ("projection", projection.into())]);
        context.render.answer(&answer, "")?;
    } else {
        context.render.raw(&json::snapshot_bytes(&projection))?;
    }
    Ok(Exit::DONE)
}
