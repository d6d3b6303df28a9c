//! The one place where a failure becomes an exit code and a remedy (contract store.md, Exit codes).
//!
//! The library says what was refused and why; what a shell sees of it and what a person can do about it is decided
//! here: exit codes in this file, each group of commands with its [`Policy`]; remedies in `remedy.rs`, those of the
//! handoff's legs in `handoff.rs`.

mod handoff;
mod remedy;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use legbook::Error;
use legbook::error::{HandoffError, RecoveryError, RunError, StoreError};
use legbook::id::RunId;
use legbook::stage::{PipelineName, StageName};
use nix::sys::signal::Signal;

pub(crate) use handoff::LegCall;
pub(crate) use remedy::remedy;

/// How a command ended, as the number that the shell sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(u8);

impl Exit {
    /// Done.
    pub(crate) const DONE: Self = Self(0);
    /// The command's own failure: the operating system, a busy or full store. Doctor: warn.
    pub(crate) const FAILED: Self = Self(1);
    /// Refused: contract, safety, usage. Doctor: fail.
    pub(crate) const REFUSED: Self = Self(2);
    /// Stage: load found nothing saved.
    pub(crate) const NOTHING_SAVED: Self = Self(2);
    /// Doctor: could not check.
    pub(crate) const UNCHECKED: Self = Self(3);
    /// Done, with degraded coverage under strict.
    pub(crate) const DEGRADED: Self = Self(3);

    /// The number.
    pub(crate) const fn code(self) -> u8 {
        self.0
    }

    /// The exit code that tells of an end by `signal`: 128 and its number.
    pub(crate) fn after_signal(signal: Signal) -> Self {
        Self(u8::try_from(128 + signal as i32).unwrap_or(u8::MAX))
    }

    /// The exit code of a child, passed on.
    pub(crate) const fn passed_on(code: u8) -> Self {
        Self(code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library refused, or failed.
    #[error(transparent)]
    Library(#[from] Error),
    /// The answer could not be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[source] io::Error),
    /// A run was begun and its token reached nobody, so its lock was let go again.
    #[error("the token of {run_id} could not be written to the standard output; the run's lock was let go")]
    TokenLost {
        /// The run.
        run_id: RunId,
    },
    /// No run was named.
    #[error("no RUN is given, and LEGBOOK_RUN is not set")]
    NoRun,
    /// A word of the command line that the command itself reads.
    #[error("{0}")]
    Usage(String),
    /// The standard input could not be read.
    #[error("cannot read the standard input: {0}")]
    Input(#[source] io::Error),
    /// What was given is larger than anything that could be taken. It was not read to its end.
    #[error("{} is larger than {most} bytes", origin.display())]
    InputTooLarge {
        /// The file, or words for the standard input.
        origin: PathBuf,
        /// The most that is read, in bytes.
        most: u64,
    },
    /// What was given to be saved is no artifact.
    #[error("stage {stage:.100} is not saved: {source}")]
    Artifact {
        /// The stage or marker.
        stage: StageName,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// There is no artifact to load.
    #[error("nothing is saved under {stage:.100}")]
    NothingSaved {
        /// The stage or marker.
        stage: StageName,
        /// Where it was looked for.
        pipeline: PipelineName,
    },
    /// Doctor could not check a store.
    #[error("cannot check {}: {source}", store.display())]
    Unchecked {
        /// The store as it was named.
        store: PathBuf,
        /// Whether somebody named it.
        named: bool,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// Doctor has told what it found, and could not read or write the heads file.
    #[error("the heads were not kept: {source}")]
    HeadsNotKept {
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// A run was not recovered. That its run.json can't be read refuses a recovery, as a fault in its journal does.
    #[error(transparent)]
    Unrecovered(Error),
    /// A run was not begun, or not taken up again.
    #[error("{source}")]
    NotBegun {
        /// Why.
        source: Box<Error>,
        /// How long the workspace's lock was waited for.
        waited: Duration,
        /// Whether the caller has the token, so that the same call again goes on.
        token_known: bool,
        /// Whether it was to be the run of one command (`legbook run`).
        of_command: bool,
    },
    /// A command has ended, and how it ended could not be written to its run.
    #[error("the command has ended, and its run {run_id} does not say so: {source}")]
    Unrecorded {
        /// The run.
        run_id: RunId,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// A command has ended, and its run says so in the store alone: run.json could not be replaced.
    #[error("the command has ended; {source}")]
    Unexported {
        /// The run.
        run_id: RunId,
        /// Why.
        #[source]
        source: Box<Error>,
    },
    /// A leg of the handoff failed.
    #[error("{source}")]
    Leg {
        /// Why.
        source: Error,
        /// How the legs of its round are typed.
        call: Box<LegCall>,
    },
    /// A leg of the handoff is done, and its output is out, but coverage is degraded and the call is strict.
    #[error("done, with degraded coverage: {sources}")]
    Degraded {
        /// The sources that did not answer in full, each with its state.
        sources: String,
    },
}

impl From<HandoffError> for Failure {
    fn from(error: HandoffError) -> Self {
        Self::Library(error.into())
    }
}

/// Which exit codes a group of commands gives for failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// 1 for a failure of its own, 2 for what is refused.
    General,
    /// A run that is shown or watched: 1 is how the run ended, so whatever keeps it from being shown is 2.
    Shown,
    /// Doctor: whatever kept it from checking is 3; 1 and 2 are verdicts.
    Doctor,
    /// Stage: 1 for everything, as its script; 2 only where load finds nothing saved.
    Stage,
}

impl Policy {
    /// The policy of a top-level command, and of the verb below it.
    pub(crate) fn of(command: Option<&str>, verb: Option<&str>) -> Self {
        match (command, verb) {
            (Some("doctor"), _) => Self::Doctor,
            (Some("stage"), _) => Self::Stage,
            (Some("runs"), Some("show" | "watch")) => Self::Shown,
            _ => Self::General,
        }
    }

    /// The exit code of a command line that can't be understood.
    pub(crate) fn usage(self) -> Exit {
        match self {
            Self::General | Self::Shown => Exit::REFUSED,
            Self::Doctor => Exit::UNCHECKED,
            Self::Stage => Exit::FAILED,
        }
    }

    /// The exit code of a failure.
    pub(crate) fn failure(self, failure: &Failure) -> Exit {
        match self {
            _ if matches!(failure, Failure::Degraded { .. }) => Exit::DEGRADED,
            Self::General if is_own_failure(failure) => Exit::FAILED,
            Self::General | Self::Shown => Exit::REFUSED,
            Self::Doctor => Exit::UNCHECKED,
            Self::Stage if matches!(failure, Failure::NothingSaved { .. }) => Exit::NOTHING_SAVED,
            Self::Stage => Exit::FAILED,
        }
    }
}

/// Whether the machine failed the command, rather than legbook refusing it.
fn is_own_failure(failure: &Failure) -> bool {
    match failure {
        Failure::Output(_) | Failure::TokenLost { .. } | Failure::Input(_) => true,
        Failure::NothingSaved { .. } | Failure::NoRun | Failure::Usage(_) | Failure::InputTooLarge { .. } => {
            false
        }
        Failure::Library(error) => is_the_machines(error),
        Failure::Unrecovered(error) => !matches!(error, Error::Io { .. }) && is_the_machines(error),
        Failure::Unexported { .. } => true,
        Failure::Artifact { source, .. }
        | Failure::Unrecorded { source, .. }
        | Failure::HeadsNotKept { source }
        | Failure::Unchecked { source, .. } => is_the_machines(source),
        Failure::Leg { source, .. } => is_the_machines(source),
        Failure::NotBegun { source, .. } => is_the_machines(source),
        Failure::Degraded { .. } => false,
    }
}

/// [`is_own_failure`] of the library's errors.
pub(crate) fn is_the_machines(error: &Error) -> bool {
    match error {
        Error::Io { .. } => true,
        Error::Run(RunError::Export { .. } | RunError::Unreleased { .. } | RunError::ExportBusy { .. }) => {
            true
        }
        Error::Recovery(RecoveryError::Unfinished { .. }) => true,
        Error::Store(error) => matches!(
            error,
            StoreError::Busy
                | StoreError::Full
                | StoreError::ReadOnly
                | StoreError::Unopenable { .. }
                | StoreError::Pool(_)
                | StoreError::NotMade { .. }
                | StoreError::Sqlite(_)
        ),
        _ => false,
    }
}
