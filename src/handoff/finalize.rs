//! Leg 3: the pending report with the host's angles (contract handoff.md).
//!
//! Owns the table `angles`. By now everything was paid for, so what can still fail to be stored (the angles, that the
//! report was finalized, the queue) is a warning beside the report and never the loss of it. Angles are one transaction,
//! the queue is another; a crash between leaves topics uncounted, and the same finalize counts them once. The pending
//! report stays, so that corrected angles can be tried.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use rusqlite::{Transaction, params};

use crate::clock::store_time;
use crate::db::{Store, change_one, column};
use crate::error::{Error, HandoffError, HandoffFile, Record, Result};
use crate::json::{Raw, Value};

use super::host_file::{Angle, BoundFile, Rows, proposal};
use super::pending::{self, AngleInputs, PendingReport};
use super::queue;
use super::report_topics::{Link, links, nameless};
use super::round::{self, text_of};

/// Leg 3 under way: the current pending report was found usable.
#[derive(Debug)]
pub struct FinalizeLeg<'a> {
    store: &'a Store,
    pending: PendingReport,
    inputs: AngleInputs,
}

/// The report with its angles.
#[derive(Debug, Clone)]
pub struct Finalized {
    /// The round.
    pub bundle_id: String,
    /// The report for the engine: contract handoff.md, answers.
    pub answer: Value,
    /// What was skipped or overruled, and what could not be stored, one line each.
    pub warnings: Vec<String>,
    /// What became of each source of the sweep, as tokens.
    pub source_status: Raw,
}

impl<'a> FinalizeLeg<'a> {
    /// Finds the current pending report and checks, in this order: it is there, of the known kind and version, fresh,
    /// made with `mock` as the call is, and has a readable angle input. The bundle is not read.
    ///
    /// # Errors
    /// [`HandoffError`] of the first check that fails. A report that is found stale is kept as stale for good.
    pub fn begin(store: &'a Store, mock: bool) -> Result<Self> {
        let now = store.clock().now();
        let pending = store.read(pending::current)?;
        let usable = pending.require_usable(now, mock);
        if matches!(usable, Err(HandoffError::Stale { .. })) {
            // The refusal stands whether or not this can be kept.
            let _ = store.write(|transaction| pending.expire(transaction, now));
        }
        usable?;
        let inputs = store.read(|transaction| pending.angle_inputs(transaction))?;
        Ok(Self { store, pending, inputs })
    }

    /// The id of the round, which an angles file must name.
    pub fn bundle_id(&self) -> &str {
        &self.pending.bundle_id
    }

    /// Takes the bytes of the angles file, where there is one, and gives the report with the angles in its topics.
    ///
    /// # Errors
    /// [`HandoffError::File`], [`HandoffError::Mismatch`] for the file; [`HandoffError::PendingSuperseded`] where a newer
    /// round, judgment or report came between.
    pub fn finish(&self, angles: Option<&[u8]>) -> Result<Finalized> {
        let rows = angles.map(|bytes| self.read_angles(bytes)).transpose()?;
        let Rows { by_id: angles, warnings: skipped } =
            rows.unwrap_or(Rows { by_id: HashMap::new(), warnings: Vec::new() });
        self.store.read(|transaction| self.pending.require_current(transaction))?;
        let mut report = self.pending.member("report", Raw::object([])).value().to_value()?;
        let links = links(&report, &self.inputs.by_id);
        apply(&mut report, &links, &angles);
        let topics: Vec<String> = links.iter().filter_map(|link| link.name.clone()).collect();

        let mut warnings: Vec<String> = self.inputs.warnings.iter().cloned().chain(skipped).collect();
        warnings.extend(self.without_topic(&links, &angles));
        warnings.extend(nameless(&links));
        let now = self.store.clock().now();
        let stored = self.store.write(|transaction| self.store_angles(transaction, &angles, now));
        warnings.extend(unless_refused(stored)?.map(|error| format!("the angles were not stored: {error}")));
        if !self.pending.mock {
            let domain = text_of(self.pending.body.value().get("domain")).unwrap_or_default();
            let run_ref = &self.pending.run_ref;
            let counted =
                self.store.write(|transaction| queue::surface(transaction, &topics, &domain, run_ref, now));
            warnings.extend(counted.err().map(|error| format!("the queue was not written: {error}")));
        }
        let source_status = self.pending.member("source_status", Raw::object([]));
        Ok(Finalized {
            bundle_id: self.pending.bundle_id.clone(),
            answer: self.answer(report, &source_status, &warnings)?,
            warnings,
            source_status,
        })
    }

    fn read_angles(&self, bytes: &[u8]) -> Result<Rows<Angle>> {
        let file = BoundFile::read(HandoffFile::Angles, bytes)?;
        round::require_bound(self.store, &file, &self.pending.bundle_id, Record::PendingReport)?;
        let known: Vec<&str> = self.inputs.by_id.iter().map(|(id, _)| id.as_str()).collect();
        Ok(file.rows("angles", &known, proposal)?)
    }

    /// A warning for each angle that no topic takes.
    fn without_topic(&self, links: &[Link], angles: &HashMap<String, Angle>) -> Vec<String> {
        let is_taken = |id: &str| links.iter().any(|link| link.id.as_deref() == Some(id));
        let ids = self.inputs.by_id.iter().map(|(id, _)| id);
        ids.filter(|id| angles.contains_key(*id) && !is_taken(id))
            .map(|id| {
                format!("the angle of {id} is not used: no topic of the report has this id, or its name")
            })
            .collect()
    }

    fn store_angles(
        &self,
        transaction: &Transaction<'_>,
        angles: &HashMap<String, Angle>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        self.pending.require_current(transaction)?;
        let number = self.pending.number;
        let now = store_time(now);
        let attempt: i64 =
            transaction.query_row(include_str!("sql/next_proposal.sql"), [number], |row| column(row, 0))?;
        for (id, _) in &self.inputs.by_id {
            let Some(Angle { podcast, x_article, row }) = angles.get(id) else { continue };
            let angle = params![number, attempt, id, podcast, x_article, row.as_str(), now];
            change_one(transaction, include_str!("sql/insert_angle.sql"), angle)?;
        }
        change_one(transaction, include_str!("sql/finalize_pending_report.sql"), params![number, now])
    }

    fn answer(&self, report: Value, source_status: &Raw, warnings: &[String]) -> Result<Value> {
        let text = |text: &str| Value::from(text);
        let mut said = match self.pending.member("warnings", Raw::array([])).value().to_value()? {
            Value::Array(said) => said,
            _ => Vec::new(),
        };
        said.extend(warnings.iter().map(|warning| text(warning)));
        let members = [
            ("bundle_id", text(&self.pending.bundle_id)),
            ("run_ref", text(&self.pending.run_ref)),
            ("source_status", source_status.value().to_value()?),
            ("warnings", Value::Array(said)),
            ("report", report),
        ];
        Ok(Value::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect()))
    }
}

/// Puts the angles into the topics of the report.
fn apply(report: &mut Value, links: &[Link], angles: &HashMap<String, Angle>) {
    let Value::Object(report) = report else { return };
    let Some(Value::Array(topics)) = report.get_mut("topics".as_bytes()) else { return };
    for (topic, link) in topics.iter_mut().zip(links) {
        let angle = link.id.as_ref().and_then(|id| angles.get(id));
        let (Some(Angle { podcast, x_article, .. }), Value::Object(topic)) = (angle, topic) else { continue };
        for (key, angle) in [("podcast_angle", podcast), ("x_article_angle", x_article)] {
            if let Some(angle) = angle {
                topic.insert(key.into(), Value::from(angle.as_str()));
            }
        }
    }
}

/// A failure to store, for a warning; a refusal of the protocol stays an error.
fn unless_refused(stored: Result<()>) -> Result<Option<Error>> {
    match stored {
        Ok(()) => Ok(None),
        Err(error @ Error::Handoff(_)) => Err(error),
        Err(error) => Ok(Some(error)),
    }
}
