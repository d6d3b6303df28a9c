//! The queue: topics that surfaced, and which of them were covered (contract handoff.md, queue).
//!
//! Owns the tables `queue` and `queue_counts`. A topic's count is the number of run_refs that surfaced it, so a retry in
//! whatever order counts nothing twice. All topics of one report are one transaction.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::{Params, Row, Transaction, params};

use crate::clock::store_time;
use crate::db::{Store, change_one, column};
use crate::error::{HandoffError, Result};

use super::topic::normalized_name;

/// A topic of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topic {
    /// As it was first surfaced.
    pub name: String,
    /// Its key: lower case, punctuation as spaces, collapsed.
    pub normalized_name: String,
    /// The domain of the sweep that first surfaced it; empty for a sweep of everything.
    pub domain: String,
    /// How many runs surfaced it.
    pub surface_count: i64,
    /// When it first surfaced, RFC 3339.
    pub first_surfaced: Option<String>,
    /// When it last surfaced, RFC 3339.
    pub last_surfaced: Option<String>,
    /// When it was covered, RFC 3339; none where it was not.
    pub covered_at: Option<String>,
}

impl Topic {
    /// `surfaced` or `covered`.
    pub fn state(&self) -> &'static str {
        if self.covered_at.is_some() { "covered" } else { "surfaced" }
    }

    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            name: column(row, "name")?,
            normalized_name: column(row, "normalized_name")?,
            domain: column(row, "domain")?,
            surface_count: column(row, "surface_count")?,
            first_surfaced: column(row, "first_surfaced")?,
            last_surfaced: column(row, "last_surfaced")?,
            covered_at: column(row, "covered_at")?,
        })
    }
}

/// The topics: those to be covered first, then the latest first.
///
/// # Errors
/// The store's own.
pub fn topics(store: &Store) -> Result<Vec<Topic>> {
    store.read(|transaction| {
        let mut statement = transaction.prepare(include_str!("sql/topics.sql"))?;
        let topics = statement.query_map([], Topic::from_row)?;
        Ok(topics.collect::<rusqlite::Result<_>>()?)
    })
}

/// Marks the topic of this name as covered; its name is normalized first. One that was covered stays as it is.
///
/// # Errors
/// [`HandoffError::UnknownTopic`]; the store's own.
pub fn cover(store: &Store, name: &str) -> Result<Topic> {
    let key = normalized_name(name);
    let now = store_time(store.clock().now());
    store.write(|transaction| {
        if !has(transaction, include_str!("sql/has_topic.sql"), [&key])? {
            return Err(HandoffError::UnknownTopic.into());
        }
        change_one(transaction, include_str!("sql/cover_topic.sql"), params![key, now])?;
        let mut statement = transaction.prepare(include_str!("sql/topics.sql"))?;
        let topics = statement.query_map([], Topic::from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
        let covered = topics.into_iter().find(|topic| topic.normalized_name == key);
        covered.ok_or_else(|| HandoffError::UnknownTopic.into())
    })
}

/// Counts each of `names` once for `run_ref`. A name of punctuation only is no topic.
pub(super) fn surface(
    transaction: &Transaction<'_>,
    names: &[String],
    domain: &str,
    run_ref: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let now = store_time(now);
    let mut counted = HashSet::new();
    for name in names {
        let key = normalized_name(name);
        if key.is_empty() || !counted.insert(key.clone()) {
            continue;
        }
        if !has(transaction, include_str!("sql/has_topic.sql"), [&key])? {
            let topic = params![key, name, domain];
            change_one(transaction, include_str!("sql/surface_topic.sql"), topic)?;
        }
        if !has(transaction, include_str!("sql/has_count.sql"), [&key, run_ref])? {
            change_one(transaction, include_str!("sql/count_topic.sql"), params![key, run_ref, now])?;
        }
    }
    Ok(())
}

fn has(transaction: &Transaction<'_>, sql: &str, key: impl Params) -> Result<bool> {
    Ok(transaction.prepare_cached(sql)?.query_row(key, |row| column(row, 0))?)
}
