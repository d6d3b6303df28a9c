//! `legbook runs recover`: the run of a dead owner is brought to its end.

use std::path::PathBuf;

use clap::Args;
use legbook::json::Value;
use legbook::recovery::{self, Action, Ending, Options, Outcome};

use super::{RunArgument, note_kept};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{nullable, object, printable};
use crate::cli::values::path;

/// End the run of a dead owner: restore run.json, write the failure receipt, remove the lock
#[derive(Debug, Args)]
#[command(after_help = "\
Everything is checked before anything is written: the chain, its digests, the latest checkpoint. A run that has ended \
already is left as it is, only its dead lock goes. Called again, after a crash too, it ends the same.

Exit codes: 0 done, or nothing to do; 1 failed (I/O error, full disk), call again; 2 refused, nothing was changed.

Example:
  legbook runs recover latest --dry-run")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
    /// Make all checks, list the steps, change nothing
    #[arg(long)]
    dry_run: bool,
    /// Your word that an owner of whom nothing can be told from here is dead; refused while it is visible
    #[arg(long)]
    owner_is_dead: bool,
    /// Where the run directory is now, if it was moved
    #[arg(long, value_name = "DIR", value_parser = path())]
    run_dir: Option<PathBuf>,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open_to_write()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let options = Options {
        dry_run: arguments.dry_run,
        owner_is_dead: arguments.owner_is_dead,
        run_dir: arguments.run_dir.as_ref().map(|directory| context.cwd().join(directory)),
    };
    let outcome = recovery::recover(&store, &run_id, &options).map_err(Failure::Unrecovered)?;
    let answer = answer(&outcome);
    let text = text(&outcome);
    if outcome.dry_run {
        context.render.answer(&answer, &text)?;
    } else {
        context.render.done(&answer, &text)?;
    }
    note_kept(context, &outcome.run_id, outcome.kept_as());
    if outcome.ending == Ending::Recovered {
        context.render.note(
            "note: the dead owner is all that was judged; a command that it had started (legbook run) may still run",
        );
    }
    Ok(Exit::DONE)
}

fn answer(outcome: &Outcome) -> Value {
    let step = |step: &Action| object([("step", step.word().into()), ("text", step.to_string().into())]);
    object([
        ("run_id", outcome.run_id.as_str().into()),
        ("run_dir", outcome.run_dir.display().to_string().into()),
        ("ending", outcome.ending.word().into()),
        ("status", nullable(outcome.status.as_deref())),
        ("steps", Value::Array(outcome.steps.iter().map(step).collect())),
        ("dry_run", outcome.dry_run.into()),
    ])
}

fn text(outcome: &Outcome) -> String {
    let steps = outcome.steps.iter().map(|step| format!("  {}\n", printable(&step.to_string())));
    format!("{}\n{}", printable(&outcome.to_string()), steps.collect::<String>())
}
