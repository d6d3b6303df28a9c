//! `legbook runs start`: the opening of a run of many calls.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use legbook::db::Store;
use legbook::id::RunId;
use legbook::json::{self, Object, Value};
use legbook::recovery::{self, GoneOn};
use legbook::run::{self, Credentials, StartRequest, Started};
use legbook::{Error, error::RunError};

use super::{note_kept, run_named};
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Fields, nullable};
use crate::cli::token::{Brought, TokenArguments};
use crate::cli::values::{lease, path, seconds};

/// Start a run of many calls: take the workspace's lock and write `started`
#[derive(Debug, Args)]
#[command(after_help = "\
Pass the token to each later write: --token, --token-file or LEGBOOK_TOKEN. Without a token of your own, legbook makes one \
and prints it only once. With your own (legbook token prints a fresh one), the same start again is a replay: it changes \
nothing and answers the same, so a start that failed or was killed can be retried.

The lock is live while the process --pid is running, so name the agent's long-lived host process. Or give a --lease: it \
keeps the lock live without any process for so long after the last write. In $(…) the parent is a subshell that ends at \
once: give --pid $$ or --lease.

If a token is lost: end the owner (legbook runs lock RUN shows it), then legbook runs recover RUN (with --break-lease if a \
lease runs), then start the run with --resume. That invalidates the old token.

Examples:
  legbook runs start nightly --task 'sort the inbox' --pid $$ --token-file nightly.token
  LEGBOOK_TOKEN=$(legbook token); export LEGBOOK_TOKEN
  legbook runs start r1 --or-resume --lease 2h -q >/dev/null")]
pub(crate) struct Arguments {
    /// The new run's id: 1 to 128 letters, digits, '.', '_' and '-' [default: LEGBOOK_RUN]
    #[arg(value_name = "RUN_ID")]
    run_id: Option<String>,
    /// What the run is to do
    #[arg(long, default_value = "", hide_default_value = true, conflicts_with = "resume")]
    task: String,
    /// The process that owns the lock: one that lives as long as the run [default: the parent]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// Keep the lock live for so long after the last write, even without a process: 90s, 30m, 2h
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    lease: Option<Duration>,
    /// The run directory itself [default: runs/RUN_ID beside the store]
    #[arg(long, value_name = "DIR", value_parser = path())]
    run_dir: Option<PathBuf>,
    /// Lock the folder DIR inside the git root, not the whole git root
    #[arg(long, value_name = "DIR", env = "LEGBOOK_WORKSPACE", hide_env_values = true, value_parser = path())]
    workspace: Option<PathBuf>,
    /// Resume an existing run, keeping its task
    #[arg(long)]
    resume: bool,
    /// Start a new run; resume an existing one, and recover it first if its owner is dead
    #[arg(long, conflicts_with = "resume")]
    or_resume: bool,
    /// Wait so long for the workspace's lock
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,
    #[command(flatten)]
    token: TokenArguments,
}

pub(super) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let run_id = RunId::parse(&run_named(arguments.run_id.as_deref())?).map_err(Error::from)?;
    let store = context.open_or_make()?;
    let owner_pid = arguments.pid.unwrap_or_else(std::os::unix::process::parent_id);
    let brought = arguments.token.brought(context)?;
    let request = StartRequest {
        run_id,
        task: arguments.task,
        cwd: context.cwd().to_path_buf(),
        workspace: arguments.workspace,
        run_dir: arguments.run_dir,
        owner_pid,
        lease: arguments.lease,
        token: brought.token.clone(),
        journal: true,
        resume: arguments.resume,
        wait: arguments.wait,
    };
    let (started, way) = begin(context, &store, &request, arguments.or_resume).map_err(|source| {
        if !matches!(source, Error::Run(RunError::Export { .. })) {
            brought.discard();
        }
        Failure::NotBegun {
            waited: request.wait,
            of_command: false,
            token_known: brought.token.is_some(),
            source: Box::new(source),
        }
    })?;
    note_kept(context, &started.run_id, started.written.kept_as.as_deref());
    let owner = process(owner_pid);
    let shown = context.render.stream(text(context, &started, way.as_ref(), &owner, &brought).as_bytes());
    // Nobody could ever write to the run without its token, so a reader that has gone is a failure here.
    if !matches!(shown, Ok(true)) {
        if brought.token.is_some() {
            shown?;
            return Ok(Exit::DONE);
        }
        let credentials = Credentials { token: Some(started.token), owner_pid: None };
        run::let_go(&store, &started.run_id, &credentials)?;
        return Err(Failure::TokenLost { run_id: started.run_id });
    }
    if arguments.pid.is_none() && arguments.lease.is_none() {
        context.render.note(&format!(
            "note: the lock's owner is {owner}, the parent of this call, and there is no lease: once it has ended, as \
             the subshell of $(…) does at once, the lock is stale; give --pid $$ or --lease 2h"
        ));
    }
    Ok(Exit::DONE)
}

/// How a run went on, beside the run itself.
type Way = (&'static str, Option<String>, Option<i64>);

fn begin(
    context: &Context,
    store: &Store,
    request: &StartRequest,
    or_resume: bool,
) -> Result<(Started, Option<Way>), Error> {
    if !or_resume {
        return Ok((run::start(store, request)?, None));
    }
    let GoneOn { started, way, last_status, last_sequence, recovered } =
        recovery::start_or_resume(store, request)?;
    if let Some(outcome) = &recovered {
        note_kept(context, &outcome.run_id, outcome.kept_as());
    }
    Ok((started, Some((way.word(), last_status, last_sequence))))
}

/// The answer. `--quiet` prints the token alone; a token that is kept in a file is printed with `--json` only.
fn text(context: &Context, started: &Started, way: Option<&Way>, owner: &str, brought: &Brought) -> String {
    let run_dir = started.run_dir.display().to_string();
    if context.render.json() {
        let mut answer: Object = json::object([
            ("run_id", started.run_id.as_str().into()),
            ("run_dir", run_dir.into()),
            ("token", started.token.expose().into()),
        ]);
        if let Some((word, status, sequence)) = way {
            answer.extend(json::object([
                ("way", (*word).into()),
                ("last_status", nullable(status.as_deref())),
                ("last_sequence", nullable(*sequence)),
            ]));
        }
        return json::line(&Value::Object(answer)) + "\n";
    }
    if context.render.quiet() {
        return if brought.file.is_some() { String::new() } else { format!("{}\n", started.token.expose()) };
    }
    let mut fields = Fields::new(context.render);
    fields.add("run_id", started.run_id.as_str()).add("run_dir", &run_dir).add("owner", owner);
    if let Some((word, status, sequence)) = way {
        let last = match (status, sequence) {
            (Some(status), Some(sequence)) => format!(", last status {status}, last sequence {sequence}"),
            _ => String::new(),
        };
        fields.add("way", &format!("{word}{last}"));
    }
    match &brought.file {
        Some(file) => fields.add("token", &format!("in {}", file.display())),
        None => fields.add("token", started.token.expose()),
    };
    fields.text()
}

/// A process as people know it: `pid 123 (bash)`.
fn process(pid: u32) -> String {
    let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    match String::from_utf8_lossy(&name).trim() {
        "" => format!("pid {pid}"),
        name => format!("pid {pid} ({name})"),
    }
}
