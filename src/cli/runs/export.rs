//! `legbook runs export`: the store's last snapshot back as run.json.

use clap::Args;
use legbook::run;

use super::RunArgument;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{nullable, object};

/// Put the store's last snapshot back as run.json
#[derive(Debug, Args)]
#[command(after_help = "\
A run.json that is different is kept beside it as run.json.replaced-<32 hex>. Refused beside a live owner.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let exported = run::export(&store, &run_id)?;
    let text = match (exported.unchanged, &exported.kept_as) {
        (true, _) => format!("run.json of {run_id} was the store's last snapshot already"),
        (false, None) => format!("run.json of {run_id} is the store's last snapshot again"),
        (false, Some(name)) => {
            format!(
                "run.json of {run_id} is the store's last snapshot again; what was there is kept as {name}"
            )
        }
    };
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("sha256", exported.sha256.to_hex().into()),
        ("unchanged", exported.unchanged.into()),
        ("kept_as", nullable(exported.kept_as)),
    ]);
    context.render.done(&answer, &text)?;
    Ok(Exit::DONE)
}
