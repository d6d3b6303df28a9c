//! `legbook runs start`: the opening of a run of many calls.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use legbook::id::RunId;
use legbook::json;
use legbook::run::{self, Credentials, StartRequest};

use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Fields, object};
use crate::cli::values::{lease, path, seconds};

/// Begin a run of many calls: take the workspace's lock and write `started`
#[derive(Debug, Args)]
#[command(after_help = "\
The token is printed here and never again: each later write shows it, by --token or LEGBOOK_TOKEN. \
The lock is live while the process --pid is, so name the agent's long-lived host process; or give a --lease, which \
keeps the lock live without any process for so long after the last write. Called in $(…) without either, the parent \
is that subshell, which is dead at once: give --pid $$ or --lease.

A token that is lost can't be had again: end the owner (legbook runs lock RUN shows it) or wait for the lease to end, \
then legbook runs recover RUN, and start it with --resume, which makes a new token; the old one is none then.

Examples:
  legbook runs start nightly --task 'sort the inbox' --pid $$
  export LEGBOOK_TOKEN=$(legbook runs start r1 --lease 2h --json | jq -r .token)")]
pub(crate) struct Arguments {
    /// The new run's id: 1 to 128 letters, digits, '.', '_' and '-'
    run_id: String,
    /// What the run is to do
    #[arg(long, default_value = "", hide_default_value = true, conflicts_with = "resume")]
    task: String,
    /// The process that owns the lock: one that lives as long as the run [default: the parent]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// Keep the lock live for so long after the last write, whatever becomes of the process: 90s, 30m, 2h
    #[arg(long, value_name = "DURATION", value_parser = lease)]
    lease: Option<Duration>,
    /// The run directory itself [default: runs/RUN_ID beside the store]
    #[arg(long, value_name = "DIR", value_parser = path())]
    run_dir: Option<PathBuf>,
    /// Take a known run up again, with the task that it has
    #[arg(long)]
    resume: bool,
    /// Wait so long for the workspace's lock
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    wait: Duration,
}

pub(super) fn run(context: &Context, arguments: Arguments) -> Result<Exit, Failure> {
    let run_id = RunId::parse(&arguments.run_id).map_err(legbook::Error::from)?;
    let store = context.open_or_make()?;
    let owner_pid = arguments.pid.unwrap_or_else(std::os::unix::process::parent_id);
    let request = StartRequest {
        run_id,
        task: arguments.task,
        cwd: context.cwd().to_path_buf(),
        run_dir: arguments.run_dir,
        owner_pid,
        lease: arguments.lease,
        journal: true,
        resume: arguments.resume,
        wait: arguments.wait,
    };
    let started = run::start(&store, &request).map_err(|source| Failure::NotBegun {
        source: Box::new(source),
        waited: request.wait,
        of_command: false,
    })?;
    let owner = process(owner_pid);
    let run_dir = started.run_dir.display().to_string();
    let mut fields = Fields::new(context.render);
    fields
        .add("run_id", started.run_id.as_str())
        .add("run_dir", &run_dir)
        .add("owner", &owner)
        .add("token", started.token.expose());
    let answer = object([
        ("run_id", started.run_id.as_str().into()),
        ("run_dir", run_dir.into()),
        ("token", started.token.expose().into()),
    ]);
    let text = if context.render.json() { json::line(&answer) + "\n" } else { fields.text() };
    // Nobody could ever write to the run without its token, so a reader that has gone is a failure here.
    if !matches!(context.render.stream(text.as_bytes()), Ok(true)) {
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

/// A process as people know it: `pid 123 (bash)`.
fn process(pid: u32) -> String {
    let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    match String::from_utf8_lossy(&name).trim() {
        "" => format!("pid {pid}"),
        name => format!("pid {pid} ({name})"),
    }
}
