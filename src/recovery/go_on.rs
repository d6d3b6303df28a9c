//! One call for a leg: start the run, or go on with it after whatever happened to the leg before.
//!
//! Not one transaction but the calls that exist: [`recover`](super::recover) if the owner is dead, then
//! [`run::start`](crate::run::start). The rows are those that the two commands leave. A crash between them leaves a
//! recovered run, which the next call resumes.

use crate::db::Store;
use crate::error::{Error, Result, RunError};
use crate::id::RunId;
use crate::lock::{self, LockState};
use crate::run::{self, Details, StartRequest, Started, start};

use super::{Options, Outcome, recover};

/// What [`start_or_resume`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The id was new.
    Started,
    /// The run was known, and no lock of it was in the way.
    Resumed,
    /// The run's owner was dead: the run was recovered, then resumed.
    Recovered,
    /// The caller holds the lock already, by the token that it brings: an earlier call of the same start took it.
    Continued,
}

impl Way {
    /// The stable word: `started`, `resumed`, `recovered` or `continued`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Resumed => "resumed",
            Self::Recovered => "recovered",
            Self::Continued => "continued",
        }
    }
}

/// A run that goes on.
#[derive(Debug)]
pub struct GoneOn {
    /// The run and its token.
    pub started: Started,
    /// What was done.
    pub way: Way,
    /// The status that the leg before wrote last; `None` for a new run.
    pub last_status: Option<String>,
    /// The journal's last sequence before this call; `None` for a new run.
    pub last_sequence: Option<i64>,
    /// What the recovery did, if the owner was dead.
    pub recovered: Option<Outcome>,
}

/// Starts a new run. Resumes a known one, and recovers it first if its owner is dead. `request.resume` is ignored.
///
/// # Errors
/// As [`recover`] and [`start`]; a live owner refuses.
pub fn start_or_resume(store: &Store, request: &StartRequest) -> Result<GoneOn> {
    let run_id = &request.run_id;
    let mut request = StartRequest { resume: false, ..request.clone() };
    let before = match known(store, run_id)? {
        Some(before) => before,
        None => match start(store, &request) {
            Ok(started) => {
                return Ok(GoneOn {
                    started,
                    way: Way::Started,
                    last_status: None,
                    last_sequence: None,
                    recovered: None,
                });
            }
            // Somebody else was faster.
            Err(Error::Run(RunError::Exists(_))) => run::show(store, run_id)?,
            Err(error) => return Err(error),
        },
    };
    request.resume = true;
    let state = lock::state(store, None, run_id)?;
    let recovered = match state {
        LockState::Stale { .. } => {
            let run_dir = request.run_dir.as_ref().map(|run_dir| request.cwd.join(run_dir));
            Some(recover(store, run_id, &Options { run_dir, ..Options::default() })?)
        }
        _ => None,
    };
    let started = start(store, &request)?;
    let way = match () {
        () if recovered.is_some() => Way::Recovered,
        () if started.written.replayed => Way::Continued,
        () => Way::Resumed,
    };
    Ok(GoneOn { started, way, last_status: before.run.status, last_sequence: Some(before.events), recovered })
}

fn known(store: &Store, run_id: &RunId) -> Result<Option<Details>> {
    match run::show(store, run_id) {
        Ok(details) => Ok(Some(details)),
        Err(Error::Run(RunError::Unknown(_))) => Ok(None),
        Err(error) => Err(error),
    }
}
