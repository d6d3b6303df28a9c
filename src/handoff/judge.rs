//! Leg 2a: the host's judgments of the current round (contract handoff.md).
//!
//! Owns the table `judgments`. A leg begins with a read transaction that checks the round, then the caller reads the
//! host's file (maybe slowly, from a pipe; no lock is held meanwhile), then one write transaction checks that the round
//! is still current and inserts one row a judgment. A trigger ends the pending report of earlier judgments with them. A
//! crash before the commit leaves the earlier judgments.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use crate::clock::store_time;
use crate::db::{Store, change_one, column};
use crate::error::{HandoffError, HandoffFile, Record, Result};
use crate::json::{Raw, Value};

use super::collision::{Contender, distinct_names};
use super::host_file::{BoundFile, Judgment, judgment};
use super::nomination::{Members, Nomination};
use super::round::{self, Round, StoredPool};
use super::writing::not_stored;

/// Leg 2a under way: the current round was found usable.
#[derive(Debug)]
pub struct JudgeLeg<'a> {
    store: &'a Store,
    round: Round,
    pool: StoredPool,
}

/// The pool with the host's judgments applied.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The round.
    pub bundle_id: String,
    /// The number of these judgments in the round: 1, 2, …
    pub number: i64,
    /// The judged pool for the engine: contract handoff.md, answers, as tokens.
    pub answer: Raw,
    /// What was skipped or overruled, one line each.
    pub warnings: Vec<String>,
    /// What became of each source of the sweep, as tokens.
    pub source_status: Raw,
}

impl<'a> JudgeLeg<'a> {
    /// Finds the current round and checks, in this order: it is there, of the known kind and version, fresh, made with
    /// `mock` as the call is, and has a readable nomination.
    ///
    /// # Errors
    /// [`HandoffError`] of the first check that fails. A round that is found stale is kept as stale for good.
    pub fn begin(store: &'a Store, mock: bool) -> Result<Self> {
        let now = store.clock().now();
        let round = store.read(round::current)?;
        let usable = round.require_usable(now, mock);
        if matches!(usable, Err(HandoffError::Stale { .. })) {
            // The refusal stands whether or not this can be kept.
            let _ = store.write(|transaction| round::expire(transaction, &round.bundle_id, now));
        }
        usable?;
        let pool = store.read(|transaction| round.pool(transaction))?;
        Ok(Self { store, round, pool })
    }

    /// The current round's id, which the file must name.
    pub fn bundle_id(&self) -> &str {
        &self.round.bundle_id
    }

    /// Takes the bytes of the judgments file, stores the judgments and gives the judged pool.
    ///
    /// # Errors
    /// [`HandoffError::File`], [`HandoffError::Mismatch`] for the file; [`HandoffError::Superseded`] where a `nominate`
    /// came between; [`HandoffError::NotStored`]. Nothing is stored then.
    pub fn finish(&self, bytes: &[u8]) -> Result<Judged> {
        let file = BoundFile::read(HandoffFile::Judgments, bytes)?;
        round::require_bound(self.store, &file, &self.round.bundle_id, Record::Bundle)?;
        let known: Vec<&str> =
            self.pool.nominations.iter().map(|nomination| nomination.id.as_str()).collect();
        let rows = file.rows("judgments", &known, judgment)?;
        let now = self.store.clock().now();
        let number = self
            .store
            .write(|transaction| insert(transaction, &self.round.bundle_id, &self.pool, &rows.by_id, now))
            .map_err(not_stored(Record::Judgments))?;
        let warnings: Vec<String> = self.pool.warnings.iter().cloned().chain(rows.warnings).collect();
        Ok(Judged {
            bundle_id: self.round.bundle_id.clone(),
            number,
            answer: self.answer(&rows.by_id, number, &warnings),
            warnings,
            source_status: self.round.head.source_status.clone(),
        })
    }

    fn answer(&self, judgments: &HashMap<String, Judgment>, number: i64, warnings: &[String]) -> Raw {
        let contenders: Vec<Contender> = self
            .pool
            .nominations
            .iter()
            .map(|nomination| Contender {
                name: judgments
                    .get(&nomination.id)
                    .and_then(|judgment| judgment.name.clone())
                    .unwrap_or_else(|| nomination.fallback_name()),
                items: nomination.item_texts(),
            })
            .collect();
        let names = distinct_names(&contenders);
        let nominations = self
            .pool
            .nominations
            .iter()
            .zip(&names)
            .map(|(nomination, name)| judged_row(nomination, name, judgments.get(&nomination.id)));
        let head = &self.round.head;
        let said = head.warnings.value().items().into_iter().flatten().map(|warning| warning.to_raw());
        Raw::object([
            ("bundle_id", text(&self.round.bundle_id)),
            ("domain", text(&head.domain)),
            ("tier", text(&head.tier)),
            ("from_date", text(&head.from_date)),
            ("to_date", text(&head.to_date)),
            ("context", head.context.clone()),
            ("source_status", head.source_status.clone()),
            ("warnings", Raw::array(said.chain(warnings.iter().map(|warning| text(warning))))),
            ("mock", Raw::from(&Value::from(self.round.mock))),
            ("judgments", Raw::from(&Value::from(number))),
            ("nominations", Raw::array(nominations)),
        ])
    }
}

/// The number of a round's latest judgments; 0 where it has none.
pub(super) fn latest(transaction: &Transaction<'_>, bundle_id: &str) -> Result<i64> {
    let mut statement = transaction.prepare_cached(include_str!("sql/latest_judging.sql"))?;
    Ok(statement.query_row([bundle_id], |row| column(row, 0))?)
}

/// Inserts the judgments; gives their number.
fn insert(
    transaction: &Transaction<'_>,
    bundle_id: &str,
    pool: &StoredPool,
    judgments: &HashMap<String, Judgment>,
    now: DateTime<Utc>,
) -> Result<i64> {
    round::require_current(transaction, bundle_id)?;
    let attempt = latest(transaction, bundle_id)? + 1;
    let judged_at = store_time(now);
    for Nomination { id, .. } in &pool.nominations {
        let Some(Judgment { name, junk, worthiness, row }) = judgments.get(id) else { continue };
        change_one(
            transaction,
            include_str!("sql/insert_judgment.sql"),
            params![bundle_id, attempt, id, name, junk, worthiness, row.as_str(), judged_at],
        )?;
    }
    // A trigger has superseded the pending report of the judgments before.
    round::supersede_pending(transaction, now)?;
    Ok(attempt)
}

fn judged_row(nomination: &Nomination, name: &str, judgment: Option<&Judgment>) -> Raw {
    let junk = judgment.and_then(|judgment| judgment.junk).unwrap_or_else(|| nomination.fallback_junk());
    let worthiness = judgment.and_then(|judgment| judgment.worthiness);
    let Members { cluster_id, heuristic_name, heuristic_junk, nomination: inside } =
        nomination.members.clone();
    Raw::object([
        ("id", text(&nomination.id)),
        ("name", text(name)),
        ("junk", Raw::from(&Value::from(junk))),
        ("worthiness", Raw::from(&worthiness.map_or(Value::Null, |worth| Value::from(i64::from(worth))))),
        ("judged", Raw::from(&Value::from(judgment.is_some()))),
        ("cluster_id", cluster_id),
        ("heuristic_name", heuristic_name),
        ("heuristic_junk", heuristic_junk),
        ("nomination", inside),
    ])
}

fn text(text: &str) -> Raw {
    Raw::from(&Value::from(text))
}
