//! What a person can do about a failure: a sentence, with a command that runs as typed where there is one.
//!
//! A command begins as the caller's did, so that it means the same store.

use std::io;

use std::path::Path;
use std::time::Duration;

use legbook::Error;
use legbook::error::{
    CheckpointError, DoctorError, JournalError, LegacyError, LockError, RecoveryError, RunError, StageError,
    StoreError,
};
use legbook::id::RunId;

use super::{Failure, handoff};

/// Of an error that SQLite cannot explain further.
const FAILING_DISK: &str =
    "look at the disk that holds the store: it may be full, at a limit, or failing; then call again";

/// What to do about a failure. `program` is how a command for the same store begins.
pub(crate) fn remedy(failure: &Failure, program: &str) -> String {
    match failure {
        Failure::Output(_) => "send the output to a place that takes it; what the command did is done".into(),
        Failure::NoRun => format!("name the run, or set LEGBOOK_RUN: {program} runs list shows the runs"),
        Failure::Usage(_) => "`legbook --help` shows the commands; each has a --help of its own".into(),
        Failure::InputTooLarge { .. } => format!(
            "nothing was changed; give a smaller snapshot, or raise the bound: {program} db set max-checkpoint-bytes BYTES"
        ),
        Failure::Input(_) => "give a file, or a pipe that can be read to its end".into(),
        Failure::Unrecorded { run_id, .. } => {
            format!(
                "the lock's owner ends with this message; then end the run: {program} runs recover {run_id}"
            )
        }
        Failure::Unexported { run_id, source }
            if matches!(**source, Error::Run(RunError::Unreleased { .. })) =>
        {
            format!(
                "the lock's owner ends with this message; then remove the lock: {program} runs recover {run_id}"
            )
        }
        Failure::Unexported { run_id, .. } => {
            format!(
                "once run.json can be written, put it there from the store: {program} runs export {run_id}"
            )
        }
        Failure::TokenLost { run_id } => {
            format!("call again where the output is read: {program} runs start {run_id} --resume")
        }
        Failure::NothingSaved { pipeline, .. } => {
            format!("`{program} stage status --pipeline {pipeline}` shows what is saved")
        }
        Failure::Library(error) | Failure::Unrecovered(error) => library_remedy(error, program),
        Failure::NotBegun { source, token_known, .. } if is_export(source) => {
            begun(source, *token_known, program)
        }
        Failure::NotBegun { source, waited, of_command, .. } => {
            not_begun(source, *waited, *of_command, program)
        }
        Failure::Unchecked { source, named: true, .. }
            if matches!(**source, Error::Store(StoreError::Absent { .. })) =>
        {
            "check the path: nothing is there".into()
        }
        Failure::Artifact { source, .. }
        | Failure::HeadsNotKept { source }
        | Failure::Unchecked { source, .. } => library_remedy(source, program),
        Failure::Leg { source: Error::Handoff(error), call } => handoff::remedy(error, call),
        Failure::Leg { source: Error::Store(StoreError::Absent { .. }), call } => {
            format!("begin a round, which makes it: {}", call.command("nominate"))
        }
        Failure::Leg { source, .. } => library_remedy(source, program),
        Failure::Degraded { .. } => {
            "the output is whole; sweep again once these sources answer, or call without --strict".into()
        }
    }
}

fn is_export(error: &Error) -> bool {
    matches!(error, Error::Run(RunError::Export { .. }))
}

/// Of a run that was begun and has no run.json.
fn begun(error: &Error, token_known: bool, program: &str) -> String {
    let Error::Run(RunError::Export { run_id, source }) = error else {
        return library_remedy(error, program);
    };
    let cause = match &**source {
        Error::Run(RunError::Obstacle { path, .. }) => move_away(path),
        source => library_remedy(source, program),
    };
    if token_known {
        format!("{cause}; then make the same call again: the run has begun, and your token holds its lock")
    } else {
        format!(
            "{cause}; the run has begun and its lock is released; then: {program} runs start {run_id} --resume"
        )
    }
}

/// Of a run that was not begun.
fn not_begun(error: &Error, waited: Duration, of_command: bool, program: &str) -> String {
    match error {
        Error::Run(RunError::Exists(_)) if of_command => "give another --run-id, or leave it out".into(),
        Error::Lock(LockError::Held { owner, .. }) if is_inside(&owner.run_id) => format!(
            "you are inside run {0}: report with `{program} runs status {0} STATUS`, or use another workspace",
            owner.run_id
        ),
        Error::Lock(
            LockError::Held { .. } | LockError::HeldByItself { .. } | LockError::OwnerUnknown { .. },
        ) if !waited.is_zero() => {
            format!(
                "waited {} for it; {}",
                humantime::format_duration(waited),
                library_remedy(error, program)
            )
        }
        _ => library_remedy(error, program),
    }
}

/// Whether this call was made by the command of that very run.
fn is_inside(run_id: &RunId) -> bool {
    std::env::var("LEGBOOK_RUN").is_ok_and(|inside| inside == run_id.as_str())
}

fn library_remedy(error: &Error, program: &str) -> String {
    match error {
        Error::Io { source, .. } => io_remedy(source).into(),
        Error::Json(_) => "give valid JSON in UTF-8; nothing was changed".into(),
        Error::Id(_) => format!(
            "`{program} runs list` shows the runs there are; a new id is 1 to 128 letters, digits, '.', '_', '-'"
        ),
        Error::Setting(_) => format!("`{program} db info` shows each bound, its value and what it allows"),
        Error::Journal(error) => journal_remedy(error, program),
        Error::Checkpoint(error) => checkpoint_remedy(error, program),
        Error::Run(error) => run_remedy(error, program),
        Error::Lock(error) => lock_remedy(error, program),
        Error::Recovery(error) => recovery_remedy(error, program),
        Error::Projection(_) => format!(
            "the run itself is as it was; `{program} runs readiness RUN` tells whether its journal can stand for it"
        ),
        Error::Doctor(DoctorError::NoHeadsFile { .. }) => {
            "name the file that doctor made, or one that is not there: it is made then".into()
        }
        Error::Doctor(DoctorError::HeadsChanged { .. }) => {
            "another doctor may have written it; make the same call again to compare with it as it is now"
                .into()
        }
        Error::Legacy(error) => legacy_remedy(error, program),
        Error::Stage(error) => stage_remedy(error, program),
        Error::Store(error) => store_remedy(error, program),
        _ => format!("`{program} doctor` tells what is wrong with which run"),
    }
}

fn journal_remedy(error: &JournalError, program: &str) -> String {
    match error {
        JournalError::TooManyEvents { run_id, bound, .. } => format!(
            "nothing was changed; raise the bound: {program} db set max-journal-events {}; or end the run: {program} runs finish {run_id}",
            bound.saturating_mul(2)
        ),
        JournalError::TooManyBytes { run_id, bound, .. } => format!(
            "nothing was changed; raise the bound: {program} db set max-journal-bytes {}; or end the run: {program} runs finish {run_id}",
            bound.saturating_mul(2)
        ),
        _ => format!("`{program} doctor --full` tells what is wrong with which run"),
    }
}

fn checkpoint_remedy(error: &CheckpointError, program: &str) -> String {
    match error {
        CheckpointError::TooLarge { size, .. } => {
            format!("nothing was changed; raise the bound: {program} db set max-checkpoint-bytes {size}")
        }
        _ => format!(
            "nothing was changed; `{program} doctor --full` lists each run that this checkpoint belongs to"
        ),
    }
}

/// How a run is ended that no lock belongs to.
fn take_up_and_end(run_id: &dyn std::fmt::Display, program: &str) -> String {
    format!(
        "resume it and finish it with the token that is printed: {program} runs start {run_id} --resume --lease 1m; \
         {program} runs finish {run_id} failed --token TOKEN"
    )
}

fn run_remedy(error: &RunError, program: &str) -> String {
    match error {
        RunError::Unknown(_) => format!("`{program} runs list` shows the runs there are"),
        RunError::NoRuns => format!("begin one: {program} runs start RUN_ID"),
        RunError::Exists(run_id) => {
            format!("take another id, or take the run up again: {program} runs start {run_id} --resume")
        }
        RunError::NoDirectory(run_id) => {
            format!(
                "give the run a directory: {program} runs export {run_id}; to end the run, {}",
                take_up_and_end(run_id, program)
            )
        }
        RunError::NotOwner(run_id) => format!("take the lock again: {program} runs start {run_id} --resume"),
        RunError::DirectoryTaken { .. } => "give another directory with --run-dir, or leave it out".into(),
        RunError::UnknownStatus { .. } => format!("`{program} runs status --help` lists the words"),
        RunError::NotTerminal(status) => format!(
            "write it with `{program} runs status RUN {status}`, or finish with ok, failed, canceled, timeout, dry-run or incomplete"
        ),
        RunError::Ended { run_id, locked: true, .. } => format!(
            "let its lock go: {program} runs finish {run_id}; then it can be taken up again: {program} runs start {run_id} --resume"
        ),
        RunError::Ended { run_id, .. } => {
            format!("take the run up again: {program} runs start {run_id} --resume")
        }
        RunError::NoSnapshot { run_id, .. } => {
            format!("write a whole snapshot: {program} runs write {run_id} FILE")
        }
        RunError::NoJournal(run_id) => {
            format!("its only snapshot is its run.json; `{program} runs show {run_id}` tells where")
        }
        RunError::NoSnapshotAt { run_id, .. } => {
            format!("`{program} runs events {run_id}` lists the sequences")
        }
        RunError::Export { run_id, source } => format!(
            "{}; the snapshot is safe: write it again, or once the owner is gone: {program} runs export {run_id}",
            library_remedy(source, program)
        ),
        RunError::Unreleased { run_id, source } => format!(
            "{}; then make the same call again, which releases the lock; without the token, once its owner has ended: {program} runs recover {run_id}",
            library_remedy(source, program)
        ),
        RunError::ExportBusy { .. } => {
            "call again; `fuser` on the .run.json.lock beside it names the process".into()
        }
        RunError::Obstacle { path, .. } => {
            format!("{}; then call again", move_away(path))
        }
        RunError::LiveOwner(run_id) => {
            format!("let the owner write, or see who it is: {program} runs lock {run_id}")
        }
        RunError::DeadOwner { run_id, .. } => format!(
            "recover that run first: {program} runs recover {run_id}; or, with its token, just write on"
        ),
        _ => format!("`{program} runs show RUN` tells how the run stands"),
    }
}

fn lock_remedy(error: &LockError, program: &str) -> String {
    match error {
        LockError::Held { owner, .. } => format!(
            "wait for that run with --wait SECONDS, work in another workspace, or look: {program} runs lock {}",
            owner.run_id
        ),
        LockError::HeldByItself { owner, .. } => format!(
            "go on with the token you have, or end the run with it: {program} runs finish {0}; without it: end that process or wait for its lease, then {program} runs recover {0}",
            owner.run_id
        ),
        LockError::OwnerUnknown { owner, .. } => {
            format!("if you know that it is dead: {program} runs recover {} --owner-is-dead", owner.run_id)
        }
        LockError::OwnerVisible { owner } => {
            format!("end that process first; {program} runs lock {} shows it", owner.run_id)
        }
        LockError::OwnerNotRunning { .. } => "name a living process with --pid, or leave it out".into(),
        LockError::Claimed { claimer } => {
            format!(
                "wait for that recovery; if it is dead, another takes over: {program} runs recover {}",
                claimer.run_id
            )
        }
        LockError::NotLocked { run_id } | LockError::LockedElsewhere { run_id } => {
            format!("take the lock in its workspace: {program} runs start {run_id} --resume")
        }
        LockError::NoToken { run_id }
        | LockError::UnknownToken { run_id }
        | LockError::TokenOfAnotherRun { run_id, .. } => format!(
            "give the token that the last `{program} runs start {run_id}` printed (a later --resume makes a new one): --token TOKEN or LEGBOOK_TOKEN; where it is lost, end the owner, or wait for its lease, and: {program} runs recover {run_id}"
        ),
        LockError::TokenInUse { holder } => format!(
            "each lock has a token of its own: give another one, which `{program} token` prints; or end that run: {program} runs finish {holder}"
        ),
        LockError::WorkspaceOutside { .. } => {
            "name a folder inside the workspace with --workspace or LEGBOOK_WORKSPACE".into()
        }
        LockError::MalformedToken => format!(
            "give the whole token that `{program} runs start RUN_ID` printed: --token TOKEN or LEGBOOK_TOKEN"
        ),
        LockError::Lease { .. } => "give a --lease like 90s, 30m or 2h".into(),
        LockError::WorkspaceNotUtf8 { .. } => "work in a directory whose path is UTF-8".into(),
        _ => format!("`{program} doctor` tells what is wrong with which run"),
    }
}

fn recovery_remedy(error: &RecoveryError, program: &str) -> String {
    match error {
        RecoveryError::StillActive { owner, judged: false, .. } => format!(
            "if you know that it is dead: {program} runs recover {} --owner-is-dead; who it is: {program} runs lock {0}",
            owner.run_id
        ),
        RecoveryError::StillActive { owner, .. } => {
            format!("let it work, or end it first; who it is: {program} runs lock {}", owner.run_id)
        }
        RecoveryError::ForeignLock { holder, .. } => {
            format!("recover the run that holds the workspace's lock: {program} runs recover {holder}")
        }
        RecoveryError::InvalidLock { run_id, .. } => format!(
            "keep a copy of the store, then look at the row: sqlite3 \"$({program} db path)\" \"SELECT * FROM locks\"; {program} runs lock {run_id}"
        ),
        RecoveryError::NoLock { run_id, journaled: true } => {
            format!(
                "put the store's last snapshot back as run.json: {program} runs export {run_id}; to end the run, {}",
                take_up_and_end(run_id, program)
            )
        }
        RecoveryError::NoLock { run_id, .. } => {
            format!("to end the run, {}", take_up_and_end(run_id, program))
        }
        RecoveryError::DirectoryGone { run_id, found: Some(found), .. } => {
            let found = quoted(found);
            format!("it may be {found}: {program} runs recover {run_id} --run-dir {found}")
        }
        RecoveryError::DirectoryGone { run_id, .. } => {
            format!("tell where the run directory is now: {program} runs recover {run_id} --run-dir DIR")
        }
        RecoveryError::Unfinished { run_id, source, .. } => format!(
            "{}; then call again, which goes on from there: {program} runs recover {run_id}",
            library_remedy(source, program)
        ),
        RecoveryError::ClaimLost { run_id } | RecoveryError::JournalMoved { run_id } => {
            format!("call again: {program} runs recover {run_id}")
        }
        _ => format!(
            "nothing was changed; keep a copy of the store, and put back the last one that was whole; `{program} doctor --full` tells more"
        ),
    }
}

fn legacy_remedy(error: &LegacyError, program: &str) -> String {
    match error {
        LegacyError::Refused { rule, .. } if rule.starts_with("bound exceeded") => {
            format!(
                "nothing was changed; `{program} db info` shows the bounds, and `{program} db set` raises one"
            )
        }
        LegacyError::NewerFormat { events: Some(events), .. } => format!(
            "nothing of the directory was taken; raise the limit, then import again: {program} db set max-journal-events {events}"
        ),
        LegacyError::NewerFormat { .. } => {
            "nothing of the directory was taken; leave it as it is, and import it with a newer legbook".into()
        }
        LegacyError::Refused { directory, file, .. }
            if [".", ".brigade", ".brigade/runs"].contains(&file.as_str()) =>
        {
            real_directory(&directory.join(file))
        }
        LegacyError::Refused { directory, .. } => format!(
            "nothing of the directory was taken; what doctor says of it: legbook doctor --legacy {}",
            shlex::try_quote(&directory.to_string_lossy()).unwrap_or_else(|_| "DIR".into())
        ),
        LegacyError::NotARun { .. } => {
            "name a run directory, a folder of them, or a workspace with a .brigade/runs".into()
        }
        LegacyError::Taken { .. } => "nothing was changed; name another --to, or move that away".into(),
        LegacyError::Nothing { run_id } => format!("`{program} runs show {run_id}` tells how the run stands"),
        _ => format!("`{program} doctor --full` tells what is wrong with which run"),
    }
}

/// Names the directory that stands behind a link: a link itself is never followed.
fn real_directory(link: &Path) -> String {
    let real = std::fs::canonicalize(link).ok().filter(|real| real.is_dir() && real != link);
    let Some(real) = real else {
        return "name a run directory itself, or a folder of run directories".into();
    };
    // Behind `.brigade` the runs are one folder below.
    let runs = real.join("runs");
    let real = if link.ends_with(".brigade") && runs.is_dir() { runs } else { real };
    format!("call again with the directory itself: {}", quoted(&real))
}

fn stage_remedy(error: &StageError, program: &str) -> String {
    let words = match error {
        StageError::Name { .. } => "a stage's name is a-z, 0-9, '_' and '-', with a letter or digit in front",
        StageError::Pipeline { .. } => "give another --pipeline or LEGBOOK_PIPELINE",
        StageError::TooLarge { limit } => {
            let more = limit.saturating_mul(2);
            return format!(
                "nothing was changed; raise the bound: {program} db set max-artifact-bytes {more}"
            );
        }
        StageError::Completed { stage, pipeline } => {
            return format!(
                "take another name, or drop the stage first: {program} stage invalidate {stage} --pipeline {pipeline}"
            );
        }
        StageError::NoRun { pipeline } => {
            return format!("begin one: {program} stage begin --pipeline {pipeline}");
        }
        StageError::Damaged { pipeline, .. } => {
            return format!(
                "see {program} doctor --full; to start over: {program} stage begin --fresh --pipeline {pipeline}"
            );
        }
        StageError::DigestMismatch { stage, pipeline } => {
            return format!("make it again after: {program} stage invalidate {stage} --pipeline {pipeline}");
        }
        StageError::Unsafe { .. } => "nothing was changed; put the file itself there, if you trust it",
        StageError::NoManifest { .. } => "name the directory that holds manifest.json; nothing was changed",
        StageError::Taken { .. } => "name a directory that is not there yet",
        _ => return format!("`{program} stage status` shows how the run stands"),
    };
    words.to_owned()
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

fn store_remedy(error: &StoreError, program: &str) -> String {
    let words = match error {
        StoreError::Absent { .. } => {
            return format!(
                "name the store with --store FILE, or begin a run, which makes it: {program} runs start RUN_ID"
            );
        }
        StoreError::Unsafe { path, .. } if path.is_dir() => return inside(path),
        StoreError::Unsafe { .. } => "name the store's own file with --store FILE, not a link to it",
        StoreError::UnsafeSideFile { .. } => {
            "move that side file away, if no program has the store open, and call again"
        }
        StoreError::ForeignOwner { .. } => "name it with --store FILE, if you mean it and trust its owner",
        StoreError::NotADatabase { .. } | StoreError::ForeignDatabase { .. } => {
            "nothing was changed; name a store of legbook, or a path that is free, with --store FILE"
        }
        StoreError::Unmarked { path } => {
            let path = path.to_string_lossy();
            let path = shlex::try_quote(&path).unwrap_or(std::borrow::Cow::Borrowed(&path));
            return format!(
                "mark it: sqlite3 {path} 'PRAGMA application_id = {}; PRAGMA user_version = {};'",
                legbook::db::APPLICATION_ID,
                legbook::db::SCHEMA_VERSION
            );
        }
        StoreError::Truncated { .. } => {
            return format!("nothing was changed; what can be done: {program} doctor");
        }
        StoreError::NewerSchema { .. } => "nothing was changed; use a newer legbook",
        StoreError::DevelopmentSchema { .. } => {
            "nothing was changed; run `runs export --all --to DIR` with the legbook that made the store, then `runs import DIR` with this one into a new store"
        }
        StoreError::Unopenable { .. } => {
            "give yourself read and write permission for the store and its folder, free space on its file system, and call again"
        }
        StoreError::Busy | StoreError::Pool(_) => {
            "call again; `fuser` on the store's file names the process that keeps it locked"
        }
        StoreError::Unsettled { .. } => "call again: somebody opened and closed the store at each look",
        StoreError::RollbackJournal { .. } => {
            "call again once its writer has ended; after a crash, any legbook command that opens the store finishes it"
        }
        StoreError::Replaced { .. } => {
            "what was just written went with the old file; put the old file back, or begin anew in the new one"
        }
        StoreError::Copy { home, .. } => {
            return format!(
                "use the store: legbook --store {}; or make the copy a store of its own: {program} db adopt --fork",
                quoted(home)
            );
        }
        StoreError::Full => "free space on the store's file system, and call again",
        StoreError::ReadOnly => "make the store, its folder and its file system writable, and call again",
        StoreError::Schema { .. } | StoreError::Endless => {
            return format!("nothing was changed; what is wrong and what puts it right: {program} doctor");
        }
        StoreError::Corrupt(_) | StoreError::Value(_) => {
            return format!(
                "keep a copy of the file and its -wal; what is damaged and what puts it right: {program} doctor --full"
            );
        }
        StoreError::Refused(_) => "a rule of the store holds for every writer; docs/FORMAT.md lists them",
        StoreError::NotMade { .. } => FAILING_DISK,
        StoreError::Sqlite(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) =>
        {
            FAILING_DISK
        }
        StoreError::Sqlite(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::CannotOpen) => {
            "SQLite needs a -wal and a -shm beside the store: free space there, give yourself the permission to write, and call again"
        }
        _ => return format!("call again; `{program} db path` shows which store is meant"),
    };
    words.to_owned()
}

/// Of a directory that was named as a store.
fn inside(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    let stores = ["store.db", ".legbook/store.db"].map(|name| directory.join(name));
    match stores.iter().find(|store| store.is_file()) {
        Some(store) => format!("name the file: --store {}", quoted(store)),
        None => "it is a directory, and no store is in it; name a file".into(),
    }
}

fn move_away(path: &Path) -> String {
    let away = format!("{}.away", path.display());
    format!("move it away: mv {} {}", quoted(path), quoted(Path::new(&away)))
}

/// A path as it is typed.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    shlex::try_quote(&path).map_or_else(|_| "PATH".to_owned(), |quoted| quoted.into_owned())
}
