//! Where the protocol stands: which round is current and what it awaits (contract handoff.md).
//!
//! Reads only. The state is worked out from the rows at the moment of asking and kept nowhere.

use chrono::{DateTime, Utc};
use rusqlite::OptionalExtension;

use crate::clock::parse_time;
use crate::db::{Store, column};
use crate::error::{Error, HandoffError, Record, Result};

use super::freshness::{expires_at, require_fresh};
use super::judge;
use super::round;

/// What is to happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// A new sweep: there is no round, or its time is over.
    Sweep,
    /// The host's judgments; also where the pending report's time is over and the bundle's is not.
    Judgments,
    /// The engine's report.
    Report,
    /// The host's angles, or a finalize without.
    Angles,
    /// Nothing; corrected angles can be tried while the pending report is fresh.
    Nothing,
    /// Nothing: nothing of the round was solid. The next sweep begins a new one.
    NextSweep,
}

/// The current round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its id.
    pub bundle_id: String,
    /// Whether it was made from fixtures.
    pub mock: bool,
    /// Seconds since leg 1; negative where the stamp is ahead of the clock.
    pub age_seconds: i64,
    /// When the bundle expires.
    pub expires_at: DateTime<Utc>,
    /// What is to happen next.
    pub awaits: Awaits,
    /// The pending report's run_ref, where there is one.
    pub run_ref: Option<String>,
    /// When the pending report expires, where there is one.
    pub report_expires_at: Option<DateTime<Utc>>,
}

/// The current round; none where the store has none.
///
/// # Errors
/// [`HandoffError::Corrupt`], [`HandoffError::Version`]; the store's own.
pub fn status(store: &Store) -> Result<Option<Status>> {
    let now = store.clock().now();
    store.read(|transaction| {
        let round = match round::current(transaction) {
            Err(Error::Handoff(HandoffError::Missing { .. })) => return Ok(None),
            round => round?,
        };
        let pending = transaction
            .query_row(include_str!("sql/pending_state.sql"), [], |row| {
                Ok(PendingState {
                    generated_at: column(row, "generated_at")?,
                    run_ref: column(row, "run_ref")?,
                    expired: column(row, "expired")?,
                    finalized: column::<Option<String>>(row, "finalized_at")?.is_some(),
                })
            })
            .optional()?;
        let bundle_is_fresh =
            !round.is_expired() && require_fresh(Record::Bundle, &round.bundle_id, round.stamp, now).is_ok();
        let awaits = match &pending {
            Some(pending) if pending.is_fresh(now) && pending.finalized => Awaits::Nothing,
            Some(pending) if pending.is_fresh(now) => Awaits::Angles,
            None if round::is_nothing_solid(transaction, &round.bundle_id)? => Awaits::NextSweep,
            None if judge::latest(transaction, &round.bundle_id)? > 0 => Awaits::Report,
            _ if bundle_is_fresh => Awaits::Judgments,
            _ => Awaits::Sweep,
        };
        Ok(Some(Status {
            mock: round.mock,
            age_seconds: now.signed_duration_since(round.stamp).num_seconds(),
            expires_at: expires_at(round.stamp),
            awaits,
            report_expires_at: pending.as_ref().and_then(PendingState::stamp).map(expires_at),
            run_ref: pending.map(|pending| pending.run_ref),
            bundle_id: round.bundle_id,
        }))
    })
}

struct PendingState {
    generated_at: String,
    run_ref: String,
    expired: bool,
    finalized: bool,
}

impl PendingState {
    fn stamp(&self) -> Option<DateTime<Utc>> {
        parse_time(&self.generated_at)
    }

    fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        !self.expired
            && self.stamp().is_some_and(|stamp| require_fresh(Record::PendingReport, "", stamp, now).is_ok())
    }
}
