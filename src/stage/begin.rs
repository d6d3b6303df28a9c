//! Beginning: resume the run of today, or start a new one (contract stages.md, begin).
//!
//! Here lives what is trusted of an older run: its date, the version of its artifacts' shape, its names.

use chrono::NaiveDate;
use rusqlite::Transaction;

use super::name::{PipelineName, StageName};
use super::rows::{self, RunRow};
use crate::clock;
use crate::db::Store;
use crate::error::Result;

/// The version of the artifacts' shape that this build writes (seed run-state-store.txt, migration policy).
pub const SCHEMA_VERSION: i64 = 2;

/// A change of the artifacts' shape.
struct Migration {
    /// The version that it leads away from; it leads to the next one.
    from: i64,
    /// The stages whose artifacts have another shape since.
    invalidates: &'static [&'static str],
}

/// Every change, in order.
const MIGRATIONS: &[Migration] = &[
    // The artifact of fetch carries sources and feed_failure.
    Migration { from: 1, invalidates: &["fetch"] },
];

/// How to begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// Start over, whatever the day.
    pub fresh: bool,
    /// Also resume a run that began up to so many UTC days ago; 0: today only.
    pub keep_days: u32,
}

/// How it began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// A run was there, and is resumed.
    pub resume: bool,
    /// The UTC day on which the run began.
    pub run_date: NaiveDate,
    /// What needs no doing again, in the order of completion.
    pub completed: Vec<StageName>,
}

/// Resumes the pipeline's run, where it began today (or up to `keep_days` ago); else removes all that is left of it and
/// starts a new one, dated today in UTC (contract stages.md, begin).
///
/// A resumed run of an older version is migrated: it keeps its date, and what its migrations invalidate goes, with
/// everything after it. A run of a version that is not known is not resumed.
///
/// # Errors
/// The store's own.
pub fn begin(store: &Store, pipeline: &PipelineName, how: Begin) -> Result<Begun> {
    super::change(store, |transaction| {
        let now = store.clock().now();
        let today = now.date_naive();
        if let Some(run) = rows::run(transaction, pipeline)?
            && !how.fresh
            && let Some(run_date) = resumable(&run, today, how.keep_days)
        {
            let completed = bring_up_to_date(transaction, pipeline, run.schema_version)?;
            return Ok(Begun { resume: true, run_date, completed });
        }
        rows::clear(transaction, pipeline)?;
        rows::start(transaction, pipeline, today, SCHEMA_VERSION, &clock::store_time(now))?;
        Ok(Begun { resume: false, run_date: today, completed: Vec::new() })
    })
}

/// The run's date, where the run may be resumed. A date in the future is none to resume: a clock was wrong.
fn resumable(run: &RunRow, today: NaiveDate, keep_days: u32) -> Option<NaiveDate> {
    let run_date = run_date(&run.run_date)?;
    let age = today.signed_duration_since(run_date).num_days();
    let resumes = is_known(run.schema_version) && (0..=i64::from(keep_days)).contains(&age);
    resumes.then_some(run_date)
}

/// Whether runs of this version can be resumed.
pub(crate) fn is_known(schema_version: i64) -> bool {
    schema_version == SCHEMA_VERSION || MIGRATIONS.iter().any(|migration| migration.from == schema_version)
}

/// Reads a run's date; none where the text is no day in the form that the scripts write.
pub(super) fn run_date(text: &str) -> Option<NaiveDate> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    // The parser is lenient about leading zeros and signs.
    (day.to_string() == text).then_some(day)
}

/// Drops what a migration invalidates and what has no stage's name, each with everything after it. Gives what is left.
fn bring_up_to_date(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    version: i64,
) -> Result<Vec<StageName>> {
    let completed = rows::completed_as_written(transaction, pipeline)?;
    let invalidated = |name: &StageName| {
        let since = MIGRATIONS.iter().filter(|migration| migration.from >= version);
        since.flat_map(|migration| migration.invalidates).any(|stage| *stage == name.as_str())
    };
    let kept: Vec<StageName> = completed
        .iter()
        .map_while(|name| StageName::parse(name).ok())
        .take_while(|name| !invalidated(name))
        .collect();
    rows::truncate(transaction, pipeline, kept.len())?;
    if version != SCHEMA_VERSION {
        rows::set_schema_version(transaction, pipeline, SCHEMA_VERSION)?;
    }
    Ok(kept)
}
