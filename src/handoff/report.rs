//! Leg 2b: what the engine made of the judgments becomes the pending report (contract handoff.md).
//!
//! The transaction is in `pending.rs`. The engine wrote this file, so it is read strictly: a fault is mended where it is
//! cheap. Whether the round is current and judged is asked again in the writing transaction; its age is not asked, since
//! the work between may be long.

use chrono::{DateTime, Utc};

use crate::clock::{offset_time, snapshot_time};
use crate::db::Store;
use crate::error::{FileFault, HandoffError, HandoffFile, Record, Result};
use crate::json::{Raw, RawValue, Value};

use super::fence::fenced;
use super::freshness::expires_at;
use super::host_file::BoundFile;
use super::judge::is_judged;
use super::nominate::mint;
use super::pending::{self, KIND, NewReport};
use super::round::{self, Round, SCHEMA_VERSION};
use super::strict::{Shape, ShapeFault};
use super::writing::not_stored;

const REPORT: &[&str] = &["bundle_id", "report", "angle_inputs", "run_ref"];

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
    /// [`HandoffError::File`] for the file; [`HandoffError::Superseded`] where it belongs to an earlier round,
    /// [`HandoffError::Mismatch`] where it names no round of this store; [`HandoffError::Unjudged`];
    /// [`HandoffError::NotStored`]. Nothing is stored then.
    pub fn finish(&self, bytes: &[u8]) -> Result<Reported> {
        let file = BoundFile::read(HandoffFile::Report, bytes)?;
        if let Some(found) = file.bundle_id() {
            self.require_no_earlier_round(found)?;
        }
        file.require_bundle(&self.round.bundle_id, Record::Bundle)?;
        let input = Input::read(file.raw().value()).map_err(refused)?;
        let nonce = mint(self.store)?;
        let now = self.store.clock().now();
        let run_ref = input.run_ref.unwrap_or_else(|| self.default_run_ref(now));
        let generated_at = offset_time(now);
        let body = self.body(&generated_at, &run_ref, input.report);
        let new = NewReport {
            bundle_id: &self.round.bundle_id,
            generated_at: &generated_at,
            run_ref: &run_ref,
            mock: self.round.mock,
            body: &body,
            inputs: &input.angle_inputs,
        };
        self.store
            .write(|transaction| {
                self.require_judged(transaction)?;
                let ids = round::nomination_ids(transaction, &self.round.bundle_id)?;
                if input.angle_inputs.iter().any(|(id, _)| !ids.contains(id)) {
                    return Err(refused(unknown_id()).into());
                }
                pending::insert(transaction, &new, now)
            })
            .map_err(not_stored(Record::PendingReport))?;
        let angle_inputs =
            Raw::object(input.angle_inputs.iter().map(|(id, input)| (id.as_str(), input.clone())));
        let host_inputs = fenced(&angle_inputs.value().indented(), &nonce);
        Ok(self.reported(Some(Pending { run_ref, expires_at: expires_at(now), angle_inputs, host_inputs })))
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
                pending::supersede(transaction, now)?;
                round::say_nothing_solid(transaction, bundle_id)
            })
            .map_err(not_stored(Record::PendingReport))?;
        Ok(self.reported(None))
    }

    fn reported(&self, pending: Option<Pending>) -> Reported {
        let bundle_id = self.round.bundle_id.clone();
        Reported { bundle_id, pending, source_status: self.round.head.source_status.clone() }
    }

    /// What was made for an earlier round must not be bound to this one by a mended id, so it is told apart from a
    /// mistyped one.
    fn require_no_earlier_round(&self, found: &str) -> Result<()> {
        let is_earlier = self.store.read(|transaction| round::is_current(transaction, found))? == Some(false);
        if !is_earlier {
            return Ok(());
        }
        let by = Some(self.round.bundle_id.clone());
        Err(HandoffError::Superseded { bundle_id: found.to_owned(), by }.into())
    }

    fn require_judged(&self, transaction: &rusqlite::Transaction<'_>) -> Result<()> {
        round::require_current(transaction, &self.round.bundle_id)?;
        if is_judged(transaction, &self.round.bundle_id)? {
            return Ok(());
        }
        Err(HandoffError::Unjudged { bundle_id: self.round.bundle_id.clone() }.into())
    }

    fn default_run_ref(&self, now: DateTime<Utc>) -> String {
        let domain = &self.round.head.domain;
        let domain = if domain.is_empty() { "trending" } else { domain };
        format!("discover:{domain}:{}", snapshot_time(now))
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
    angle_inputs: Vec<(String, Raw)>,
    run_ref: Option<String>,
}

impl Input {
    fn read(file: RawValue<'_>) -> Result<Self, ShapeFault> {
        let shape = Shape::read("", file, REPORT)?;
        let report = shape.get("report")?;
        if report.members().is_none() {
            return Err(shape.fault_at("report", "must be an object"));
        }
        let topics = report.get("topics");
        if topics.is_some_and(|topics| topics.items().is_none_or(|mut topics| topics.any(is_no_object))) {
            return Err(shape.fault_at("report.topics", "must be a list of objects"));
        }
        let run_ref = shape.find("run_ref").map(|_| shape.text("run_ref")).transpose()?;
        if run_ref.as_ref().is_some_and(|text| text.trim().is_empty() || text.contains(char::is_control)) {
            return Err(shape.fault_at("run_ref", "must be one line of text"));
        }
        Ok(Self { report: report.to_raw(), angle_inputs: angle_inputs(&shape)?, run_ref })
    }
}

fn angle_inputs(shape: &Shape<'_>) -> Result<Vec<(String, Raw)>, ShapeFault> {
    let members = shape.get("angle_inputs")?.members();
    let members = members.ok_or_else(|| shape.fault_at("angle_inputs", "must be an object"))?;
    let inputs = members
        .map(|(id, input)| match id.as_str() {
            None => Err(unknown_id()),
            Some(_) if is_no_object(input) => {
                Err(shape.fault_at("angle_inputs", "must hold an object for each id"))
            }
            Some(id) => Ok((id.to_owned(), input.to_raw())),
        })
        .collect::<Result<Vec<_>, _>>()?;
    if inputs.is_empty() {
        return Err(shape.fault_at("angle_inputs", "must not be empty; say --nothing-solid instead"));
    }
    Ok(inputs)
}

fn is_no_object(value: RawValue<'_>) -> bool {
    value.members().is_none()
}

fn unknown_id() -> ShapeFault {
    ShapeFault { place: "angle_inputs".to_owned(), rule: "names an id that the round's bundle does not have" }
}

fn refused(ShapeFault { place, rule }: ShapeFault) -> HandoffError {
    HandoffError::File { file: HandoffFile::Report, fault: FileFault::Member { place, rule } }
}
