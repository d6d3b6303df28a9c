//! The command line: parse, call the library, render.
//!
//! A verb a file. No rule of the journal is decided here, and nothing here can do what a caller of the library can't:
//! this module belongs to the binary, so the compiler holds it to the public API. Exit codes and remedies are in
//! `exit.rs` alone, output in `render.rs` alone.

mod context;
mod db;
mod demo;
mod doctor;
mod exit;
mod handoff;
mod input;
mod render;
mod run;
mod runs;
mod stage;
mod supervise;
mod token;
mod usage;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::Signal;

use context::Context;
use exit::{Exit, Failure, Policy};
use render::Render;

const EXAMPLES: &str = "\
Begin with:
  legbook demo                  what becomes of a run whose process is killed
  legbook run -- my-agent       a command as a run, from its first status to its exit code
  legbook runs list             which runs there are, and how they stand
  legbook runs show latest      one of them, and what to do about a dead owner
  legbook runs events latest    its journal
  legbook doctor                whether all of it is whole

The store is .legbook/store.db in the nearest folder upwards; where there is none, the first command that writes makes \
it at the git root. RUN is a run id, a run directory, or `latest`.

Exit codes: 0 done; 1 the machine failed it (I/O, a busy store); 2 refused; 3 done with degraded coverage. Of doctor: \
0 ok, 1 warn, 2 fail, 3 could not check. An error is a line `error: …` on stderr and a line `help: …` with what to do.";

/// Under which heading the options that every command has are listed.
const EVERYWHERE: &str = "Options of every command";

/// Keeps the journal of agent runs in one embedded SQLite file
#[derive(Debug, Parser)]
#[command(name = "legbook", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Cli {
    /// The store's file, instead of the .legbook/store.db that is found by looking upwards
    #[arg(long, global = true, value_name = "FILE", env = "LEGBOOK_STORE", hide_env_values = true, value_parser = values::path(), help_heading = EVERYWHERE)]
    store: Option<PathBuf>,
    /// Answer with one JSON object on one line
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// Print nothing but what was asked for: no notes, no headings
    #[arg(short, long, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    /// A run of many calls, and questions about runs
    #[command(subcommand)]
    Runs(runs::Command),
    /// The protocol of three legs between which a host judges
    Handoff(handoff::Arguments),
    Stage(stage::Arguments),
    Doctor(doctor::Arguments),
    Demo(demo::Arguments),
    /// Look at the store and move its bounds
    #[command(subcommand)]
    Db(db::Command),
    /// Print a fresh token, to be given to `runs start` and to each later write
    Token,
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Runs one call of the program. Never panics; a reader of stdout that has gone ends it quietly.
pub(crate) fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    outlive_size_limits();
    let arguments: Vec<OsString> = arguments.collect();
    let cli =
        Cli::command().try_get_matches_from(&arguments).and_then(|matches| Cli::from_arg_matches(&matches));
    let words = usage::command_words(Cli::command(), arguments);
    let word = |place: usize| words.get(place).map(String::as_str);
    let policy = Policy::of(word(0), word(1));
    match cli {
        Ok(cli) => run(cli, policy).into(),
        Err(error) => {
            usage::tell(&error, &Cli::command(), &words);
            // `--help` and `--version` come this way too.
            if error.use_stderr() { policy.usage().into() } else { Exit::DONE.into() }
        }
    }
}

/// A write beyond the limit on a file's size (`ulimit -f`) is to fail like any other, not to end the process by SIGXFSZ.
///
/// A handler rather than ignoring the signal: the system takes it away from what `run` executes.
fn outlive_size_limits() {
    // Where it is refused, the signal ends the process as before.
    let _ = signal_hook::flag::register(Signal::SIGXFSZ as i32, Arc::default());
}

/// Calls the command, and tells what it failed at.
fn run(cli: Cli, policy: Policy) -> Exit {
    let render = Render::new(cli.json, cli.quiet);
    let store = match &cli.command {
        Command::Stage(arguments) => arguments.store(cli.store),
        _ => cli.store,
    };
    let program = context::program(store.as_deref());
    let outcome =
        Context::new(store, render, program.clone()).and_then(|context| dispatch(&context, cli.command));
    outcome.unwrap_or_else(|failure| {
        render::failure(&failure.to_string(), &exit::remedy(&failure, &program));
        policy.failure(&failure)
    })
}

fn dispatch(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(arguments) => run::run(context, arguments),
        Command::Runs(command) => runs::run(context, command),
        Command::Handoff(arguments) => handoff::run(context, arguments),
        Command::Stage(arguments) => stage::run(context, arguments),
        Command::Doctor(arguments) => doctor::run(context, &arguments),
        Command::Demo(arguments) => demo::run(context, &arguments),
        Command::Db(command) => db::run(context, command),
        Command::Token => token::print(context),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "legbook", &mut script);
            context.render.raw(&script)?;
            Ok(Exit::DONE)
        }
    }
}
