//! `legbook runs watch`: a run as it goes on, until it has ended.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use clap::Args;
use legbook::clock::store_time;
use legbook::digest::Digest;
use legbook::id::RunId;
use legbook::json::{self, Value};
use legbook::lock::{self, LockState};
use legbook::run::{self, Details};
use nix::poll::{PollFd, PollFlags, PollTimeout};

use super::RunArgument;
use super::show;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{moment, nullable, object, printable};

/// How often a watched run is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Follow a run until it has ended
#[derive(Debug, Args)]
#[command(after_help = "\
A line for each change of the status, the journal or the lock; with --json one object a line. A dead owner is told with \
the command that recovers the run, and watching goes on: the run may be recovered, or its next write may come.

Exit codes, as of show: 0; 1 where the run has ended neither ok nor dry-run; 2 where it can't be shown.

Example:
  legbook runs watch latest --json | jq -r .status")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let mut seen = None;
    loop {
        let details = run::show(&store, &run_id)?;
        let lock = lock::state(&store, details.run.workspace.as_deref(), &run_id)?;
        let look = Look::of(&details, &lock);
        if seen.as_ref() != Some(&look) {
            let recover = show::recover_command(context, &run_id, &lock);
            let now = store_time(store.clock().now());
            let text = match context.render.json() {
                true => json::line(&look.object(&run_id, &now, &lock, recover.as_deref())) + "\n",
                false => look.line(&now),
            };
            if !context.render.stream(text.as_bytes())? {
                return Ok(Exit::DONE);
            }
            let told = seen.as_ref().is_some_and(|before: &Look| before.lock == look.lock);
            if let Some(recover) = recover.filter(|_| !told) {
                context.render.note(&format!("the owner is dead; end the run with: {recover}"));
            }
            seen = Some(look);
        }
        if show::has_ended(&details) {
            return Ok(show::exit(&details));
        }
        if nobody_reads() {
            return Ok(Exit::DONE);
        }
        store.clock().sleep(POLL);
    }
}

/// What a line tells; another line comes when this has changed.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    status: Option<String>,
    events: i64,
    snapshot: Option<Digest>,
    lock: &'static str,
    ended: bool,
}

impl Look {
    fn of(details: &Details, lock: &LockState) -> Self {
        Self {
            status: details.run.status.clone(),
            events: details.events,
            snapshot: details.last_snapshot.map(|(sha256, _)| sha256),
            lock: lock.word(),
            ended: show::has_ended(details),
        }
    }

    fn object(&self, run_id: &RunId, now: &str, lock: &LockState, recover: Option<&str>) -> Value {
        object([
            ("run_id", run_id.as_str().into()),
            ("seen_at", now.into()),
            ("status", nullable(self.status.as_deref())),
            ("ended", self.ended.into()),
            ("events", self.events.into()),
            ("snapshot_sha256", nullable(self.snapshot.map(Digest::to_hex))),
            ("lock_state", self.lock.into()),
            ("lock_why", nullable(lock.why())),
            ("recover", nullable(recover)),
        ])
    }

    fn line(&self, now: &str) -> String {
        let status = printable(self.status.as_deref().unwrap_or("-"));
        format!("{}  {status:<19}  {:>6} events  lock {}\n", moment(Some(now)), self.events, self.lock)
    }
}

/// Whether the reader of stdout has gone. A run that stands still prints nothing, so no write would ever tell.
fn nobody_reads() -> bool {
    let stdout = io::stdout();
    let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP;
    nix::poll::poll(&mut polled, PollTimeout::ZERO).is_ok()
        && polled.iter().any(|polled| polled.revents().is_some_and(|events| events.intersects(gone)))
}
