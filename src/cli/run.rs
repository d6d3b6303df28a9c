//! `legbook run -- CMD`: a run of one command.
//!
//! Takes the workspace's lock, writes `started`, runs CMD with the run's coordinates in its environment, writes how
//! it ended, lets the lock go, and exits as CMD did.
//!
//! * CMD may write to the run meanwhile, also how it ended. A status that ends the run is CMD's word and stays; only
//!   the lock, where CMD has not let it go itself, is let go here.
//! * If the store has the outcome and run.json can't be replaced, it is said on stderr and the lock is let go;
//!   `runs export` puts run.json there. The exit code is CMD's own, 1 where that is 0.
//! * If the outcome can't be written, it is said on stderr and the lock stays: with this process gone its owner is
//!   dead, and `runs recover` ends the run from what the store holds. The exit code is CMD's own, 1 where that is 0.
//! * If this process is killed, CMD goes on with a token that still holds: the run is the command's to finish, or
//!   `runs recover`'s.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Args;
use legbook::Error;
use legbook::clock::{self, Clock, SystemClock};
use legbook::db::Store;
use legbook::error::{LockError, RunError};
use legbook::id::RunId;
use legbook::run::{self, Credentials, Failure as RunFailure, StartRequest, Started, StatusChange};
use nix::sys::signal::Signal;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::render::object;
use super::runs::note_kept;
use super::supervise::{Ended, Supervisor};
use super::values::{path, positive_seconds, seconds};

/// How often a wait for the lock looks whether it is free.
const POLL: Duration = Duration::from_millis(200);

/// Run a command as a run: lock, journal, status, exit code
#[derive(Debug, Args)]
#[command(after_help = "\
CMD finds LEGBOOK_STORE, LEGBOOK_RUN and LEGBOOK_TOKEN in its environment and can write to its run:
  legbook run -- sh -c 'legbook runs status \"$LEGBOOK_RUN\" planning; exec my-agent'

Exits as CMD did: 128+N after signal N, 124 after the timeout, 127 where CMD is not there, 126 where it can't be run. \
SIGINT and SIGTERM are passed on, and the run ends `canceled`. What CMD leaves running gets SIGTERM, after 5 s SIGKILL. \
If CMD has ended the run itself (legbook runs finish), that status stays.")]
pub(crate) struct Arguments {
    /// The new run's id [default: made of the time and chance]
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// What the run is to do
    #[arg(long, default_value = "", hide_default_value = true)]
    task: String,
    /// The run directory itself [default: runs/ID beside the store]
    #[arg(long, value_name = "DIR", value_parser = path())]
    run_dir: Option<PathBuf>,
    /// Lock the folder DIR inside the git root, not the whole git root
    #[arg(long, value_name = "DIR", env = "LEGBOOK_WORKSPACE", hide_env_values = true, value_parser = path())]
    workspace: Option<PathBuf>,
    /// Wait so long for the workspace's lock: 5, 90s, 30m
    #[arg(long, value_name = "SECONDS", default_value = "0", hide_default_value = true, value_parser = seconds)]
    wait: Duration,
    /// End CMD after so long: SIGTERM, 5 s later SIGKILL; the run ends `timeout`
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds)]
    timeout: Option<Duration>,
    /// Keep run.json alone, without a journal
    #[arg(long)]
    no_journal: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(super) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let run_id = match &arguments.run_id {
        Some(text) => RunId::parse(text).map_err(Error::from)?,
        None => new_run_id(&*clock)?,
    };
    let store = context.open_or_make()?;
    // From here on a signal waits for the command: it can't leave a run that is begun and never ended.
    let supervisor = Supervisor::prepare(clock).map_err(Error::io("watch over", "the command"))?;
    let request = StartRequest {
        run_id,
        task: arguments.task,
        cwd: context.cwd().to_path_buf(),
        run_dir: arguments.run_dir,
        owner_pid: std::process::id(),
        lease: None,
        token: None,
        workspace: arguments.workspace,
        journal: !arguments.no_journal,
        resume: false,
        wait: Duration::ZERO,
    };
    let started = match begin(&store, &request, &supervisor, arguments.wait)? {
        Begun::Started(started) => *started,
        Begun::Canceled(signal) => {
            context.render.note(&format!("legbook: canceled by {signal} while waiting; nothing was begun"));
            return Ok(Exit::after_signal(signal));
        }
    };
    let command = command(&store, &started, arguments.command);
    let ended = supervisor.run(command, arguments.timeout).map_err(Error::io("watch over", "the command"))?;
    conclude(context, &store, started, &ended)
}

/// What became of the wait for the lock.
enum Begun {
    Started(Box<Started>),
    /// This signal was to end legbook before there was a run.
    Canceled(Signal),
}

/// Begins the run, and tries for as long as `wait` while somebody else has the lock. A signal ends the wait.
fn begin(
    store: &Store,
    request: &StartRequest,
    supervisor: &Supervisor,
    wait: Duration,
) -> Result<Begun, Failure> {
    // A wait beyond what the calendar can tell is one without an end.
    let longest = TimeDelta::from_std(wait).unwrap_or(TimeDelta::MAX);
    let deadline = store.clock().now().checked_add_signed(longest).unwrap_or(DateTime::<Utc>::MAX_UTC);
    loop {
        let source = match run::start(store, request) {
            Ok(started) => return Ok(Begun::Started(Box::new(started))),
            Err(source) => source,
        };
        let may_become_free = matches!(&source, Error::Lock(error) if error.may_become_free());
        if !may_become_free || store.clock().now() >= deadline {
            return Err(Failure::NotBegun {
                source: Box::new(source),
                waited: wait,
                token_known: false,
                of_command: true,
            });
        }
        store.clock().sleep(POLL);
        if let Some(signal) = supervisor.told_to_end() {
            return Ok(Begun::Canceled(signal));
        }
    }
}

/// A name that sorts by time.
fn new_run_id(clock: &dyn Clock) -> Result<RunId, Error> {
    let chance = clock::random_hex(clock, 4).map_err(Error::io("get random bytes from", "the system"))?;
    Ok(RunId::parse(&format!("{}-{chance}", clock.now().format("%Y%m%dT%H%M%SZ")))?)
}

fn command(store: &Store, started: &Started, words: Vec<OsString>) -> Command {
    let mut words = words.into_iter();
    // The grammar demands one word at least.
    let mut command = Command::new(words.next().unwrap_or_default());
    command
        .args(words)
        .env("LEGBOOK_STORE", store.path())
        .env("LEGBOOK_RUN", started.run_id.as_str())
        .env("LEGBOOK_TOKEN", started.token.expose());
    command
}

/// Writes how the command ended, lets the lock go, and tells both.
fn conclude(context: &Context, store: &Store, started: Started, ended: &Ended) -> Result<Exit, Failure> {
    let Started { run_id, run_dir, token, .. } = started;
    let exit = Exit::passed_on(ended.exit_code());
    let outcome = outcome(ended);
    let credentials = Credentials { token: Some(token), owner_pid: Some(std::process::id()) };
    let status = match finish(context, store, &run_id, &outcome, &credentials) {
        Ok(status) => status,
        Err(error) => {
            let source = Box::new(error);
            context.report(&match *source {
                Error::Run(RunError::Export { .. } | RunError::Unreleased { .. }) => {
                    Failure::Unexported { run_id, source }
                }
                _ => Failure::Unrecorded { run_id, source },
            });
            return Ok(if exit == Exit::DONE { Exit::FAILED } else { exit });
        }
    };
    let told = outcome.failure.map_or(String::new(), |failure| format!(": {}", failure.error));
    let kept = if status == outcome.status { "" } else { ", as the command had written" };
    context.render.note(&format!("legbook: run {run_id} ended {status}{kept}{told}"));
    if context.render.json() {
        let answer = object([
            ("run_id", run_id.as_str().into()),
            ("run_dir", run_dir.display().to_string().into()),
            ("status", status.into()),
            ("exit_code", i64::from(ended.exit_code()).into()),
        ]);
        context.render.answer(&answer, "")?;
    }
    Ok(exit)
}

/// Ends the run and lets its lock go; gives the status that it ended with.
fn finish(
    context: &Context,
    store: &Store,
    run_id: &RunId,
    outcome: &StatusChange,
    credentials: &Credentials,
) -> Result<String, Error> {
    let ended_by_command = run::has_ended(store, run_id)?;
    let change = (!ended_by_command).then_some(outcome);
    match run::finish(store, run_id, change, credentials) {
        Ok(finished) => note_kept(context, run_id, finished.kept_as.as_deref()),
        // The command has let the lock go too.
        Err(Error::Lock(LockError::NotLocked { .. })) if ended_by_command => {}
        // The store has the outcome, so the lock has no more use.
        Err(error @ Error::Run(RunError::Export { .. })) => {
            // Where it stays, `runs recover` takes it.
            let _ = run::let_go(store, run_id, credentials);
            return Err(error);
        }
        Err(error) => return Err(error),
    }
    Ok(run::get(store, run_id)?.status.unwrap_or_else(|| outcome.status.clone()))
}

/// What the run's last snapshot says of the command's end (contract store.md, Commands).
fn outcome(ended: &Ended) -> StatusChange {
    let (status, kind, error) = match ended {
        Ended::Exited(0) => return StatusChange { status: "ok".to_owned(), ..StatusChange::default() },
        Ended::Exited(code) => ("failed", "exit", format!("the command exited with code {code}")),
        Ended::Signaled(signal) => ("failed", "signal", format!("the command was ended by signal {signal}")),
        Ended::TimedOut => ("timeout", "timeout", "the command took longer than its timeout".to_owned()),
        Ended::Canceled { signal, .. } => {
            ("canceled", "signal", format!("the command was canceled by {signal}"))
        }
        Ended::NotFound => ("failed", "exit", "the command was not found".to_owned()),
        Ended::CannotExecute(error) => ("failed", "exit", format!("the command can't be run: {error}")),
    };
    let failure = RunFailure { error, phase: "command".to_owned(), kind: kind.to_owned() };
    StatusChange { status: status.to_owned(), failure: Some(failure), set: Vec::new() }
}
