//! What is asked of the store as a whole, run by run aside.

use std::path::Path;

use chrono::{DateTime, Utc};
use rusqlite::{Connection, Row, named_params};

use super::finding::{Finding, Kind, Remedy};
use super::schema::Expected;
use crate::clock::{snapshot_time, store_time};
use crate::db::inspect;
use crate::error::Result;
use crate::handoff::freshness::TTL_SECONDS;
use crate::id::RunId;
use crate::lock::{self, Judge, Lock, LockState};

/// How many findings of one kind are given at most; docs/OPERATIONS.md says so.
pub(super) const MOST: i64 = 20;

/// The page size of a store in bytes: SQLite's default.
const PAGE_SIZE: i64 = 4096;

/// SQLite's own check of the file: all pages with `full`, the indexes against their tables too.
///
/// # Errors
/// SQLite's own.
pub(super) fn file(connection: &Connection, store: &Path, full: bool) -> Result<Vec<Finding>> {
    let sql = if full { "PRAGMA integrity_check(20)" } else { "PRAGMA quick_check(20)" };
    let said: Vec<String> = collect(connection, sql, &[], |row| row.get(0))?;
    Ok(said.into_iter().filter(|said| said != "ok").map(|said| damaged(store, &said)).collect())
}

/// A finding of what SQLite said of the file.
pub(super) fn damaged(store: &Path, said: &str) -> Finding {
    // The first line names the table or page; what follows may go on for long.
    let said = said.lines().find(|line| !line.starts_with("***")).unwrap_or("malformed");
    Finding::new(Kind::FileDamaged, format!("SQLite finds the file damaged: {said}"), damage_remedy(store))
}

/// What to do about a file that SQLite cannot read, here alone.
fn damage_remedy(store: &Path) -> Remedy {
    Remedy::advice(format!(
        "keep copies of {0} and its -wal, then put back the last copy that was whole; without one, rebuild the store with .dump (docs/OPERATIONS.md, Rebuild a store)",
        store.display()
    ))
}

/// What the file is set to that a shell can change and that legbook relies on.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io); SQLite's own.
pub(super) fn settings(connection: &Connection, store: &Path, alone: bool) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut differs =
        |what: String, remedy: Remedy| findings.push(Finding::new(Kind::FileSettings, what, remedy));
    let ask = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    if !inspect::is_wal(connection, store, alone)? {
        let sql = "PRAGMA journal_mode = WAL;";
        let what = "the store is not in WAL mode: readers and writers block each other";
        differs(what.to_owned(), Remedy::Sql(sql.to_owned()));
    }
    let page_size = ask("page_size")?;
    if page_size != PAGE_SIZE {
        let sql = format!(
            "PRAGMA journal_mode = DELETE;\nPRAGMA page_size = {PAGE_SIZE};\nVACUUM;\nPRAGMA journal_mode = WAL;"
        );
        differs(format!("the page size is {page_size} bytes, not {PAGE_SIZE}"), Remedy::Sql(sql));
    }
    if ask("auto_vacuum")? != 0 {
        let sql = "PRAGMA auto_vacuum = NONE;\nVACUUM;";
        differs("auto_vacuum is on: it moves pages at each commit".to_owned(), Remedy::Sql(sql.to_owned()));
    }
    let encoding: String = connection.query_row("PRAGMA encoding", [], |row| row.get(0))?;
    if encoding != "UTF-8" {
        let remedy = "rebuild the store with .dump (docs/OPERATIONS.md, Rebuild a store)";
        let what =
            format!("texts are stored in {encoding}, not in UTF-8: digests and sizes are of other bytes");
        differs(what, Remedy::advice(remedy));
    }
    Ok(findings)
}

/// Rows that name one that is not there.
///
/// # Errors
/// SQLite's own.
pub(super) fn foreign_keys(connection: &Connection, expected: &Expected) -> Result<Vec<Finding>> {
    let said: Vec<(String, String)> =
        collect(connection, "PRAGMA foreign_key_check", &[], |row| Ok((row.get(0)?, row.get(2)?)))?;
    let ours = said.into_iter().filter(|(table, _)| expected.has_table(table));
    let said = ours.take(usize::try_from(MOST).unwrap_or(usize::MAX));
    Ok(said
        .map(|(table, parent)| {
            let what = format!("a row of {table} names one of {parent} that is not there");
            Finding::new(Kind::ForeignKeyBroken, what, restore())
        })
        .collect())
}

/// Locks of owners who are dead or cannot be judged, and rows that are not valid locks. An owner who cannot be judged and has
/// a lease is warned of when the lease ends.
///
/// # Errors
/// SQLite's own.
pub(super) fn locks(
    connection: &Connection,
    store: &Path,
    judge: &Judge<'_>,
    silence_seconds: u64,
) -> Result<Vec<Finding>> {
    let rows: Vec<(String, bool)> =
        collect(connection, include_str!("sql/locks.sql"), &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut findings = Vec::new();
    for (name, has_run) in rows {
        let remove = Remedy::Deletion(format!("DELETE FROM locks WHERE run_id = {};", literal(&name)));
        if !has_run {
            let what = "the store has a lock of a run that is not there";
            findings.push(Finding::of_run(&name, Kind::LockWithoutRun, what, remove));
            continue;
        }
        let state = match RunId::parse(&name) {
            Ok(run_id) => lock::state_in(connection, judge, None, &run_id)?,
            Err(error) => LockState::Invalid { why: error.to_string() },
        };
        match state {
            LockState::Stale { why, .. } => findings.push(Finding::of_run(
                &name,
                Kind::StaleLock,
                format!("the owner of the run's lock is dead: {why}; a leg that still has the token can just write on"),
                Remedy::legbook(store, &["runs", "recover", &name]),
            )),
            LockState::Invalid { why } => findings.push(Finding::of_run(
                &name,
                Kind::LockUnreadable,
                format!("the run's lock can't be read: {why}"),
                remove,
            )),
            LockState::Live { lock, why, judged: false } => findings.push(unknown_owner(
                &name,
                &format!("{why}; {}", owner_place(&lock)),
                is_silent(&lock, judge, silence_seconds),
            )),
            LockState::Absent | LockState::Live { .. } | LockState::Foreign { .. } => {}
        }
    }
    Ok(findings)
}

/// Whether an owner has written nothing for longer than the store allows. One with a lease is live until the lease ends.
fn is_silent(lock: &Lock, judge: &Judge<'_>, silence_seconds: u64) -> bool {
    let silence = judge.now.signed_duration_since(lock.last_write_at).num_seconds();
    lock.lease.is_some() || u64::try_from(silence).is_ok_and(|silence| silence > silence_seconds)
}

/// Where an owner was, and when it last wrote.
fn owner_place(lock: &Lock) -> String {
    let host = lock.owner.host_name.as_deref().unwrap_or("an unnamed host");
    format!("pid {} on {host}, last write {}", lock.owner.pid, snapshot_time(lock.last_write_at))
}

fn unknown_owner(run_id: &str, said: &str, is_silent: bool) -> Finding {
    let remedy = Remedy::advice(format!(
        "look for the owner where it ran; if it has ended: legbook runs recover {run_id} --owner-is-dead"
    ));
    let (kind, what) = if is_silent {
        (Kind::OwnerSilent, "the owner of the run's lock is silent, and ")
    } else {
        (Kind::OwnerUnknown, "the run is locked, and ")
    };
    Finding::of_run(run_id, kind, format!("{what}{said}"), remedy)
}

/// Events whose run is not there.
///
/// # Errors
/// SQLite's own.
pub(super) fn events_without_run(connection: &Connection) -> Result<Vec<Finding>> {
    let sql = include_str!("sql/events_without_run.sql");
    let (count, first): (i64, Option<i64>) =
        connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some(first) = first.filter(|_| count > 0) else { return Ok(Vec::new()) };
    let what = format!("{count} events are of no run that is there; the first is event_number {first}");
    Ok(vec![Finding::new(Kind::EventWithoutRun, what, restore())])
}

/// Receipts that are not what their row says.
///
/// # Errors
/// SQLite's own.
pub(super) fn receipts(connection: &Connection) -> Result<Vec<Finding>> {
    let sql = include_str!("sql/damaged_receipts.sql");
    let most = named_params! { ":most": MOST };
    let rows: Vec<(String, i64, String)> =
        collect(connection, sql, most, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows
        .into_iter()
        .map(|(run_id, number, fault)| {
            Finding::of_run(&run_id, Kind::ReceiptDamaged, format!("receipt {number}: {fault}"), restore())
        })
        .collect())
}

/// Checkpoints that no event names.
///
/// # Errors
/// SQLite's own.
pub(super) fn orphans(connection: &Connection, expected: &Expected) -> Result<Vec<Finding>> {
    let sql = include_str!("sql/orphaned_checkpoints.sql");
    let (count, bytes): (i64, i64) = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let what = format!("{count} checkpoints of {bytes} bytes are named by no event");
    // The trigger lets a checkpoint be removed only together with its run.
    let remedy = Remedy::Deletion(format!(
        "BEGIN;\nDROP TRIGGER checkpoints_delete;\n{}\n{}\nCOMMIT;",
        include_str!("sql/remove_orphaned_checkpoints.sql").trim(),
        expected.trigger("checkpoints_delete")
    ));
    Ok(vec![Finding::new(Kind::CheckpointOrphaned, what, remedy)])
}

/// Runs whose removal was begun and not finished.
///
/// # Errors
/// SQLite's own.
pub(super) fn removals(connection: &Connection) -> Result<Vec<Finding>> {
    let sql = include_str!("sql/unfinished_removals.sql");
    let runs: Vec<(String, bool)> = collect(connection, sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(runs
        .into_iter()
        .map(|(run_id, is_whole)| {
            let (what, remedy) = if is_whole {
                let sql = format!("DELETE FROM removals WHERE run_id = {};", literal(&run_id));
                ("the removal of the run was begun, and nothing of it is removed", Remedy::Sql(sql))
            } else {
                let sql = include_str!("sql/finish_removal.sql").replace(":run_id", &literal(&run_id));
                ("the removal of the run was begun and not finished", Remedy::Deletion(sql.trim().to_owned()))
            };
            Finding::of_run(&run_id, Kind::RemovalUnfinished, what, remedy)
        })
        .collect())
}

/// Checkpoints whose bytes are not those of their digest: each one is hashed.
///
/// # Errors
/// SQLite's own.
pub(super) fn checkpoints(connection: &Connection) -> Result<Vec<Finding>> {
    let sql = include_str!("sql/damaged_checkpoints.sql");
    let most = named_params! { ":most": MOST };
    let rows: Vec<(String, Option<String>, String)> =
        collect(connection, sql, most, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows
        .into_iter()
        .map(|(sha256, run_id, fault)| {
            let what = format!("checkpoint {sha256}: {fault}");
            Finding { run_id, ..Finding::new(Kind::CheckpointDamaged, what, restore()) }
        })
        .collect())
}

/// Contents of the handoff and of stages that are not what their digest says: each one is hashed.
///
/// # Errors
/// SQLite's own.
pub(super) fn contents(connection: &Connection) -> Result<Vec<Finding>> {
    let questions = [
        include_str!("sql/content_handoff.sql"),
        include_str!("sql/content_stages.sql"),
        include_str!("sql/content_legacy.sql"),
    ];
    let mut findings = Vec::new();
    for sql in questions {
        let names: Vec<String> = collect(connection, sql, named_params! { ":most": MOST }, |row| row.get(0))?;
        findings.extend(names.into_iter().map(|name| {
            let what = format!("{name} is not what its digest or its row says");
            Finding::new(Kind::ContentDamaged, what, restore())
        }));
    }
    Ok(findings)
}

/// Imported files and folders with a mode that an export must not set.
///
/// # Errors
/// SQLite's own.
pub(super) fn modes(connection: &Connection) -> Result<Vec<Finding>> {
    let sql = include_str!("sql/imported_modes.sql");
    let found: Vec<String> = collect(connection, sql, named_params! { ":most": MOST }, |row| row.get(0))?;
    Ok(found.into_iter().map(|what| Finding::new(Kind::ContentDamaged, what, restore())).collect())
}

/// The handoff's current round, where it has expired and was never finished.
///
/// # Errors
/// SQLite's own.
pub(super) fn rounds(connection: &Connection, now: DateTime<Utc>) -> Result<Vec<Finding>> {
    let params = named_params! { ":now": store_time(now), ":ttl": TTL_SECONDS };
    let expired: Vec<String> =
        collect(connection, include_str!("sql/expired_rounds.sql"), params, |row| row.get(0))?;
    Ok(expired
        .into_iter()
        .map(|bundle_id| {
            let what = format!("round {bundle_id} of the handoff expired before it was finished");
            let remedy = Remedy::advice(
                "begin a new one with legbook handoff nominate, or ask the host why it stopped",
            );
            Finding::new(Kind::RoundExpired, what, remedy)
        })
        .collect())
}

/// Runs that have not ended and have no lock, so that neither an owner nor recovery ends them.
///
/// # Errors
/// SQLite's own.
pub(super) fn unheld_runs(connection: &Connection) -> Result<Vec<Finding>> {
    let most = named_params! { ":most": MOST };
    let runs: Vec<String> = collect(connection, include_str!("sql/unheld_runs.sql"), most, |row| row.get(0))?;
    Ok(runs
        .into_iter()
        .map(|run_id| {
            let remedy = Remedy::advice(format!(
                "take the lock with legbook runs start {run_id} --resume, then end the run with legbook runs finish {run_id} failed",
            ));
            let what = "the run has not ended, and nobody holds its lock";
            Finding::of_run(&run_id, Kind::RunUnheld, what, remedy)
        })
        .collect())
}

/// Reports that say that they were finalized, and that the queue does not know.
///
/// # Errors
/// SQLite's own.
pub(super) fn uncounted_reports(connection: &Connection) -> Result<Vec<Finding>> {
    let most = named_params! { ":most": MOST };
    let numbers: Vec<i64> =
        collect(connection, include_str!("sql/uncounted_reports.sql"), most, |row| row.get(0))?;
    Ok(numbers
        .into_iter()
        .map(|number| {
            let what = format!("pending report {number} was finalized, and no topic of it is in the queue");
            let remedy = Remedy::advice(
                "run legbook handoff finalize again while the report is current; else the topics of that sweep are not counted",
            );
            Finding::new(Kind::QueueBehind, what, remedy)
        })
        .collect())
}

/// The store's id, where it has exactly one and that is well formed.
///
/// # Errors
/// SQLite's own.
pub(super) fn identity(connection: &Connection) -> Result<Option<String>> {
    let sql = include_str!("sql/identity.sql");
    let found: Vec<(i64, Option<String>, bool)> =
        collect(connection, sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let found = found.into_iter().next();
    Ok(found.and_then(|(rows, store_id, is_well_formed)| store_id.filter(|_| rows == 1 && is_well_formed)))
}

/// How many runs the store has.
///
/// # Errors
/// SQLite's own.
pub(super) fn count_runs(connection: &Connection) -> Result<u64> {
    Ok(connection.query_row(include_str!("sql/count_runs.sql"), [], |row| row.get(0))?)
}

/// The answers to `sql`. A row with a value of an odd kind is passed over, so that it hides no other: `rows::values` names it.
pub(super) fn collect<T>(
    connection: &Connection,
    sql: &str,
    params: &[(&str, &dyn rusqlite::ToSql)],
    row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map(params, row)?;
    Ok(rows.filter(|row| !matches!(row, Err(error) if is_odd(error))).collect::<rusqlite::Result<_>>()?)
}

/// Whether a row could not be read because a column holds a value of another kind.
pub(super) fn is_odd(error: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(
        error,
        Error::InvalidColumnType(..)
            | Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
    )
}

pub(super) fn restore() -> Remedy {
    Remedy::advice("keep a copy of the store and its -wal, then put back the last copy that was whole")
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
