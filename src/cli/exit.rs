//! The one place where a failure becomes an exit code and a remedy (contract store.md, Exit codes).
//!
//! The library says what was refused and why; what a shell sees of it and what a person can do about it is decided
//! here. Each group of commands has a [`Policy`]. A remedy is a sentence, with a command that runs as typed where
//! there is one.

use std::io;
use std::process::ExitCode;

use legbook::Error;
use legbook::error::StoreError;

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
    /// Doctor: could not check.
    pub(crate) const UNCHECKED: Self = Self(3);

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
    /// The standard input could not be read.
    #[error("cannot read the standard input: {0}")]
    Input(#[source] io::Error),
    /// The command line asks for what can't be, in a way that its grammar does not tell.
    #[error("{message}")]
    Usage {
        /// What was refused and why.
        message: String,
        /// What to do about it.
        remedy: String,
    },
}

/// Which exit codes a group of commands gives for failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// 1 for a failure of its own, 2 for what is refused.
    General,
    /// Doctor: whatever kept it from checking is 3; 1 and 2 are verdicts.
    Doctor,
}

impl Policy {
    /// The policy of a top-level command.
    pub(crate) fn of(command: Option<&str>) -> Self {
        match command {
            Some("doctor") => Self::Doctor,
            _ => Self::General,
        }
    }

    /// The exit code of a command line that can't be understood.
    pub(crate) fn usage(self) -> Exit {
        match self {
            Self::General => Exit::REFUSED,
            Self::Doctor => Exit::UNCHECKED,
        }
    }

    /// The exit code of a failure.
    pub(crate) fn failure(self, failure: &Failure) -> Exit {
        match self {
            Self::General if is_own_failure(failure) => Exit::FAILED,
            Self::General => Exit::REFUSED,
            Self::Doctor => Exit::UNCHECKED,
        }
    }
}

/// Whether the machine failed the command, rather than legbook refusing it.
fn is_own_failure(failure: &Failure) -> bool {
    match failure {
        Failure::Output(_) | Failure::Input(_) => true,
        Failure::Usage { .. } => false,
        Failure::Library(Error::Io { .. }) => true,
        Failure::Library(Error::Store(error)) => matches!(
            error,
            StoreError::Busy
                | StoreError::Full
                | StoreError::ReadOnly
                | StoreError::Unopenable { .. }
                | StoreError::Pool(_)
                | StoreError::Sqlite(_)
        ),
        Failure::Library(_) => false,
    }
}

/// What to do about a failure.
pub(crate) fn remedy(failure: &Failure) -> String {
    match failure {
        Failure::Usage { remedy, .. } => remedy.clone(),
        Failure::Output(_) => "send the output to a place that takes it; what the command did is done".into(),
        Failure::Input(_) => "give a file instead of -, or a pipe that can be read".into(),
        Failure::Library(error) => library_remedy(error),
    }
}

fn library_remedy(error: &Error) -> String {
    match error {
        Error::Io { source, .. } => io_remedy(source).into(),
        Error::Json(_) => "give one JSON object in UTF-8, as `python3 -m json.tool FILE` accepts it".into(),
        Error::Id(_) => "name a run by 1 to 128 letters, digits, '.', '_' and '-'; `legbook runs list` shows those there are".into(),
        Error::Setting(_) => "`legbook db info` shows each bound, its value and what it allows".into(),
        Error::Store(error) => store_remedy(error).into(),
        _ => "`legbook doctor` tells what is wrong with which run".into(),
    }
}

fn io_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check the path: something on it does not exist",
        io::ErrorKind::PermissionDenied => "give yourself the permission for that path, or use another one",
        io::ErrorKind::ReadOnlyFilesystem => "make the file system writable, or use a path on another one",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space on that file system and call again"
        }
        io::ErrorKind::IsADirectory => "name a file, not a directory",
        _ => "look at that path, then call again",
    }
}

fn store_remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Absent { .. } => {
            "name a store that is there with --store FILE, or make one: legbook runs start RUN_ID"
        }
        StoreError::Unsafe { .. } => "name the store's own file with --store FILE, not a link to it",
        StoreError::ForeignOwner { .. } => "name it with --store FILE, if you mean it and trust its owner",
        StoreError::NotADatabase { .. } | StoreError::ForeignDatabase { .. } => {
            "nothing was changed; name a store of legbook, or a path that is free, with --store FILE"
        }
        StoreError::NewerSchema { .. } => "nothing was changed; use a newer legbook",
        StoreError::Unopenable { .. } => {
            "give yourself read and write permission for the store and its folder"
        }
        StoreError::Busy | StoreError::Pool(_) => {
            "call again; `fuser` on the store's file names the process that keeps it locked"
        }
        StoreError::Full => "free space on the store's file system and call again; nothing was changed",
        StoreError::ReadOnly => {
            "make the store, its folder and its file system writable; nothing was changed"
        }
        StoreError::Corrupt(_) => {
            "keep a copy of the file and its -wal, then look at what `sqlite3 FILE .recover` gives"
        }
        StoreError::Refused(_) => "a rule of the store holds for every writer; docs/FORMAT.md lists them",
        _ => "call again; `legbook db info` shows which store is meant",
    }
}
