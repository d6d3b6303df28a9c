//! `legbook runs write`: one snapshot through the write path.

use clap::Args;
use legbook::json::{self, Value};
use legbook::{receipt, run};

use super::{RunArgument, WriterArguments, report};
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
    /// The file, or - for stdin
    #[arg(value_name = "FILE", default_value = "-")]
    input: Input,
    #[command(flatten)]
    writer: WriterArguments,
}

pub(super) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let store = context.open_to_write()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let payload = arguments.input.read()?;
    let written = run::write(&store, &run_id, &payload, &arguments.writer.credentials()?)?;
    warn_of_status(context, &payload);
    report(context, &written)?;
    Ok(Exit::DONE)
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
