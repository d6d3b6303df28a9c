//! `legbook demo`: child processes are killed in the middle of their work, and what becomes of their runs; a story.
//!
//! All of it is real: real processes, SIGKILL, and this very program called as a user calls it. This process itself
//! never opens the store. Nothing waits for time to pass: a child says where it is before it is killed.

mod child;
mod story;

use std::path::Path;

use clap::Args;
use legbook::Error;
use legbook::db::{Store, StoreOptions};
use legbook::id::RunId;
use legbook::recovery;
use legbook::run::{self, Credentials, StartRequest, StatusChange};
use legbook::step::Step;

use super::context::Context;
use super::exit::{Exit, Failure};
use child::{Stop, killed_in};
use story::Story;

/// Watch legbook recover runs whose process was killed
#[derive(Debug, Args)]
#[command(after_help = "\
Works in a new folder under TMPDIR, which stays, and says how to look into it with sqlite3.
Exit code 0 if every step ended as it should.")]
pub(crate) struct Arguments {}

/// Where the demo's store is, in its folder.
const STORE: &str = ".legbook/store.db";
const LETTERS: &str = "letters";
const LEDGER: &str = "ledger";

pub(super) fn run(context: &Context, _: &Arguments) -> Result<Exit, Failure> {
    let mut story = Story::begin(context.render)?;
    let folder = story.folder().to_path_buf();

    story.part("Killed between the commit and the export")?;
    story.tell(
        "A child process begins the run `letters`, plans, dispatches, and goes on to synthesis. When the store has\n\
         committed that last snapshot, and before run.json is replaced, it is killed with SIGKILL.",
    )?;
    let pid = killed_in(|stop| letters(stop, &folder)).map_err(Error::io("watch", "the demo's child"))?;
    story.tell(&format!(
        "Process {pid} is dead. The journal knows of the synthesis, run.json does not yet:"
    ))?;
    story.command(&["doctor"], 1, "run.json behind its checkpoint")?;
    story.command(&["runs", "show", LETTERS], 0, "runs recover letters")?;

    story.tell(
        "A recovery begins, and is killed as well: it has put run.json right and not yet written its receipt.",
    )?;
    killed_in(|stop| killed_recovery(stop, &folder)).map_err(Error::io("watch", "the demo's child"))?;
    story.compare(LETTERS, 7)?;
    story.tell("The next recovery takes over where the first was killed:")?;
    story.command(&["runs", "recover", LETTERS, "--dry-run"], 0, "")?;
    story.command(&["runs", "recover", LETTERS], 0, "")?;
    story.command(&["runs", "show", LETTERS], 1, "failed")?;
    story.command(&["doctor"], 0, "ok")?;

    story.part("Killed between two writes, and run.json lost")?;
    story.tell(
        "Another child begins the run `ledger` and writes three snapshots. It is killed when the third is whole, and\n\
         then somebody removes the run's run.json.",
    )?;
    killed_in(|stop| ledger(stop, &folder)).map_err(Error::io("watch", "the demo's child"))?;
    story.remove_run_json(LEDGER)?;
    story.command(&["doctor"], 1, "run.json missing with valid checkpoint")?;
    story.command(&["runs", "recover", LEDGER], 0, "")?;
    story.command(&["runs", "events", LEDGER], 0, "run.dispatch.requested")?;
    story.command(&["runs", "diff", LEDGER, "1", "5"], 0, "dispatching")?;
    story.command(&["doctor"], 0, "ok")?;

    story.end()
}

/// The first child: killed when its fourth snapshot is committed and not exported.
fn letters(stop: &Stop, folder: &Path) -> Result<(), Error> {
    let options = stop.at(Step::Committed, 4);
    let (store, run_id, credentials) = begin(folder, LETTERS, "answer the letters of March", options)?;
    for status in ["planning", "dispatching", "synthesizing"] {
        set_status(&store, &run_id, status, &credentials)?;
    }
    Ok(())
}

/// The second child: killed between two writes.
fn ledger(stop: &Stop, folder: &Path) -> Result<(), Error> {
    let options = StoreOptions::default();
    let (store, run_id, credentials) = begin(folder, LEDGER, "close the ledger", options)?;
    for status in ["planning", "dispatching"] {
        set_status(&store, &run_id, status, &credentials)?;
    }
    stop.here()
}

/// A recovery that is killed when run.json is restored.
fn killed_recovery(stop: &Stop, folder: &Path) -> Result<(), Error> {
    let store = Store::open_existing(folder.join(STORE), stop.at(Step::Restored, 1))?;
    recovery::recover(&store, &RunId::parse(LETTERS)?, &recovery::Options::default()).map(|_| ())
}

fn begin(
    folder: &Path,
    run_id: &str,
    task: &str,
    options: StoreOptions,
) -> Result<(Store, RunId, Credentials), Error> {
    let store = Store::open(folder.join(STORE), options)?;
    let request = StartRequest {
        run_id: RunId::parse(run_id)?,
        task: task.to_owned(),
        cwd: folder.to_path_buf(),
        run_dir: None,
        owner_pid: std::process::id(),
        lease: None,
        token: None,
        workspace: None,
        journal: true,
        resume: false,
        wait: std::time::Duration::ZERO,
    };
    let started = run::start(&store, &request)?;
    let credentials = Credentials { token: Some(started.token), owner_pid: None };
    Ok((store, started.run_id, credentials))
}

fn set_status(store: &Store, run_id: &RunId, status: &str, credentials: &Credentials) -> Result<(), Error> {
    let change = StatusChange { status: status.to_owned(), ..StatusChange::default() };
    run::set_status(store, run_id, &change, credentials).map(|_| ())
}
