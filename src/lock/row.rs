//! One row of `locks`, read with care: another program may have written it.

use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::workspace::stored_path;
use crate::clock;
use crate::digest::Digest;
use crate::error::{LockError, Party, Result};
use crate::id::RunId;
use crate::process::Identity;

/// The longest lease, in seconds: 366 days. Only `--break-lease` recovers a run whose owner died under a longer one.
pub(super) const MAX_LEASE_SECONDS: i64 = 366 * 24 * 60 * 60;

/// A lock as the store holds it.
#[derive(Debug, Clone)]
pub struct Lock {
    /// The workspace: absolute, links resolved.
    pub workspace: PathBuf,
    /// The run that holds the lock.
    pub run_id: RunId,
    /// When the lock was taken, as the row has it: ISO 8601 with `+00:00`.
    pub acquired_at: String,
    /// The owner.
    pub owner: Identity,
    /// For how long after the last write the lock is live without any process; whole seconds.
    pub lease: Option<TimeDelta>,
    /// When the run was last written under this lock; at first, when the lock was taken.
    pub last_write_at: DateTime<Utc>,
    /// The recovery that has claimed the lock.
    pub claim: Option<Claimer>,
    pub(super) token: Digest,
}

/// A recovery that has claimed a lock.
#[derive(Debug, Clone)]
pub struct Claimer {
    /// The recovering process.
    pub identity: Identity,
    /// When it claimed the lock: RFC 3339.
    pub claimed_at: String,
}

impl Lock {
    /// The moment at which the lease ends; `None` without a lease.
    pub fn lease_end(&self) -> Option<DateTime<Utc>> {
        self.last_write_at.checked_add_signed(self.lease?)
    }

    /// The owner, as an error names it.
    pub(crate) fn owner_party(&self) -> Party {
        self.party(&self.owner, &self.acquired_at)
    }

    /// The claimer, as an error names it.
    pub(super) fn claimer_party(&self, claimer: &Claimer) -> Party {
        self.party(&claimer.identity, &claimer.claimed_at)
    }

    fn party(&self, identity: &Identity, since: &str) -> Party {
        Party {
            run_id: self.run_id.clone(),
            pid: identity.pid,
            host_name: identity.host_name.clone(),
            since: since.to_owned(),
        }
    }
}

/// What a search for a lock finds: a row may be there and not be readable.
pub(super) type Found = std::result::Result<Lock, Fault>;

/// What of a row can't be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault(pub(super) &'static str);

impl From<Fault> for LockError {
    fn from(Fault(why): Fault) -> Self {
        Self::Unreadable { why }
    }
}

/// The lock that `run_id` holds, else that of `workspace`.
pub(super) fn find(
    connection: &Connection,
    run_id: Option<&RunId>,
    workspace: Option<&Path>,
) -> Result<Option<Found>> {
    let workspace = workspace.map(stored_path).transpose()?;
    let mut statement = connection.prepare_cached(include_str!("sql/find.sql"))?;
    let found = statement
        .query_row(named_params! { ":run_id": run_id.map(RunId::as_str), ":workspace": workspace }, |row| {
            Ok(read(row))
        })
        .optional()?;
    Ok(found)
}

fn read(row: &Row<'_>) -> Found {
    let claim = match optional_text(row, "claim_id", "its claim is not text")? {
        None => None,
        Some(_) => Some(Claimer {
            identity: identity(row, CLAIMER)?,
            claimed_at: moment(row, "claimed_at", "its claim has no time")?.1,
        }),
    };
    let lock = Lock {
        workspace: text(row, "workspace", "its workspace is no path")?.into(),
        run_id: text(row, "run_id", NO_RUN).and_then(|id| RunId::parse(&id).map_err(|_| Fault(NO_RUN)))?,
        acquired_at: moment(row, "acquired_at", "the time at which it was taken is none")?.1,
        owner: identity(row, OWNER)?,
        lease: lease(row)?,
        last_write_at: moment(row, "last_write_at", "the time of its last write is none")?.0,
        claim,
        token: text(row, "token_sha256", NO_DIGEST)
            .and_then(|hex| Digest::parse(&hex).ok_or(Fault(NO_DIGEST)))?,
    };
    if lock.lease.is_some() && lock.lease_end().is_none() {
        return Err(Fault(NO_LEASE));
    }
    Ok(lock)
}

const NO_RUN: &str = "its run id is none";
const NO_DIGEST: &str = "its token's digest is none";
const NO_LEASE: &str = "its lease is not 1 to 31622400 seconds (366 days)";
const NO_IDENTITY: &str = "what tells its owner from a stranger is not text";

/// The columns of an identity: pid, start time, boot, machine, host name, pid namespace.
type IdentityColumns = [&'static str; 6];
const OWNER: IdentityColumns = ["pid", "start_time", "boot_id", "machine_id", "host_name", "pid_namespace"];
const CLAIMER: IdentityColumns = [
    "claim_pid",
    "claim_start_time",
    "claim_boot_id",
    "claim_machine_id",
    "claim_host_name",
    "claim_pid_namespace",
];

fn identity(row: &Row<'_>, columns: IdentityColumns) -> Result<Identity, Fault> {
    let [pid, start_time, boot_id, machine_id, host_name, pid_namespace] = columns;
    let told = |column| optional_text(row, column, NO_IDENTITY);
    Ok(Identity {
        pid: match value(row, pid) {
            ValueRef::Integer(number) => u32::try_from(number).ok().filter(|pid| *pid > 0),
            _ => None,
        }
        .ok_or(Fault("its pid is no process id"))?,
        start_time: told(start_time)?,
        boot_id: told(boot_id)?,
        machine_id: told(machine_id)?,
        host_name: told(host_name)?,
        pid_namespace: told(pid_namespace)?,
    })
}

fn lease(row: &Row<'_>) -> Result<Option<TimeDelta>, Fault> {
    match value(row, "lease_seconds") {
        ValueRef::Null => Ok(None),
        ValueRef::Integer(seconds) if (1..=MAX_LEASE_SECONDS).contains(&seconds) => {
            TimeDelta::try_seconds(seconds).map(Some).ok_or(Fault(NO_LEASE))
        }
        _ => Err(Fault(NO_LEASE)),
    }
}

/// A stored moment, read and as it stands.
fn moment(row: &Row<'_>, column: &str, fault: &'static str) -> Result<(DateTime<Utc>, String), Fault> {
    let text = text(row, column, fault)?;
    let moment = clock::parse_time(&text).ok_or(Fault(fault))?;
    Ok((moment, text))
}

fn text(row: &Row<'_>, column: &str, fault: &'static str) -> Result<String, Fault> {
    optional_text(row, column, fault)?.ok_or(Fault(fault))
}

fn optional_text(row: &Row<'_>, column: &str, fault: &'static str) -> Result<Option<String>, Fault> {
    match value(row, column) {
        ValueRef::Null => Ok(None),
        ValueRef::Text(bytes) => {
            std::str::from_utf8(bytes).map(|text| Some(text.to_owned())).map_err(|_| Fault(fault))
        }
        _ => Err(Fault(fault)),
    }
}

/// The column's value; null for a name that find.sql does not select.
fn value<'row>(row: &'row Row<'_>, column: &str) -> ValueRef<'row> {
    row.get_ref(column).unwrap_or(ValueRef::Null)
}
