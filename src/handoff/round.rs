//! Rounds in the store: what leg 1 keeps and what the legs after it may lean on (contract handoff.md).
//!
//! Owns the tables `rounds` and `nominations`. One `nominate` is one transaction: the earlier round superseded, the new
//! one and all its nominations inserted; a crash before the commit leaves the earlier round current. Every row carries
//! the SHA-256 of its JSON and repeats no more of it in columns than SQL needs; a row whose parts disagree was edited,
//! and is not trusted.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::clock::{parse_time, store_time};
use crate::db::{Store, change, change_one, column};
use crate::digest::Digest;
use crate::error::{HandoffError, Record, Result};
use crate::json::{Raw, RawValue, Value, raw};

use super::freshness::require_fresh;
use super::host_file::BoundFile;
use super::host_text::visible_line;
use super::nomination::Nomination;
use super::pool::Head;

/// The kind that a bundle's head names.
pub(super) const KIND: &str = "discovery-nominations";
/// The version of a bundle's shape.
pub(super) const SCHEMA_VERSION: &str = "1.0";

/// A round whose row agrees with itself.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) bundle_id: String,
    pub(super) stamp: DateTime<Utc>,
    pub(super) mock: bool,
    pub(super) nomination_count: usize,
    /// The bundle without its nominations, as tokens.
    pub(super) bundle: Raw,
    pub(super) head: Head,
    expired: bool,
}

/// The readable nominations of a round, and a warning for each that is not.
#[derive(Debug, Clone)]
pub(super) struct StoredPool {
    pub(super) nominations: Vec<Nomination>,
    pub(super) warnings: Vec<String>,
}

/// The current round.
///
/// # Errors
/// [`HandoffError::Missing`], [`HandoffError::Corrupt`], [`HandoffError::Version`].
pub(super) fn current(transaction: &Transaction<'_>) -> Result<Round> {
    let mut statement = transaction.prepare_cached(include_str!("sql/current_round.sql"))?;
    let row = statement.query_row([], StoredRound::from_row).optional()?;
    row.ok_or(HandoffError::Missing { record: Record::Bundle })?.verified()
}

/// The round of `bundle_id`, current or not.
///
/// # Errors
/// [`HandoffError::UnknownBundle`], [`HandoffError::Corrupt`], [`HandoffError::Version`].
pub(super) fn by_id(transaction: &Transaction<'_>, bundle_id: &str) -> Result<Round> {
    let mut statement = transaction.prepare_cached(include_str!("sql/round_by_id.sql"))?;
    let row = statement.query_row([bundle_id], StoredRound::from_row).optional()?;
    row.ok_or(HandoffError::UnknownBundle)?.verified()
}

/// Checks that round `bundle_id` is still the current one.
///
/// # Errors
/// [`HandoffError::Superseded`] with the round that came between, where there is one.
pub(super) fn require_current(transaction: &Transaction<'_>, bundle_id: &str) -> Result<()> {
    if is_current(transaction, bundle_id)? == Some(true) {
        return Ok(());
    }
    let mut statement = transaction.prepare_cached(include_str!("sql/current_round.sql"))?;
    let by = statement.query_row([], |row| column(row, "bundle_id")).optional()?;
    Err(HandoffError::Superseded { bundle_id: bundle_id.to_owned(), by }.into())
}

/// Checks that `file` names `current`, exactly. One that was made for an earlier round of the store is told apart from a
/// mistyped one: the ids in it mean other topics now.
///
/// # Errors
/// [`HandoffError::Mismatch`], which says that the file was held against `against`.
pub(super) fn require_bound(store: &Store, file: &BoundFile, current: &str, against: Record) -> Result<()> {
    let found = file.bundle_id();
    if found == Some(current) {
        return Ok(());
    }
    let superseded = match found {
        Some(found) => store.read(|transaction| is_current(transaction, found))? == Some(false),
        None => false,
    };
    let (found, current) = (found.map(str::to_owned), current.to_owned());
    Err(HandoffError::Mismatch { file: file.file(), found, against, superseded, current }.into())
}

/// Whether round `bundle_id` is the current one; none where the store has no such round.
pub(super) fn is_current(transaction: &Transaction<'_>, bundle_id: &str) -> Result<Option<bool>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/round_is_current.sql"))?;
    Ok(statement.query_row([bundle_id], |row| column(row, 0)).optional()?)
}

/// The ids of a round's nominations, readable or not.
pub(super) fn nomination_ids(transaction: &Transaction<'_>, bundle_id: &str) -> Result<HashSet<String>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/nomination_ids_of_round.sql"))?;
    let ids = statement.query_map([bundle_id], |row| column(row, 0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// Ends the current round, where there is one, and its pending report with it.
pub(super) fn supersede(transaction: &Transaction<'_>, now: DateTime<Utc>) -> Result<()> {
    let current = "SELECT count(*) FROM rounds WHERE superseded_at IS NULL";
    let current = transaction.prepare_cached(current)?.query_row([], |row| column(row, 0))?;
    change(transaction, current, include_str!("sql/supersede_round.sql"), [store_time(now)])?;
    // A trigger has superseded the pending report with it.
    supersede_pending(transaction, now)
}

/// Ends the current pending report if there is one.
pub(super) fn supersede_pending(transaction: &Transaction<'_>, now: DateTime<Utc>) -> Result<()> {
    let current = "SELECT count(*) FROM pending_reports WHERE superseded_at IS NULL";
    let current = transaction.prepare_cached(current)?.query_row([], |row| column(row, 0))?;
    change(transaction, current, include_str!("sql/supersede_pending_report.sql"), [store_time(now)])
}

/// Keeps that round `bundle_id` was found stale.
pub(super) fn expire(transaction: &Transaction<'_>, bundle_id: &str, now: DateTime<Utc>) -> Result<()> {
    change_one(transaction, include_str!("sql/expire_round.sql"), params![bundle_id, store_time(now)])
}

/// Keeps that of the latest judgments of round `bundle_id` nothing was solid.
pub(super) fn say_nothing_solid(transaction: &Transaction<'_>, bundle_id: &str) -> Result<()> {
    change_one(transaction, include_str!("sql/say_nothing_solid.sql"), [bundle_id])
}

/// Whether of the latest judgments of round `bundle_id` nothing was solid.
pub(super) fn is_nothing_solid(transaction: &Transaction<'_>, bundle_id: &str) -> Result<bool> {
    let mut statement = transaction.prepare_cached(include_str!("sql/is_nothing_solid.sql"))?;
    Ok(statement.query_row([bundle_id], |row| column(row, 0))?)
}

/// What [`insert`] stores.
pub(super) struct NewRound<'a> {
    pub(super) bundle_id: &'a str,
    pub(super) generated_at: &'a str,
    pub(super) mock: bool,
    /// The bundle without its nominations.
    pub(super) bundle: &'a Raw,
    /// Id and row of each nomination; the row holds its id.
    pub(super) nominations: &'a [(&'a str, &'a Raw)],
}

/// Makes `round` the current one in place of the one before.
pub(super) fn insert(transaction: &Transaction<'_>, round: &NewRound<'_>, now: DateTime<Utc>) -> Result<()> {
    let NewRound { bundle_id, generated_at, mock, bundle, nominations } = round;
    supersede(transaction, now)?;
    change_one(
        transaction,
        include_str!("sql/insert_round.sql"),
        params![
            bundle_id,
            generated_at,
            mock,
            nominations.len() as i64,
            bundle.as_str(),
            Digest::of(bundle.as_str().as_bytes()).to_hex(),
            store_time(now)
        ],
    )?;
    for (position, (id, row)) in (1_i64..).zip(*nominations) {
        let sha256 = Digest::of(row.as_str().as_bytes()).to_hex();
        let nomination = params![bundle_id, position, id, row.as_str(), sha256];
        change_one(transaction, include_str!("sql/insert_nomination.sql"), nomination)?;
    }
    Ok(())
}

impl Round {
    /// Checks that the round may be used now, by a call with or without `--mock`.
    ///
    /// # Errors
    /// [`HandoffError::Expired`], [`HandoffError::Stale`], [`HandoffError::FromTheFuture`], [`HandoffError::MockParity`].
    pub(super) fn require_usable(&self, now: DateTime<Utc>, mock: bool) -> Result<(), HandoffError> {
        if self.expired {
            return Err(HandoffError::Expired { record: Record::Bundle, bundle_id: self.bundle_id.clone() });
        }
        require_fresh(Record::Bundle, &self.bundle_id, self.stamp, now)?;
        self.require_mock(mock)
    }

    /// Whether a leg found the round stale before.
    pub(super) fn is_expired(&self) -> bool {
        self.expired
    }

    /// Checks that the call is with `--mock` exactly where leg 1 was.
    ///
    /// # Errors
    /// [`HandoffError::MockParity`].
    pub(super) fn require_mock(&self, mock: bool) -> Result<(), HandoffError> {
        if self.mock == mock {
            return Ok(());
        }
        let bundle_id = self.bundle_id.clone();
        Err(HandoffError::MockParity { record: Record::Bundle, bundle_id, stored: self.mock })
    }

    /// The round's nominations. A row that was edited or is gone is left out with a warning.
    ///
    /// # Errors
    /// [`HandoffError::Corrupt`] where none can be read.
    pub(super) fn pool(&self, transaction: &Transaction<'_>) -> Result<StoredPool> {
        let mut statement = transaction.prepare_cached(include_str!("sql/nominations_of_round.sql"))?;
        let mut rows = statement.query([&self.bundle_id])?;
        let mut pool = StoredPool { nominations: Vec::new(), warnings: Vec::new() };
        let mut found = 0;
        while let Some(row) = rows.next()? {
            found += 1;
            match readable(row)? {
                Some((id, body)) => match Nomination::read(body).filter(|nomination| nomination.id == id) {
                    Some(nomination) => pool.nominations.push(nomination),
                    None => pool.warnings.push(unreadable("nomination", found)),
                },
                None => pool.warnings.push(unreadable("nomination", found)),
            }
        }
        if found < self.nomination_count {
            pool.warnings.push(gone(self.nomination_count - found, "nomination"));
        }
        if pool.nominations.is_empty() {
            return Err(self.corrupt("none of its nominations can be read").into());
        }
        Ok(pool)
    }

    fn corrupt(&self, fault: &'static str) -> HandoffError {
        HandoffError::Corrupt { record: Record::Bundle, bundle_id: self.bundle_id.clone(), fault }
    }
}

impl Head {
    /// The head of a stored or imported bundle. What an older one lacks is empty.
    pub(super) fn of_bundle(bundle: RawValue<'_>) -> Self {
        let text = |key: &str| text_of(bundle.get(key)).unwrap_or_default();
        let tokens = |key: &str, absent: Raw| bundle.get(key).map_or(absent, RawValue::to_raw);
        Self {
            domain: visible_line(&text("domain")),
            tier: text("tier"),
            from_date: text("from_date"),
            to_date: text("to_date"),
            context: tokens("context", Raw::object([])),
            source_status: tokens("source_status", Raw::object([])),
            warnings: tokens("warnings", Raw::array([])),
        }
    }
}

/// A row of `rounds` as it is.
struct StoredRound {
    bundle_id: String,
    generated_at: String,
    mock: bool,
    nomination_count: i64,
    body: Option<Raw>,
    expired: bool,
    may_be_current: bool,
}

impl StoredRound {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            bundle_id: column(row, "bundle_id")?,
            generated_at: column(row, "generated_at")?,
            mock: column(row, "mock")?,
            nomination_count: column(row, "nomination_count")?,
            body: sealed(row, "head")?,
            expired: column(row, "expired")?,
            may_be_current: column(row, "may_be_current")?,
        })
    }

    fn verified(self) -> Result<Round> {
        let corrupt = |fault| HandoffError::Corrupt {
            record: Record::Bundle,
            bundle_id: self.bundle_id.clone(),
            fault,
        };
        if !self.may_be_current {
            return Err(corrupt("it is current, and the store has a later round").into());
        }
        let Some(bundle) = self.body else {
            return Err(corrupt("its head is not what was stored").into());
        };
        let value = bundle.value();
        let agrees = text_of(value.get("bundle_id")).as_deref() == Some(self.bundle_id.as_str())
            && text_of(value.get("generated_at")).as_deref() == Some(self.generated_at.as_str())
            && is_true(value.get("mock")) == self.mock;
        if !agrees {
            return Err(corrupt("its columns are not what its head says").into());
        }
        if !has_kind(value, KIND) {
            return Err(HandoffError::Version { record: Record::Bundle }.into());
        }
        let stamp = parse_time(&self.generated_at).ok_or_else(|| corrupt("its stamp is no time"))?;
        Ok(Round {
            stamp,
            mock: self.mock,
            nomination_count: usize::try_from(self.nomination_count).unwrap_or(0),
            head: Head::of_bundle(value),
            expired: self.expired,
            bundle_id: self.bundle_id,
            bundle,
        })
    }
}

/// Whether `value` is of this kind and of the version that this program knows.
pub(super) fn has_kind(value: RawValue<'_>, kind: &str) -> bool {
    text_of(value.get("kind")).as_deref() == Some(kind)
        && text_of(value.get("schema_version")).as_deref() == Some(SCHEMA_VERSION)
}

/// The text of a member; none where it is no string.
pub(super) fn text_of(value: Option<RawValue<'_>>) -> Option<String> {
    match value?.to_value() {
        Ok(Value::String(text)) => text.as_str().map(str::to_owned),
        _ => None,
    }
}

/// Whether a member is there and true: what Python's `bool(row.get(key))` asks for a flag.
pub(super) fn is_true(value: Option<RawValue<'_>>) -> bool {
    value.is_some_and(|value| value.as_str() == "true")
}

/// The JSON in `column`, where the row's `sha256` is that of its bytes.
pub(super) fn sealed(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<Raw>> {
    let rusqlite::types::ValueRef::Text(bytes) = row.get_ref(column)? else { return Ok(None) };
    let sha256 = row.get_ref("sha256")?;
    let is_whole = sha256.as_bytes().is_ok_and(|stored| stored == Digest::of(bytes).to_hex().as_bytes());
    Ok(if is_whole { raw::parse(bytes).ok() } else { None })
}

/// Id and JSON of a row of `nominations` or `angle_inputs`; none where they are not what was stored.
pub(super) fn readable(row: &Row<'_>) -> rusqlite::Result<Option<(String, Raw)>> {
    let id = row.get_ref("nomination_id")?.as_str().map(str::to_owned).ok();
    Ok(id.zip(sealed(row, "body")?))
}

/// What is said of a stored row that was edited.
pub(super) fn unreadable(what: &str, position: usize) -> String {
    format!("the {what} at position {position} is not what was stored; it is skipped")
}

/// What is said of stored rows that are gone.
pub(super) fn gone(count: usize, what: &str) -> String {
    let [plural, verb] = if count == 1 { ["", "is"] } else { ["s", "are"] };
    format!("{count} {what}{plural} of the stored ones {verb} gone")
}
