//! Leg 2b: what the engine made of the judgments becomes the pending report (contract handoff.md).
//!
//! The transaction is in `pending.rs`. The engine wrote this file, so it is read strictly: a fault is mended where it is
//! cheap. Whether the round is current and judged is asked again in the writing transaction; its age is not asked, since
//! the work between may be long.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use rusqlite::{OptionalExtension, Transaction};

use crate::clock::{offset_time, parse_time, snapshot_time};
use crate::db::{Store, column};
use crate::error::{FileFault, HandoffError, HandoffFile, Record, Result};
use crate::json::{Raw, RawValue, Value};

use super::fence::fenced;
use super::freshness::expires_at;
use super::host_file::BoundFile;
use super::host_text::characters;
use super::judge;
use super::nominate::mint;
use super::pending::{self, KIND, NewReport};
use super::report_topics::{links, nameless};
use super::round::{self, Round, SCHEMA_VERSION};
use super::strict::{Found, Shape, is_integer, is_object, shortened};
use super::writing::not_stored;

const REPORT: &[&str] = &["bundle_id", "report", "angle_inputs", "run_ref", "judgments"];

/// Leg 2b under way: there is a current round, of the known kind and version, made with mock as the call is.
#[derive(Debug)]
pub struct ReportLeg<'a> {
    store: &'a Store,
    round: Round,
}

/// What leg 2b stored, or that it stored nothing.
#[derive(Debug, Clone)]
pub struct Reported {
    /// The round.
    pub bundle_id: String,
    /// The pending report; none where nothing was solid.
    pub pending: Option<Pending>,
    /// Topics that have no name, one line each.
    pub warnings: Vec<String>,
    /// What became of each source of the sweep, as tokens.
    pub source_status: Raw,
}

/// A pending report for the caller.
#[derive(Debug, Clone)]
pub struct Pending {
    /// Under which the queue counts the report's topics.
    pub run_ref: String,
    /// When the pending report expires.
    pub expires_at: DateTime<Utc>,
    /// The angle inputs by id, as tokens.
    pub angle_inputs: Raw,
    /// What the host reads: the angle inputs, indented, inside a fence of their own, since they hold scraped text.
    pub host_inputs: String,
}

impl<'a> ReportLeg<'a> {
    /// Finds the current round and checks its kind, version and mock parity.
    ///
    /// # Errors
    /// [`HandoffError`] of the first check that fails.
    pub fn begin(store: &'a Store, mock: bool) -> Result<Self> {
        let round = store.read(round::current)?;
        round.require_mock(mock)?;
        Ok(Self { store, round })
    }

    /// The current round's id, which the file must name.
    pub fn bundle_id(&self) -> &str {
        &self.round.bundle_id
    }

    /// Takes the bytes of the report file and stores it as the pending report.
    ///
    /// # Errors
    /// [`HandoffError::File`], [`HandoffError::Mismatch`] for the file; [`HandoffError::Superseded`] where a `nominate`
    /// came between; [`HandoffError::Unjudged`]; [`HandoffError::OldJudgments`] where a `judge` came between;
    /// [`HandoffError::NotStored`]. Nothing is stored then.
    pub fn finish(&self, bytes: &[u8]) -> Result<Reported> {
        let file = BoundFile::read(HandoffFile::Report, bytes)?;
        round::require_bound(self.store, &file, &self.round.bundle_id, Record::Bundle)?;
        let ids = self.store.read(|transaction| round::nomination_ids(transaction, &self.round.bundle_id))?;
        let input = Input::read(file.raw().value(), &ids)?;
        let nonce = mint(self.store)?;
        let now = self.store.clock().now();
        let run_ref = self
            .store
            .write(|transaction| self.insert(transaction, &input, now))
            .map_err(not_stored(Record::PendingReport))?;
        let warnings = nameless(&links(&input.topics, &input.angle_inputs)).collect();
        let angle_inputs =
            Raw::object(input.angle_inputs.iter().map(|(id, input)| (id.as_str(), input.clone())));
        let host_inputs = fenced(&angle_inputs.value().indented(), &nonce);
        let pending = Pending { run_ref, expires_at: expires_at(now), angle_inputs, host_inputs };
        Ok(self.reported(Some(pending), warnings))
    }

    /// Says that nothing of round `bundle_id` was solid: any pending report is superseded and none stored. The round
    /// awaits nothing then; a new `judge` or `report` takes it back.
    ///
    /// # Errors
    /// [`HandoffError::Superseded`], [`HandoffError::NotCurrent`] for another round than the current one;
    /// [`HandoffError::Unjudged`]; [`HandoffError::NotStored`].
    pub fn nothing_solid(&self, bundle_id: &str) -> Result<Reported> {
        if bundle_id != self.round.bundle_id {
            self.require_no_earlier_round(bundle_id)?;
            let current = self.round.bundle_id.clone();
            return Err(HandoffError::NotCurrent { given: bundle_id.to_owned(), current }.into());
        }
        let now = self.store.clock().now();
        self.store
            .write(|transaction| {
                self.require_judged(transaction)?;
                round::supersede_pending(transaction, now)?;
                round::say_nothing_solid(transaction, bundle_id)
            })
            .map_err(not_stored(Record::PendingReport))?;
        Ok(self.reported(None, Vec::new()))
    }

    fn reported(&self, pending: Option<Pending>, warnings: Vec<String>) -> Reported {
        let bundle_id = self.round.bundle_id.clone();
        Reported { bundle_id, pending, warnings, source_status: self.round.head.source_status.clone() }
    }

    /// The writing transaction of a report; gives its run_ref.
    fn insert(&self, transaction: &Transaction<'_>, input: &Input, now: DateTime<Utc>) -> Result<String> {
        let bundle_id = &self.round.bundle_id;
        let latest = self.require_judged(transaction)?;
        if let Some(found) = input.judgments.filter(|found| *found != latest) {
            return Err(HandoffError::OldJudgments { bundle_id: bundle_id.clone(), found, latest }.into());
        }
        let run_ref = match &input.run_ref {
            Some(run_ref) => run_ref.clone(),
            None => self.default_run_ref(transaction, now)?,
        };
        let generated_at = offset_time(now);
        let body = self.body(&generated_at, &run_ref, input.report.clone());
        let new = NewReport {
            bundle_id,
            generated_at: &generated_at,
            run_ref: &run_ref,
            mock: self.round.mock,
            body: &body,
            inputs: &input.angle_inputs,
        };
        pending::insert(transaction, &new, now)?;
        Ok(run_ref)
    }

    /// What was said of an earlier round is told apart from a mistyped id.
    fn require_no_earlier_round(&self, found: &str) -> Result<()> {
        let is_earlier = self.store.read(|transaction| round::is_current(transaction, found))? == Some(false);
        if !is_earlier {
            return Ok(());
        }
        let by = Some(self.round.bundle_id.clone());
        Err(HandoffError::Superseded { bundle_id: found.to_owned(), by }.into())
    }

    /// The number of the round's latest judgments.
    fn require_judged(&self, transaction: &Transaction<'_>) -> Result<i64> {
        round::require_current(transaction, &self.round.bundle_id)?;
        match judge::latest(transaction, &self.round.bundle_id)? {
            0 => Err(HandoffError::Unjudged { bundle_id: self.round.bundle_id.clone() }.into()),
            latest => Ok(latest),
        }
    }

    /// Of the domain and the time of the round's first report, so that a report given again is the same one.
    fn default_run_ref(&self, transaction: &Transaction<'_>, now: DateTime<Utc>) -> Result<String> {
        let mut statement = transaction.prepare_cached(include_str!("sql/first_report.sql"))?;
        let first: Option<String> =
            statement.query_row([&self.round.bundle_id], |row| column(row, 0)).optional()?;
        let time = first.as_deref().and_then(parse_time).unwrap_or(now);
        let domain = &self.round.head.domain;
        let domain = if domain.is_empty() { "trending" } else { domain };
        Ok(format!("discover:{domain}:{}", snapshot_time(time)))
    }

    /// A pending report without its angle inputs: the legacy keys, and what leg 3 says of the sweep.
    fn body(&self, generated_at: &str, run_ref: &str, report: Raw) -> Raw {
        let text = |text: &str| Raw::from(&Value::from(text));
        let head = &self.round.head;
        Raw::object([
            ("schema_version", text(SCHEMA_VERSION)),
            ("kind", text(KIND)),
            ("bundle_id", text(&self.round.bundle_id)),
            ("generated_at", text(generated_at)),
            ("run_ref", text(run_ref)),
            ("mock", Raw::from(&Value::from(self.round.mock))),
            ("domain", text(&head.domain)),
            ("source_status", head.source_status.clone()),
            ("warnings", head.warnings.clone()),
            ("report", report),
        ])
    }
}

/// The members of a report file.
struct Input {
    report: Raw,
    topics: Value,
    angle_inputs: Vec<(String, Raw)>,
    run_ref: Option<String>,
    judgments: Option<i64>,
}

impl Input {
    /// Reads the file; `ids` are those of the round's nominations.
    fn read(file: RawValue<'_>, ids: &HashSet<String>) -> Result<Self, HandoffError> {
        let found = Found::default();
        let input = Self::checked(file, ids, &found);
        found.or_faults(input).map_err(|faults| HandoffError::File {
            file: HandoffFile::Report,
            fault: FileFault::Members(faults),
        })
    }

    fn checked(file: RawValue<'_>, ids: &HashSet<String>, found: &Found) -> Option<Self> {
        let shape = Shape::read("", file, REPORT, found)?;
        let report = shape.checked("report", is_object, "must be an object");
        if let Some(topics) = report.and_then(|report| report.get("topics")) {
            check_topics(topics, found);
        }
        let topics = report.and_then(|report| report.to_value().ok());
        let angle_inputs = angle_inputs(&shape, ids, found);
        let run_ref = shape.find("run_ref").and_then(|_| shape.line("run_ref"));
        if run_ref.as_ref().is_some_and(|run_ref| run_ref.trim().is_empty()) {
            shape.fault("run_ref", "must not be blank");
        }
        let judgments = shape.find("judgments").and_then(|_| {
            let is_number =
                |number: RawValue<'_>| is_integer(number) && number.as_str().parse::<i64>().is_ok();
            let rule = "must be the number that judge printed";
            shape.checked("judgments", is_number, rule)?.as_str().parse().ok()
        });
        Some(Self {
            report: report?.to_raw(),
            topics: topics?,
            angle_inputs: angle_inputs?,
            run_ref,
            judgments,
        })
    }
}

fn check_topics(topics: RawValue<'_>, found: &Found) {
    let Some(topics) = topics.items() else {
        found.add("report.topics", "must be a list of objects");
        return;
    };
    for (index, _) in topics.enumerate().filter(|(_, topic)| !is_object(*topic)) {
        found.add(format!("report.topics[{index}]"), "must be an object");
    }
}

fn angle_inputs(shape: &Shape<'_, '_>, ids: &HashSet<String>, found: &Found) -> Option<Vec<(String, Raw)>> {
    let inputs = shape.checked("angle_inputs", is_object, "must be an object")?;
    let mut by_id = Vec::new();
    for (id, input) in inputs.members().into_iter().flatten() {
        let id = characters(&id);
        let place = format!("angle_inputs.{}", shortened(&id));
        if !ids.contains(&id) {
            found.add(&place, "this round has no nomination of this id");
        }
        if !is_object(input) {
            found.add(&place, "must be an object");
        }
        by_id.push((id, input.to_raw()));
    }
    if by_id.is_empty() {
        shape.fault("angle_inputs", "must not be empty; say --nothing-solid instead");
    }
    Some(by_id)
}
