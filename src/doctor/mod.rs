//! Doctor: whether what a store says can be relied on, and what to do where it can't (contract recovery.md, Doctor).
//!
//! Owns no table. It reads, in one transaction, and changes nothing: not the store, not its side files, not run.json, and it
//! waits for nobody's lock for longer than a reader does. What it finds is data: verdicts on runs, findings of the store.
//!
//! The questions are .sql files beside this code, compiled in. They ask the tables; views are switched off for them, no
//! trigger fires for a reader, and before they are asked the schema is compared with the one of this build.
//! A file that SQLite finds damaged is still asked, question by question; one that can't be answered is a finding.
//!
//! * `verdict`, `finding`, `report`: the data. `runs`: the verdict on a run. `schema`, `bounds`, `files`, `checks`: the
//!   store. `rows`: what the triggers guard, asked again. `heads`: what is kept outside. How the store is opened is db's `inspect`.

mod bounds;
mod checks;
mod files;
mod finding;
mod functions;
mod heads;
mod report;
mod rows;
mod runs;
mod schema;
mod verdict;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;

use rusqlite::{Connection, ErrorCode};

use schema::Expected;

use crate::clock::Clock;
use crate::db::home::{self, Place};
use crate::db::{inspect, location};
use crate::error::{Error, Result, StoreError};
use crate::lock::Judge;
use crate::process::ProcessTable;

pub(crate) use bounds::{Bounds, MAX_CHECKPOINT_BYTES, MAX_JOURNAL_BYTES, MAX_JOURNAL_EVENTS};
pub(crate) use runs::{Court, LIVE_OWNER, RECEIPT_ROOM, Run, Unread};
pub(crate) use verdict::Fault;

pub use finding::{Finding, Kind, Remedy, Severity};
pub use heads::Heads;
pub use report::{Counts, Examined, Outcome, Report, worst};
pub use verdict::{Reason, RunVerdict, Verdict};

/// How many of the newest runs are judged unless all are asked for, besides those that are locked or have not ended.
pub const NEWEST: usize = 50;

/// How often a store in which somebody writes is asked again, where a run.json did not fit what was read before it.
const ROUNDS: u32 = 3;

/// How many stores are looked at side by side at most.
const SIDE_BY_SIDE: usize = 8;

/// How doctor is to look.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Every run, every checkpoint's digest, every index.
    pub full: bool,
    /// Whether this process opens the stores in no other way meanwhile; then even a `-shm` that a killed writer left
    /// stays as it is, byte for byte.
    pub alone: bool,
    /// Heads to compare with, where they are wanted; an empty one compares nothing and collects them.
    pub heads: Option<&'a Heads>,
    /// Whether journals that went backwards are accepted: the heads are collected and not compared.
    pub accept_heads: bool,
    /// The only source of time.
    pub clock: &'a dyn Clock,
    /// What can be seen of other processes; a lock's owner is judged by it.
    pub processes: &'a dyn ProcessTable,
    /// Is told how far doctor is.
    pub progress: &'a dyn Progress,
}

/// Is told how far doctor is, from any thread.
pub trait Progress: Sync + std::fmt::Debug {
    /// So many steps more are to be done.
    fn more(&self, steps: u64);
    /// A step is done.
    fn step(&self);
}

/// Looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn more(&self, _steps: u64) {}
    fn step(&self) {}
}

/// Looks at the stores at `paths`, several at once, and answers in their order. With heads, the stores that they know and that
/// are gone follow.
pub fn examine_all(paths: &[PathBuf], options: Options<'_>) -> Vec<Examined> {
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(SIDE_BY_SIDE);
    let waiting = Mutex::new(paths.iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(paths.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(paths.len()) {
            scope.spawn(|| {
                loop {
                    let Some((place, path)) = lock(&waiting).next() else { break };
                    let examined = Examined { path: path.clone(), result: examine(path, options) };
                    lock(&done).push((place, examined));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    let mut stores = done.into_iter().map(|(_, examined)| examined).collect();
    if let Some(heads) = options.heads {
        heads.add_gone(&mut stores, options.accept_heads);
    }
    stores
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the store at `path`.
///
/// # Errors
/// What keeps doctor from checking: [`StoreError::Absent`], [`StoreError::Unsafe`], [`StoreError::NotADatabase`] and
/// [`StoreError::ForeignDatabase`] of a file that never was a store, [`StoreError::Unmarked`], [`StoreError::NewerSchema`],
/// [`StoreError::DevelopmentSchema`], [`StoreError::Busy`], [`StoreError::Unsettled`],
/// [`Error::Io`].
pub fn examine(path: &Path, options: Options<'_>) -> Result<Report> {
    match inspect::examine(path, options.alone, |connection| ask_in_peace(connection, path, options)) {
        Err(Error::Store(error)) if is_damaged_header(&error, path, options)? => {
            let mut findings = files::look(path)?;
            findings.push(checks::damaged(path, &error.to_string()));
            let not_judged = Some("SQLite cannot open the file".to_owned());
            Ok(Report { findings, not_judged, full: options.full, ..Report::default() })
        }
        answer => answer,
    }
}

/// Whether a store could not be opened because its first bytes are damaged. A file that is no database, or another program's,
/// is a damaged store if it is marked as one, is in a store's own place, or is known to the heads. Else somebody named a
/// wrong file.
fn is_damaged_header(error: &StoreError, path: &Path, options: Options<'_>) -> Result<bool> {
    match error {
        StoreError::Corrupt(_) | StoreError::Truncated { .. } => Ok(true),
        StoreError::NotADatabase { .. } | StoreError::ForeignDatabase { .. } => {
            let in_place = location::is_usual_place(path);
            let known = options.heads.is_some_and(|heads| heads.knows(path));
            Ok(in_place || known || inspect::is_marked(path, options.alone)?)
        }
        _ => Ok(false),
    }
}

/// Asks in one transaction. run.json is read after the store, so it may be newer than what the store said: where one did
/// not fit and somebody has written meanwhile, all is asked again.
fn ask_in_peace(connection: &Connection, path: &Path, options: Options<'_>) -> Result<Report> {
    let mut round = 1;
    loop {
        let before = data_version(connection)?;
        let transaction = connection.unchecked_transaction()?;
        let mut report =
            Examination { path, connection: &transaction, options, findings: Vec::new() }.run()?;
        drop(transaction);
        if round < ROUNDS && report.runs.iter().any(is_about_run_json) && data_version(connection)? != before
        {
            round += 1;
            continue;
        }
        let mut findings = files::look(path)?;
        findings.append(&mut report.findings);
        report.findings = findings;
        return Ok(report);
    }
}

fn data_version(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("PRAGMA data_version", [], |row| row.get(0))?)
}

fn is_about_run_json(run: &RunVerdict) -> bool {
    run.reason.is_some_and(|reason| reason >= Reason::RunJsonMissing)
}

/// One look at one store, in one transaction.
struct Examination<'a> {
    path: &'a Path,
    connection: &'a Connection,
    options: Options<'a>,
    findings: Vec<Finding>,
}

impl Examination<'_> {
    fn run(mut self) -> Result<Report> {
        let Options { full, clock, processes, .. } = self.options;
        self.options.progress.more(2);
        functions::register(self.connection)?;
        let version: i64 = self.connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        self.keep(checks::file(self.connection, self.path, full))?;
        self.keep(checks::settings(self.connection, self.path, self.options.alone))?;
        self.options.progress.step();
        let expected = Expected::of(version)?;
        let compared = self.answered(schema::compare(self.connection, &expected))?;
        let mut report = Report {
            schema_version: version,
            not_judged: Some("the schema cannot be read".to_owned()),
            full,
            ..Report::default()
        };
        if let Some(mut compared) = compared {
            self.findings.append(&mut compared.findings);
            report.not_judged = compared.not_askable.take();
            if report.not_judged.is_none() {
                let judge = Judge { now: clock.now(), processes, owner_is_dead: false };
                self.ask(&expected, judge, &mut report)?;
            }
        }
        self.options.progress.step();
        report.findings = self.findings;
        Ok(report)
    }

    fn ask(&mut self, expected: &Expected, judge: Judge<'_>, report: &mut Report) -> Result<()> {
        let connection = self.connection;
        let mut settings = Vec::new();
        let bounds = self
            .answered(bounds::read(connection, expected, self.path, &mut settings))?
            .unwrap_or_else(|| Bounds::of_new_store(expected));
        self.findings.append(&mut settings);
        report.store_id = self.identity()?;
        self.keep(checks::foreign_keys(connection, expected))?;
        self.keep(checks::locks(connection, self.path, &judge, bounds.silence_seconds))?;
        self.keep(checks::events_without_run(connection))?;
        self.keep(checks::receipts(connection))?;
        self.keep(checks::orphans(connection, expected))?;
        self.keep(checks::removals(connection))?;
        self.keep(checks::rounds(connection, judge.now))?;
        self.keep(checks::unheld_runs(connection))?;
        self.keep(checks::uncounted_reports(connection))?;
        self.keep(rows::values(connection, expected, self.options.full))?;
        for (kind, sql) in rows::QUESTIONS {
            self.keep(rows::ask(connection, *kind, sql))?;
        }
        if self.options.full {
            self.keep(checks::checkpoints(connection))?;
            self.keep(checks::contents(connection))?;
            self.keep(checks::modes(connection))?;
        }
        self.compare_heads(report)?;
        let home = match self.answered(home::place_of_examined(connection, self.path))? {
            Some(Place::Copy { home }) => Some(home),
            _ => None,
        };
        self.judge_runs(bounds, judge, home.is_some(), report)?;
        if let Some(home) = home {
            self.say_copy(&home, report);
        }
        Ok(())
    }

    /// A copy cannot change what belongs to the original, so no command for it is given.
    fn say_copy(&mut self, home: &Path, report: &mut Report) {
        let remedy = || Remedy::advice(format!("this is a copy; check the store itself: {}", home.display()));
        for verdict in &mut report.runs {
            verdict.remedy = verdict.remedy.take().map(|_| remedy());
        }
        for finding in &mut self.findings {
            finding.remedy = remedy();
        }
        self.findings.push(Finding::new(
            Kind::StoreCopy,
            format!("this file is a copy of {}; the run directories are not looked at", home.display()),
            Remedy::advice("use the store itself; to make this copy a store of its own: db adopt --fork"),
        ));
    }

    fn identity(&mut self) -> Result<Option<String>> {
        let identity = self.answered(checks::identity(self.connection))?;
        let store_id = identity.flatten();
        if store_id.is_none() {
            self.findings.push(Finding::new(
                Kind::IdentityBroken,
                "the store does not have exactly one identity of 32 hex characters",
                Remedy::advice(
                    "put back the last copy of the store that was whole; heads are kept by this id",
                ),
            ));
        }
        Ok(store_id)
    }

    fn compare_heads(&mut self, report: &mut Report) -> Result<()> {
        let Some(heads) = self.options.heads else { return Ok(()) };
        report.heads = self.answered(heads::current(self.connection))?;
        if let (Some(current), false) = (&report.heads, self.options.accept_heads) {
            let store_id = report.store_id.as_deref();
            self.keep(heads.compare(self.connection, self.path, store_id, current))?;
        }
        Ok(())
    }

    fn judge_runs(
        &mut self,
        bounds: Bounds,
        judge: Judge<'_>,
        is_copy: bool,
        report: &mut Report,
    ) -> Result<()> {
        let connection = self.connection;
        let most = if self.options.full { -1 } else { i64::try_from(NEWEST).unwrap_or(-1) };
        let Some(runs) = self.answered(runs::to_judge(connection, most))? else { return Ok(()) };
        let all = self.answered(checks::count_runs(connection))?.unwrap_or(0);
        report.skipped = all.saturating_sub(runs.len() as u64);
        self.options.progress.more(runs.len() as u64);
        let court = Court { store: self.path, connection, bounds, judge, is_copy };
        for run in &runs {
            let mut findings = Vec::new();
            let verdict = court.judge(run, &mut findings);
            let verdict = match self.answered(verdict)? {
                Some(verdict) => verdict,
                None => court.unreadable(run),
            };
            self.findings.append(&mut findings);
            report.runs.push(verdict);
            self.options.progress.step();
        }
        Ok(())
    }

    fn keep(&mut self, found: Result<Vec<Finding>>) -> Result<()> {
        let found = self.answered(found)?.unwrap_or_default();
        self.findings.extend(found);
        Ok(())
    }

    /// The answer to a question; `None`, and a finding, where the file is too damaged to give one.
    fn answered<T>(&mut self, answer: Result<T>) -> Result<Option<T>> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::Store(error)) if is_damage(&error) => {
                let finding = checks::damaged(self.path, &error.to_string());
                if !self.findings.contains(&finding) {
                    self.findings.push(finding);
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether a question failed for what is in the file, rather than for the machine or another process.
fn is_damage(error: &StoreError) -> bool {
    match error {
        StoreError::Corrupt(_) | StoreError::Value(_) | StoreError::Schema { .. } | StoreError::Endless => {
            true
        }
        StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => !matches!(
            failure.code,
            ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::PermissionDenied
                | ErrorCode::CannotOpen
                | ErrorCode::FileLockingProtocolFailed
        ),
        StoreError::Sqlite(_) => true,
        _ => false,
    }
}
