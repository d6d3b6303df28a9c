//! `legbook stage`: the stages of a pipeline. A file a verb; each answers with one line of JSON, as the legacy script does.

mod begin;
mod done;
mod export;
mod import;
mod invalidate;
mod load;
mod save;
mod status;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use legbook::Error;
use legbook::json::{self, Value};
use legbook::stage::{PipelineName, StageName};

use super::context::Context;
use super::exit::{Exit, Failure};
use super::values;

/// The store's file in a state directory.
const STATE_FILE: &str = "legbook.db";

/// The stages of a pipeline: resume at the first one that is not done
#[derive(Debug, Args)]
#[command(after_help = "\
The store is the one of the first of these that is given: --state-dir, --store, LEGBOOK_STATE_DIR, LEGBOOK_STORE.

Exit codes: 0 done; 1 refused or failed; 2 load found nothing saved.

Example:
  legbook stage begin
  fetch-all | legbook stage save fetch
  legbook stage load fetch | verify-all | legbook stage save verify
  legbook stage done")]
pub(crate) struct Arguments {
    /// The pipeline; each has a run of its own
    #[arg(long, global = true, value_name = "NAME", env = "LEGBOOK_PIPELINE", hide_env_values = true)]
    pipeline: Option<String>,
    /// Use the store DIR/legbook.db, made with the directory where it is not there
    #[arg(long, global = true, value_name = "DIR", env = "LEGBOOK_STATE_DIR", hide_env_values = true, value_parser = values::path())]
    state_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Begin(begin::Arguments),
    Save(save::Arguments),
    Load(load::Arguments),
    Invalidate(invalidate::Arguments),
    Done(done::Arguments),
    Status(status::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
}

impl Arguments {
    /// The store that is meant, where one is named; `store` is `--store` or LEGBOOK_STORE. A flag goes before a variable.
    pub(crate) fn store(&self, store: Option<PathBuf>) -> Option<PathBuf> {
        let Some(directory) = &self.state_dir else { return store };
        let by_variable =
            |path: &Path, variable| std::env::var_os(variable).as_deref() == Some(path.as_os_str());
        match store {
            Some(store)
                if by_variable(directory, "LEGBOOK_STATE_DIR") && !by_variable(&store, "LEGBOOK_STORE") =>
            {
                Some(store)
            }
            _ => Some(directory.join(STATE_FILE)),
        }
    }
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let pipeline = match arguments.pipeline.as_deref() {
        Some(name) if !name.is_empty() => PipelineName::parse(name).map_err(Error::from)?,
        _ => PipelineName::default(),
    };
    match arguments.command {
        Command::Begin(arguments) => begin::run(context, &pipeline, &arguments),
        Command::Save(arguments) => save::run(context, &pipeline, &arguments),
        Command::Load(arguments) => load::run(context, &pipeline, &arguments),
        Command::Invalidate(arguments) => invalidate::run(context, &pipeline, &arguments),
        Command::Done(done::Arguments {}) => done::run(context, &pipeline),
        Command::Status(arguments) => status::run(context, &pipeline, &arguments),
        Command::Import(arguments) => import::run(context, &pipeline, &arguments),
        Command::Export(arguments) => export::run(context, &pipeline, &arguments),
    }
}

/// Reads stage names; all of them are checked before anything is done.
fn stage_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<StageName>, Failure> {
    names.map(stage_name).collect()
}

fn stage_name(name: &str) -> Result<StageName, Failure> {
    Ok(StageName::parse(name).map_err(Error::from)?)
}

/// Stage names as a JSON array.
fn list<'a>(names: impl IntoIterator<Item = &'a StageName>) -> Value {
    Value::Array(names.into_iter().map(|name| Value::from(name.as_str())).collect())
}

/// Prints the one line of JSON that a script reads, whatever was said of `--json` and `--quiet`.
fn answer<const N: usize>(context: &Context, members: [(&str, Value); N]) -> Result<Exit, Failure> {
    let object = Value::Object(json::object(members));
    context.render.raw((json::line(&object) + "\n").as_bytes())?;
    Ok(Exit::DONE)
}
