//! The verdict on one run: its journal, its latest checkpoint, what follows it, and run.json (contract recovery.md,
//! Doctor).
//!
//! Each step is a question in SQL over the tables; the order of the steps is that of the reasons. The first fault is the
//! run's, and nothing is read beyond it.

use std::path::{Path, PathBuf};

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, named_params};

use super::bounds::{Bounds, MAX_CHECKPOINT_BYTES, MAX_JOURNAL_BYTES, MAX_JOURNAL_EVENTS};
use super::finding::{Finding, Kind, Remedy};
use super::rows::said;
use super::verdict::{Fault, Reason, RunVerdict};
use crate::db::column;
use crate::digest::Digest;
use crate::error::{Error, Result, StoreError};
use crate::id::RunId;
use crate::lock::{self, Judge, LockState};
use crate::run::directory;
use crate::run::file::{self, OnDisk};

/// What is said of a run whose owner lives, or cannot be judged from here.
pub(crate) const LIVE_OWNER: &str = "live owner";

/// By how many bytes a receipt may be larger than the checkpoint that it is made of.
pub(crate) const RECEIPT_ROOM: u64 = 64 * 1024;

/// A run to judge.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) run_id: String,
    /// Where its run.json is; `None`: among what is kept of an imported run.
    pub(crate) run_dir: Option<PathBuf>,
    pub(crate) journaled: bool,
    pub(crate) unread: Unread,
}

/// Why something of a legacy directory could not be put into the tables, so that they can't be asked about it.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    pub(crate) journal: Option<Fault>,
    pub(crate) checkpoint: Option<Fault>,
    pub(crate) run_json: Option<Fault>,
}

/// The runs to judge: each one that is locked or has not ended, and the `most` newest besides.
///
/// # Errors
/// SQLite's own.
pub(super) fn to_judge(connection: &Connection, most: i64) -> Result<Vec<Run>> {
    let mut statement = connection.prepare(include_str!("sql/runs.sql"))?;
    let runs = statement.query_map(named_params! { ":most": most }, |row| {
        let (run_dir, fault) = match column::<Option<String>>(row, 1).map_err(StoreError::from) {
            Ok(run_dir) => (run_dir, None),
            Err(error) => {
                let fault =
                    Fault { reason: Reason::RunJsonUnreadable, detail: error.to_string(), needs: None };
                (None, Some(fault))
            }
        };
        Ok(Run {
            run_id: said(row.get_ref(0)?),
            run_dir: run_dir.map(PathBuf::from),
            journaled: row.get(2)?,
            unread: Unread { run_json: fault, ..Unread::default() },
        })
    })?;
    Ok(runs.collect::<rusqlite::Result<_>>()?)
}

/// A run's latest checkpoint, valid.
struct Checkpoint {
    sequence: i64,
    sha256: String,
}

/// What ends a judgment early.
enum Stop {
    Fault(Fault),
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Error(error.into())
    }
}

fn stop<T>(reason: Reason, detail: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fault(Fault { reason, detail: detail.into(), needs: None }))
}

/// Stops at a bound: `key`, whose value is `bound` and would have to be `needs`.
fn stop_at_bound<T>(reason: Reason, key: &'static str, bound: u64, needs: u64) -> Result<T, Stop> {
    Err(Stop::Fault(Fault {
        reason,
        detail: format!("{needs} are more than the {bound} of {key}"),
        needs: Some((key, needs)),
    }))
}

/// Stops at what could not be read.
fn stop_at(fault: Option<&Fault>) -> Result<(), Stop> {
    fault.map_or(Ok(()), |fault| Err(Stop::Fault(fault.clone())))
}

/// Judges runs of one store in one transaction.
pub(crate) struct Court<'a> {
    pub(crate) store: &'a Path,
    pub(crate) connection: &'a Connection,
    pub(crate) bounds: Bounds,
    pub(crate) judge: Judge<'a>,
    /// Whether the store is a copy: then the run directories are the original's.
    pub(crate) is_copy: bool,
}

impl Court<'_> {
    /// The verdict on `run`, and what else was found about it.
    ///
    /// # Errors
    /// The store's own of reading.
    pub(crate) fn judge(&self, run: &Run, findings: &mut Vec<Finding>) -> Result<RunVerdict> {
        if !run.journaled {
            return Ok(RunVerdict::omitted(&run.run_id));
        }
        let lock = match RunId::parse(&run.run_id) {
            Ok(run_id) => {
                let state = lock::state_in(self.connection, &self.judge, None, &run_id)?;
                if state.is_live_owner_of(&run_id) {
                    self.look_at_live(run, findings)?;
                    return Ok(RunVerdict::ok(&run.run_id, LIVE_OWNER));
                }
                state
            }
            Err(_) => LockState::Absent,
        };
        match self.try_judge(run, findings) {
            Ok(says) => Ok(RunVerdict::ok(&run.run_id, says)),
            Err(Stop::Fault(fault)) => {
                let remedy = self.remedy(run, &fault, &lock);
                Ok(RunVerdict::fault(&run.run_id, fault, remedy))
            }
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// The verdict on a run whose rows SQLite can't read.
    pub(super) fn unreadable(&self, run: &Run) -> RunVerdict {
        let reason = Reason::MalformedChain;
        let fault = Fault { reason, detail: "SQLite can't read its rows".to_owned(), needs: None };
        RunVerdict::fault(&run.run_id, fault, restore())
    }

    /// A live run's verdict is its lock's, for its run.json moves. What the store says of it is of one piece all the
    /// same, so that a lock can't hide a damaged journal.
    fn look_at_live(&self, run: &Run, findings: &mut Vec<Finding>) -> Result<()> {
        match self.journal(run) {
            Ok(checkpoint) => {
                let next_write = Remedy::advice("the next write of the run puts it right");
                self.beside(&run.run_id, &checkpoint, next_write, findings)?;
            }
            Err(Stop::Fault(fault)) => {
                let remedy = self.raise(&fault).unwrap_or_else(restore);
                let what = format!("{}: {}", fault.reason.says(), fault.detail);
                findings.push(Finding::of_run(&run.run_id, Kind::LiveJournalDamaged, what, remedy));
            }
            Err(Stop::Error(error)) => return Err(error),
        }
        self.headroom(run, findings)
    }

    fn try_judge(&self, run: &Run, findings: &mut Vec<Finding>) -> Result<&'static str, Stop> {
        let run_id = run.run_id.as_str();
        let checkpoint = self.journal(run)?;
        self.headroom(run, findings)?;
        let export = Remedy::legbook(self.store, &["runs", "export", run_id]);
        self.beside(run_id, &checkpoint, export, findings)?;
        self.check_run_json(run, &checkpoint)
    }

    /// The journal up to its end: bounds, chain, latest checkpoint, coverage, the receipt after it.
    fn journal(&self, run: &Run) -> Result<Checkpoint, Stop> {
        let run_id = run.run_id.as_str();
        stop_at(run.unread.journal.as_ref())?;
        self.check_bounds(run_id)?;
        self.check_chain(run_id)?;
        let checkpoint = self.checkpoint(run)?;
        self.check_coverage(run_id, &checkpoint)?;
        self.check_receipt(run_id, &checkpoint)?;
        Ok(checkpoint)
    }

    fn size(&self, run_id: &str) -> Result<(u64, u64)> {
        let sql = include_str!("sql/journal_size.sql");
        Ok(self
            .connection
            .query_row(sql, named_params! { ":run_id": run_id }, |row| Ok((row.get(0)?, row.get(1)?)))?)
    }

    fn check_bounds(&self, run_id: &str) -> Result<(), Stop> {
        let (events, bytes) = self.size(run_id)?;
        let Bounds { journal_events, journal_bytes, .. } = self.bounds;
        if bytes > journal_bytes {
            return stop_at_bound(Reason::JournalBound, MAX_JOURNAL_BYTES, journal_bytes, bytes);
        }
        if events > journal_events {
            return stop_at_bound(Reason::JournalBound, MAX_JOURNAL_EVENTS, journal_events, events);
        }
        Ok(())
    }

    fn check_chain(&self, run_id: &str) -> Result<(), Stop> {
        let fault = self
            .connection
            .query_row(include_str!("sql/chain.sql"), named_params! { ":run_id": run_id }, |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })
            .optional()?;
        if let Some((place, rule)) = fault {
            return stop(Reason::MalformedChain, format!("line {place}: {rule}"));
        }
        let of_run = named_params! { ":run_id": run_id };
        let head = self.one::<String>(include_str!("sql/head.sql"), of_run)?;
        match head {
            None => return stop(Reason::EmptyJournal, "the run has a journal, but no whole event"),
            Some(of) if of != run_id => return stop(Reason::RunIdMismatch, "the journal is another run's"),
            Some(_) => {}
        }
        // Last, because the words for it are mild: the whole lines are known to be good by now.
        if self.one(include_str!("sql/partial_tail.sql"), of_run)?.unwrap_or(false) {
            return stop(Reason::PartialTail, "the last line has no newline");
        }
        Ok(())
    }

    fn checkpoint(&self, run: &Run) -> Result<Checkpoint, Stop> {
        let run_id = run.run_id.as_str();
        let max_bytes = self.bounds.checkpoint_bytes;
        let found: Option<(i64, Option<String>, Option<String>)> = self
            .connection
            .query_row(
                include_str!("sql/latest_checkpoint.sql"),
                named_params! { ":run_id": run_id, ":max_bytes": max_bytes },
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .optional()?;
        let Some((sequence, sha256, fault)) = found else {
            return stop(Reason::NoCheckpoint, "no event names a snapshot");
        };
        self.check(run_id, sequence, fault)?;
        stop_at(run.unread.checkpoint.as_ref())?;
        let sha256 = sha256.unwrap_or_default();
        let body_fault: Option<Option<String>> = self
            .connection
            .query_row(
                include_str!("sql/checkpoint_body.sql"),
                named_params! {
                    ":run_id": run_id, ":sequence": sequence, ":sha256": sha256, ":max_bytes": max_bytes
                },
                |row| row.get(0),
            )
            .optional()?;
        let missing = Some("the store does not hold it".to_owned());
        self.check(run_id, sequence, body_fault.unwrap_or(missing))?;
        Ok(Checkpoint { sequence, sha256 })
    }

    /// Stops at a fault of the checkpoint at `sequence`, where there is one.
    fn check(&self, run_id: &str, sequence: i64, fault: Option<String>) -> Result<(), Stop> {
        match fault {
            None => Ok(()),
            Some(fault) if fault == "bound exceeded" => {
                let bound = self.bounds.checkpoint_bytes;
                let said: Option<u64> = self.one(
                    include_str!("sql/said_size.sql"),
                    named_params! { ":run_id": run_id, ":sequence": sequence },
                )?;
                stop_at_bound(Reason::CheckpointBound, MAX_CHECKPOINT_BYTES, bound, said.unwrap_or(0))
            }
            Some(fault) => stop(Reason::CheckpointFault, format!("the checkpoint at {sequence}: {fault}")),
        }
    }

    fn check_coverage(&self, run_id: &str, checkpoint: &Checkpoint) -> Result<(), Stop> {
        let status: Option<String> = self.connection.query_row(
            include_str!("sql/snapshot_status.sql"),
            named_params! { ":sha256": checkpoint.sha256 },
            |row| row.get(0),
        )?;
        let covered: bool = self.connection.query_row(
            include_str!("sql/coverage.sql"),
            named_params! { ":run_id": run_id, ":status": status },
            |row| row.get(0),
        )?;
        if covered {
            return Ok(());
        }
        let after = checkpoint.sequence;
        stop(Reason::UncoveredTail, format!("the checkpoint at {after} does not account for what follows it"))
    }

    /// The receipt that is the last snapshot, if there is one. A bad one is never compared with run.json: the command
    /// that would make both equal would export it.
    fn check_receipt(&self, run_id: &str, checkpoint: &Checkpoint) -> Result<(), Stop> {
        let fault: Option<Option<String>> = self.one(
            include_str!("sql/last_receipt.sql"),
            named_params! { ":run_id": run_id, ":sequence": checkpoint.sequence, ":sha256": checkpoint.sha256 },
        )?;
        match fault.flatten() {
            None => Ok(()),
            Some(fault) => stop(Reason::ReceiptFault, format!("the newest receipt: {fault}")),
        }
    }

    /// What agrees with run.json, in words.
    fn check_run_json(&self, run: &Run, checkpoint: &Checkpoint) -> Result<&'static str, Stop> {
        if self.is_copy {
            return Ok("in a copy");
        }
        stop_at(run.unread.run_json.as_ref())?;
        let run_id = run.run_id.as_str();
        let on_disk = match &run.run_dir {
            Some(run_dir) => {
                let largest = self.bounds.checkpoint_bytes.saturating_add(RECEIPT_ROOM);
                if file_size(run_dir).is_some_and(|size| size > largest) {
                    return stop(Reason::RunJsonMismatch, "it is larger than any snapshot may be");
                }
                file::read(run_dir)
            }
            None => match self.kept_run_json(run_id)? {
                Some(kept) => Ok(kept),
                None => return Ok("no run directory"),
            },
        };
        let bytes = match on_disk {
            Ok(OnDisk::Missing) => return stop(Reason::RunJsonMissing, ""),
            Ok(OnDisk::Unparseable(_)) => return stop(Reason::RunJsonUnparseable, ""),
            Ok(OnDisk::Snapshot(bytes, _)) => bytes,
            Err(error) => return stop(Reason::RunJsonUnreadable, error.to_string()),
        };
        let is_checkpoint = Digest::of(&bytes).to_hex() == checkpoint.sha256;
        let what: String = self.connection.query_row(
            include_str!("sql/run_json.sql"),
            named_params! {
                ":run_id": run_id,
                ":sequence": checkpoint.sequence,
                ":sha256": checkpoint.sha256,
                ":run_json": bytes,
            },
            |row| row.get(0),
        )?;
        match what.as_str() {
            "last snapshot" if is_checkpoint => Ok("checkpoint bytes match run.json"),
            "last snapshot" => Ok("run.json is the receipt that the store holds"),
            "receipt" => Ok("stale-lock-recovery receipt matches checkpoint reconstruction"),
            "behind" => stop(Reason::RunJsonBehind, "it is an older snapshot of this run"),
            _ => stop(Reason::RunJsonMismatch, "the journal knows no such snapshot, and it is no receipt"),
        }
    }

    /// The run.json that an imported run came with; `None`: the run was not imported.
    fn kept_run_json(&self, run_id: &str) -> Result<Option<OnDisk>> {
        let of_run = named_params! { ":run_id": run_id };
        let kept: Option<Option<Vec<u8>>> = self.one(include_str!("sql/kept_run_json.sql"), of_run)?;
        Ok(kept.map(OnDisk::of))
    }

    /// What stands beside a whole journal and a valid checkpoint and should say the same.
    /// `columns`: what puts the columns of the run's row right.
    fn beside(
        &self,
        run_id: &str,
        checkpoint: &Checkpoint,
        columns: Remedy,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let place: Option<i64> =
            self.one(include_str!("sql/event_columns.sql"), named_params! { ":run_id": run_id })?;
        if let Some(place) = place {
            findings.push(Finding::of_run(
                run_id,
                Kind::EventColumns,
                format!("the row of event {place} does not say what its line says"),
                restore(),
            ));
        }
        let of_checkpoint = named_params! {
            ":run_id": run_id, ":sequence": checkpoint.sequence, ":sha256": checkpoint.sha256
        };
        let column: Option<String> =
            self.one::<Option<String>>(include_str!("sql/run_columns.sql"), of_checkpoint)?.flatten();
        if let Some(column) = column {
            findings.push(Finding::of_run(
                run_id,
                Kind::RunColumns,
                format!("{column} of the run's row is not that of its last snapshot"),
                columns,
            ));
        }
        if self.one(include_str!("sql/receipt_of_other_bytes.sql"), of_checkpoint)?.unwrap_or(false) {
            findings.push(Finding::of_run(
                run_id,
                Kind::ReceiptOfOtherBytes,
                "the receipt was made of a run.json that was not the checkpoint's",
                Remedy::advice(
                    "compare runs show with runs at; where the run is resumed, its next write is a checkpoint again",
                ),
            ));
        }
        Ok(())
    }

    /// Whether a run that goes on has used three quarters of a bound.
    fn headroom(&self, run: &Run, findings: &mut Vec<Finding>) -> Result<()> {
        let run_id = run.run_id.as_str();
        let (events, bytes) = self.size(run_id)?;
        let of_run = named_params! { ":run_id": run_id };
        let checkpoint: Option<u64> = self.one(include_str!("../journal/sql/latest_size.sql"), of_run)?;
        let used = [
            (MAX_JOURNAL_EVENTS, events, self.bounds.journal_events),
            (MAX_JOURNAL_BYTES, bytes, self.bounds.journal_bytes),
            (MAX_CHECKPOINT_BYTES, checkpoint.unwrap_or(0), self.bounds.checkpoint_bytes),
        ];
        let tight: Vec<_> =
            used.iter().filter(|(_, used, bound)| crate::journal::is_near(*used, *bound)).collect();
        if tight.is_empty() || self.one(include_str!("sql/has_ended.sql"), of_run)?.unwrap_or(false) {
            return Ok(());
        }
        for (key, used, bound) in tight {
            let doubled = (*bound).max(*used).saturating_mul(2).to_string();
            findings.push(Finding::of_run(
                run_id,
                Kind::Headroom,
                format!("{used} of {bound} are used of {key}"),
                Remedy::legbook(self.store, &["db", "set", key, &doubled]),
            ));
        }
        Ok(())
    }

    fn one<T: FromSql>(&self, sql: &str, params: impl Params) -> Result<Option<T>> {
        Ok(self.connection.query_row(sql, params, |row| row.get(0)).optional()?)
    }

    /// The command that moves the bound at which a run was stopped.
    fn raise(&self, fault: &Fault) -> Option<Remedy> {
        let (key, needs) = fault.needs?;
        Some(Remedy::legbook(self.store, &["db", "set", key, &needs.to_string()]))
    }

    /// Where the run directory may be, if run.json is missing because its folder was moved with the store.
    fn moved_to(&self, run: &Run) -> Option<PathBuf> {
        directory::beside_store(self.store.parent()?, &run.run_id, run.run_dir.as_deref()?)
    }

    fn remedy(&self, run: &Run, fault: &Fault, lock: &LockState) -> Remedy {
        let runs = |verb| Remedy::legbook(self.store, &["runs", verb, &run.run_id]);
        if let Some(raise) = self.raise(fault) {
            return raise;
        }
        if let (Reason::RunJsonMissing, Some(directory)) = (fault.reason, self.moved_to(run)) {
            let directory = directory.to_string_lossy();
            let recover = ["runs", "recover", &run.run_id, "--run-dir", &directory];
            return Remedy::legbook(self.store, &recover);
        }
        match fault.reason {
            Reason::RunJsonMissing | Reason::RunJsonUnparseable | Reason::RunJsonBehind
                if matches!(lock, LockState::Stale { .. }) =>
            {
                runs("recover")
            }
            Reason::RunJsonMissing
            | Reason::RunJsonUnparseable
            | Reason::RunJsonBehind
            | Reason::RunJsonMismatch => runs("export"),
            Reason::RunJsonUnreadable => {
                Remedy::advice("make run.json and its folder readable, a regular file of its own")
            }
            Reason::PartialTail => Remedy::advice(
                "nothing is lost that was ever whole: the run goes on after its last whole line once it is resumed",
            ),
            _ => restore(),
        }
    }
}

fn restore() -> Remedy {
    Remedy::advice("keep a copy of the store and its -wal, then put back the last copy that was whole")
}

fn file_size(run_dir: &Path) -> Option<u64> {
    std::fs::symlink_metadata(run_dir.join(file::RUN_JSON)).ok().map(|metadata| metadata.len())
}
