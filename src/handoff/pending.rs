//! Pending reports in the store: what leg 2 leaves for leg 3 (contract handoff.md).
//!
//! Owns the tables `pending_reports` and `angle_inputs`. One `report` is one transaction: the earlier pending report
//! superseded, the new one and its angle inputs inserted; a crash before the commit leaves the earlier one. Leg 3 reads
//! these rows and never the bundle, so what rides to it (coverage, warnings, domain) is in here.

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::clock::{parse_time, store_time};
use crate::db::{change_one, column};
use crate::digest::Digest;
use crate::error::{HandoffError, Record, Result};
use crate::json::{Raw, RawValue};

use super::freshness::require_fresh;
use super::round::{gone, has_kind, is_true, readable, sealed, supersede_pending, text_of, unreadable};

/// The kind that a pending report names.
pub(super) const KIND: &str = "discovery-pending";

/// A pending report whose row agrees with itself.
#[derive(Debug, Clone)]
pub(super) struct PendingReport {
    pub(super) number: i64,
    pub(super) bundle_id: String,
    pub(super) run_ref: String,
    pub(super) mock: bool,
    /// The pending report without its angle inputs, as tokens.
    pub(super) body: Raw,
    stamp: DateTime<Utc>,
    input_count: usize,
    expired: bool,
}

/// The readable angle inputs of a pending report in order, and a warning for each that is not.
#[derive(Debug, Clone)]
pub(super) struct AngleInputs {
    pub(super) by_id: Vec<(String, Raw)>,
    pub(super) warnings: Vec<String>,
}

/// The current pending report.
///
/// # Errors
/// [`HandoffError::Missing`], [`HandoffError::Corrupt`], [`HandoffError::Version`].
pub(super) fn current(transaction: &Transaction<'_>) -> Result<PendingReport> {
    let mut statement = transaction.prepare_cached(include_str!("sql/current_pending_report.sql"))?;
    let row = statement.query_row([], StoredReport::from_row).optional()?;
    row.ok_or(HandoffError::Missing { record: Record::PendingReport })?.verified()
}

/// What [`insert`] stores.
pub(super) struct NewReport<'a> {
    pub(super) bundle_id: &'a str,
    pub(super) generated_at: &'a str,
    pub(super) run_ref: &'a str,
    pub(super) mock: bool,
    /// The pending report without its angle inputs.
    pub(super) body: &'a Raw,
    pub(super) inputs: &'a [(String, Raw)],
}

/// Makes `report` the current pending report in place of the one before.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    report: &NewReport<'_>,
    now: DateTime<Utc>,
) -> Result<()> {
    let NewReport { bundle_id, generated_at, run_ref, mock, body, inputs } = report;
    supersede_pending(transaction, now)?;
    change_one(
        transaction,
        include_str!("sql/insert_pending_report.sql"),
        params![
            bundle_id,
            generated_at,
            run_ref,
            mock,
            inputs.len() as i64,
            body.as_str(),
            Digest::of(body.as_str().as_bytes()).to_hex()
        ],
    )?;
    let number = transaction.last_insert_rowid();
    for (position, (id, input)) in (1_i64..).zip(*inputs) {
        let sha256 = Digest::of(input.as_str().as_bytes()).to_hex();
        let input = params![number, position, id, input.as_str(), sha256];
        change_one(transaction, include_str!("sql/insert_angle_input.sql"), input)?;
    }
    Ok(())
}

impl PendingReport {
    /// Checks that the report may be finalized now, by a call with or without `--mock`.
    ///
    /// # Errors
    /// [`HandoffError::Expired`], [`HandoffError::Stale`], [`HandoffError::FromTheFuture`], [`HandoffError::MockParity`].
    pub(super) fn require_usable(&self, now: DateTime<Utc>, mock: bool) -> Result<(), HandoffError> {
        let record = Record::PendingReport;
        if self.expired {
            return Err(HandoffError::Expired { record, bundle_id: self.bundle_id.clone() });
        }
        require_fresh(record, &self.bundle_id, self.stamp, now)?;
        if self.mock == mock {
            return Ok(());
        }
        Err(HandoffError::MockParity { record, bundle_id: self.bundle_id.clone(), stored: self.mock })
    }

    /// Checks that no newer round, judgment or report has ended this one.
    ///
    /// # Errors
    /// [`HandoffError::PendingSuperseded`].
    pub(super) fn require_current(&self, transaction: &Transaction<'_>) -> Result<()> {
        let mut statement = transaction.prepare_cached(include_str!("sql/pending_report_is_current.sql"))?;
        if statement.query_row([self.number], |row| column(row, 0))? {
            return Ok(());
        }
        Err(HandoffError::PendingSuperseded { bundle_id: self.bundle_id.clone() }.into())
    }

    /// Keeps that this report was found stale.
    pub(super) fn expire(&self, transaction: &Transaction<'_>, now: DateTime<Utc>) -> Result<()> {
        let expired = params![self.number, store_time(now)];
        change_one(transaction, include_str!("sql/expire_pending_report.sql"), expired)
    }

    /// The angle inputs. A row that was edited or is gone is left out with a warning.
    ///
    /// # Errors
    /// [`HandoffError::Corrupt`] where none can be read.
    pub(super) fn angle_inputs(&self, transaction: &Transaction<'_>) -> Result<AngleInputs> {
        let mut statement =
            transaction.prepare_cached(include_str!("sql/angle_inputs_of_pending_report.sql"))?;
        let mut rows = statement.query([self.number])?;
        let mut inputs = AngleInputs { by_id: Vec::new(), warnings: Vec::new() };
        let mut found = 0;
        while let Some(row) = rows.next()? {
            found += 1;
            match readable(row)? {
                Some(input) => inputs.by_id.push(input),
                None => inputs.warnings.push(unreadable("angle input", found)),
            }
        }
        if found < self.input_count {
            inputs.warnings.push(gone(self.input_count - found, "angle input"));
        }
        if inputs.by_id.is_empty() {
            let fault = "none of its angle inputs can be read";
            let bundle_id = self.bundle_id.clone();
            return Err(HandoffError::Corrupt { record: Record::PendingReport, bundle_id, fault }.into());
        }
        Ok(inputs)
    }

    /// The tokens of a member; `absent` where an older report lacks it.
    pub(super) fn member(&self, key: &str, absent: Raw) -> Raw {
        self.body.value().get(key).map_or(absent, RawValue::to_raw)
    }
}

/// A row of `pending_reports` as it is.
struct StoredReport {
    number: i64,
    bundle_id: String,
    generated_at: String,
    run_ref: String,
    mock: bool,
    input_count: i64,
    body: Option<Raw>,
    expired: bool,
    may_be_current: bool,
}

impl StoredReport {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: column(row, "pending_number")?,
            bundle_id: column(row, "bundle_id")?,
            generated_at: column(row, "generated_at")?,
            run_ref: column(row, "run_ref")?,
            mock: column(row, "mock")?,
            input_count: column(row, "input_count")?,
            body: sealed(row, "body")?,
            expired: column(row, "expired")?,
            may_be_current: column(row, "may_be_current")?,
        })
    }

    fn verified(self) -> Result<PendingReport> {
        let corrupt = |fault| HandoffError::Corrupt {
            record: Record::PendingReport,
            bundle_id: self.bundle_id.clone(),
            fault,
        };
        if !self.may_be_current {
            let fault = "it is current, and its round is not or a later pending report exists";
            return Err(corrupt(fault).into());
        }
        let Some(body) = self.body else { return Err(corrupt("it is not what was stored").into()) };
        let value = body.value();
        let says = |key: &str, column: &str| text_of(value.get(key)).as_deref() == Some(column);
        let agrees = says("bundle_id", &self.bundle_id)
            && says("generated_at", &self.generated_at)
            && says("run_ref", &self.run_ref)
            && is_true(value.get("mock")) == self.mock;
        if !agrees {
            return Err(corrupt("its columns are not what it says").into());
        }
        if !has_kind(value, KIND) {
            return Err(HandoffError::Version { record: Record::PendingReport }.into());
        }
        let stamp = parse_time(&self.generated_at).ok_or_else(|| corrupt("its stamp is no time"))?;
        Ok(PendingReport {
            number: self.number,
            run_ref: self.run_ref,
            mock: self.mock,
            stamp,
            input_count: usize::try_from(self.input_count).unwrap_or(0),
            expired: self.expired,
            bundle_id: self.bundle_id,
            body,
        })
    }
}
