//! `legbook handoff`: the three legs between which a host judges, and questions about rounds. A file a verb.

mod finalize;
mod import;
mod judge;
mod nominate;
mod queue;
mod report;
mod show;
mod status;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use legbook::Error;
use legbook::db::{Store, StoreOptions};
use legbook::error::{FileFault, HandoffError, HandoffFile, Record, StoreError};
use legbook::handoff::coverage::{degraded, is_strict};
use legbook::handoff::fence::{WARNING, fenced};
use legbook::handoff::{mint, not_read, status};
use legbook::json::{Raw, Value};
use legbook::text::escaped_json;

use super::context::Context;
use super::exit::{Exit, Failure, LegCall};
use super::input::Input;
use super::values;

/// The store's file in a save dir.
const SAVED: &str = "legbook.db";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Keep all of this round in DIR/legbook.db, and look nowhere else; give it to every leg of the round
    #[arg(long, global = true, value_name = "DIR", value_parser = values::path())]
    save_dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Nominate(nominate::Arguments),
    Judge(judge::Arguments),
    Report(report::Arguments),
    Finalize(finalize::Arguments),
    /// Show which round is current, what it awaits, and the next command
    Status,
    Show(show::Arguments),
    Import(import::Arguments),
    Queue(queue::Arguments),
}

pub(crate) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let place = Place { context, save_dir: arguments.save_dir };
    match arguments.command {
        Command::Nominate(arguments) => nominate::run(&place, &arguments),
        Command::Judge(arguments) => judge::run(&place, &arguments),
        Command::Report(arguments) => report::run(&place, &arguments),
        Command::Finalize(arguments) => finalize::run(&place, &arguments),
        Command::Status => status::run(&place),
        Command::Show(arguments) => show::run(&place, &arguments),
        Command::Import(arguments) => import::run(&place, &arguments),
        Command::Queue(arguments) => queue::run(&place, &arguments),
    }
}

/// What every leg may be given.
#[derive(Debug, Clone, Copy, Args)]
struct LegArguments {
    /// This round is made from fixtures; needs --save-dir, must be the same on every leg, never writes the queue
    #[arg(long)]
    mock: bool,
    /// Exit with 3 if a source of the sweep did not answer in full [env: LEGBOOK_STRICT_EXIT]
    #[arg(long)]
    strict: bool,
}

impl LegArguments {
    /// Whether degraded coverage is to show in the exit code.
    fn is_strict(self) -> bool {
        self.strict || std::env::var("LEGBOOK_STRICT_EXIT").is_ok_and(|setting| is_strict(&setting))
    }
}

/// Where a call of the handoff works, and how.
struct Place<'a> {
    context: &'a Context,
    save_dir: Option<PathBuf>,
}

impl Place<'_> {
    /// The store's file.
    fn path(&self) -> Result<PathBuf, Failure> {
        match &self.save_dir {
            Some(folder) => Ok(self.context.cwd().join(folder).join(SAVED)),
            None => Ok(self.context.location()?.path),
        }
    }

    /// Opens the store, making it where there is none.
    fn open_or_make(&self) -> Result<Store, Failure> {
        match &self.save_dir {
            Some(_) => self.context.settled(Store::open(self.path()?, StoreOptions::default())?),
            None => self.context.open_or_make(),
        }
    }

    /// Opens the store; an absent one is refused.
    fn open(&self) -> Result<Store, Failure> {
        match &self.save_dir {
            Some(_) => Ok(Store::open_existing(self.path()?, StoreOptions::default())?),
            None => self.context.open(),
        }
    }

    /// Opens the store; none where there is none.
    fn open_if_there(&self) -> Result<Option<Store>, Failure> {
        match self.open() {
            Err(Failure::Library(Error::Store(StoreError::Absent { .. }))) => Ok(None),
            store => store.map(Some),
        }
    }

    /// Opens the store for a leg that needs `record`, which an absent store does not have.
    fn open_for(&self, record: Record) -> Result<Store, Failure> {
        self.open_if_there()?.ok_or_else(|| HandoffError::Missing { record }.into())
    }

    /// Refuses a mock leg in the default store.
    fn check_mock(&self, mock: bool) -> Result<(), Failure> {
        if mock && self.save_dir.is_none() {
            return Err(HandoffError::MockNeedsSaveDir.into());
        }
        Ok(())
    }

    /// Runs a leg; a failure of it is told with the remedy for this place. What was to be stored has said so itself, so
    /// what the store refuses beside is to be opened or read.
    fn leg(&self, mock: bool, work: impl FnOnce() -> Result<Exit, Failure>) -> Result<Exit, Failure> {
        work().map_err(|failure| match failure {
            Failure::Library(source) => {
                let source = not_read(source);
                let call = if came_too_early(&source) { self.call_of_round(mock) } else { self.call(mock) };
                Failure::Leg { source, call: Box::new(call) }
            }
            other => other,
        })
    }

    /// As [`Place::call`], with what the current round awaits, where that can be told.
    fn call_of_round(&self, mock: bool) -> LegCall {
        let status = self.open_if_there().ok().flatten().and_then(|store| status(&store).ok().flatten());
        match status {
            Some(status) => LegCall { awaits: Some(status.awaits), ..self.call(status.mock) },
            None => self.call(mock),
        }
    }

    /// How a leg of this round is typed.
    fn call(&self, mock: bool) -> LegCall {
        LegCall {
            program: self.context.program().to_owned(),
            save_dir: self.save_dir.clone(),
            mock,
            awaits: None,
            store: self.path().unwrap_or_default(),
        }
    }

    /// Tells what was skipped or overruled.
    fn warn(&self, warnings: &[String]) {
        for warning in warnings {
            self.context.render.note(&format!("warning: {warning}"));
        }
    }

    /// Prints an object with third-party text: with `--json` on one line, and a field says so; else indented in a fence.
    fn print_untrusted(&self, store: &Store, object: &Raw) -> Result<(), Failure> {
        if self.context.render.json() {
            self.context.render.raw((escaped_json(&untrusted(object).value().line()) + "\n").as_bytes())
        } else {
            self.print_fenced(store, &object.value().indented())
        }
    }

    /// Prints third-party text in a fence of its own.
    fn print_fenced(&self, store: &Store, text: &str) -> Result<(), Failure> {
        self.context.render.text(&fenced(text, &mint(store)?))
    }

    /// How a leg ends whose output is out: the same for all legs.
    fn end(&self, leg: LegArguments, source_status: &Raw) -> Result<Exit, Failure> {
        let degraded = degraded(source_status);
        if !leg.is_strict() || degraded.is_empty() {
            return Ok(Exit::DONE);
        }
        let sources = degraded.iter().map(|outcome| match outcome.state.as_str() {
            "" => format!("{} (no state)", outcome.source),
            state => format!("{} ({state})", outcome.source),
        });
        Err(Failure::Degraded { sources: sources.collect::<Vec<_>>().join(", ") })
    }
}

/// `object` with the field that says what its text is; one that it had is replaced.
fn untrusted(object: &Raw) -> Raw {
    const FIELD: &str = "untrusted_content";
    let members = object.value().members().into_iter().flatten();
    let members: Vec<(String, Raw)> = members
        .filter_map(|(key, value)| Some((key.as_str()?.to_owned(), value.to_raw())))
        .filter(|(key, _)| key != FIELD)
        .chain([(FIELD.to_owned(), Raw::from(&Value::from(WARNING)))])
        .collect();
    Raw::object(members.iter().map(|(key, value)| (key.as_str(), value.clone())))
}

/// Whether leg 3 was called and there is nothing to finalize: the round's state tells which leg comes first.
fn came_too_early(error: &Error) -> bool {
    matches!(error, Error::Handoff(HandoffError::Missing { record: Record::PendingReport }))
}

/// The most that a file of the protocol may have, in bytes.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Reads a file of the protocol. One that can't be read is refused like one that can't be used.
fn read(input: &Input, file: HandoffFile) -> Result<Vec<u8>, Failure> {
    input.read(MOST_BYTES).map_err(|failure| {
        let (path, reason) = match failure {
            Failure::Library(Error::Io { path, source, .. }) => (path, source.to_string()),
            Failure::Input(source) => (PathBuf::from("the standard input"), source.to_string()),
            Failure::InputTooLarge { origin, most } => (origin, format!("it is larger than {most} bytes")),
            other => return other,
        };
        HandoffError::File { file, fault: FileFault::Unreadable { path, reason } }.into()
    })
}
