//! `legbook runs write`: one snapshot through the write path.

use std::path::Path;

use clap::Args;
use legbook::json::{self, Value};
use legbook::{receipt, run, settings};

use super::{RunArgument, WriterArguments, report, resolve, run_of_environment};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::input::Input;

/// Write one snapshot: a JSON object, from a file or stdin
#[derive(Debug, Args)]
#[command(after_help = "\
The snapshot is journaled in one transaction, then run.json is replaced. Prints one JSON line:
  {\"run_id\": …, \"sequence\": N, \"sha256\": …, \"replayed\": false}
sequence is that of the checkpoint event, null without a journal.

Example:
  jq '.phase_owner = \"worker-2\"' run.json | legbook runs write \"$LEGBOOK_RUN\"")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
    /// The file, or - for stdin, which is the default. If LEGBOOK_RUN is set, FILE may be the only argument
    #[arg(value_name = "FILE")]
    input: Option<Input>,
    #[command(flatten)]
    writer: WriterArguments,
}

pub(super) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let store = context.open_to_write()?;
    let (run, input) = run_and_input(arguments.run.run, arguments.input, context.cwd());
    let run_id = resolve(context, &store, run.as_deref())?;
    // What is stored is often shorter than what is given: white space and escapes.
    let most = settings::get(&store, settings::MAX_CHECKPOINT_BYTES)?.saturating_mul(2);
    let payload = input.read(most.unsigned_abs())?;
    let written = run::write(&store, &run_id, &payload, &arguments.writer.credentials(context)?)?;
    warn_of_status(context, &payload);
    report(context, &store, &written)?;
    Ok(Exit::DONE)
}

/// Which run and which input are meant: with LEGBOOK_RUN, a word alone that is `-` or a file is the input.
fn run_and_input(run: Option<String>, input: Option<Input>, cwd: &Path) -> (Option<String>, Input) {
    match (run, input) {
        (Some(word), None)
            if run_of_environment().is_some() && (word == "-" || cwd.join(&word).is_file()) =>
        {
            let input = if word == "-" { Input::Stdin } else { Input::File(word.into()) };
            (None, input)
        }
        (run, input) => (run, input.unwrap_or(Input::Stdin)),
    }
}

/// A status word that nobody knows is taken as the end of the run, as the legacy programs do: seldom what its writer
/// meant.
fn warn_of_status(context: &Context, payload: &[u8]) {
    let Ok(snapshot) = json::parse_object(payload) else { return };
    let Some(status) = snapshot.get("status".as_bytes()).and_then(Value::as_str) else { return };
    if receipt::is_terminal(&snapshot) && !run::known_statuses().any(|known| known == status) {
        let word: String = status.chars().take(40).collect();
        let known = run::known_statuses().collect::<Vec<_>>().join(", ");
        context.render.warn(&format!(
            "the status {word:?} is none that legbook knows, so it ends the run: recovery takes the run as finished; \
             known are {known}"
        ));
    }
}
