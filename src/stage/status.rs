//! Looking at a run without changing it.

use chrono::{DateTime, NaiveDate, Utc};

use super::begin;
use super::kind::Kind;
use super::name::{PipelineName, StageName};
use super::rows;
use crate::clock;
use crate::db::Store;
use crate::digest::Digest;
use crate::error::Result;

/// A pipeline's run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The UTC day on which it began.
    pub run_date: NaiveDate,
    /// The version of its artifacts' shape.
    pub schema_version: i64,
    /// When it was begun, saved into first, or imported.
    pub begun_at: DateTime<Utc>,
    /// The completed stages in order.
    pub completed: Vec<Saved>,
    /// The markers by name.
    pub markers: Vec<Saved>,
}

/// An artifact without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The stage or marker.
    pub name: StageName,
    /// The artifact's size, without the newline that load adds.
    pub byte_size: u64,
    /// The artifact's SHA-256.
    pub sha256: Digest,
    /// When it was saved last.
    pub saved_at: DateTime<Utc>,
}

impl Run {
    /// The first stage of `plan` that is not completed: where the run goes on; none where all are.
    pub fn next<'a>(&self, plan: &'a [StageName]) -> Option<&'a StageName> {
        plan.iter().find(|stage| !self.completed.iter().any(|saved| saved.name == **stage))
    }
}

/// The pipeline's run; none where it is in none.
///
/// # Errors
/// [`crate::error::StageError::Damaged`] where the rows break the schema's own rules; the store's own.
pub fn status(store: &Store, pipeline: &PipelineName) -> Result<Option<Run>> {
    store.read(|transaction| {
        let Some(run) = rows::run(transaction, pipeline)? else { return Ok(None) };
        rows::completed_as_written(transaction, pipeline)?;
        let damaged = |what| rows::damaged(pipeline, what);
        let time = |text: &str| clock::parse_time(text).ok_or_else(|| damaged("a time in it is none"));
        let (mut completed, mut markers) = (Vec::new(), Vec::new());
        for row in rows::saved(transaction, pipeline)? {
            let saved = Saved {
                name: rows::checked_name(pipeline, &row.name)?,
                byte_size: row.byte_size.unsigned_abs(),
                sha256: Digest::parse(&row.sha256).ok_or_else(|| damaged("a digest in it is none"))?,
                saved_at: time(&row.saved_at)?,
            };
            match row.kind {
                Kind::Stage => completed.push(saved),
                Kind::Marker => markers.push(saved),
            }
        }
        Ok(Some(Run {
            run_date: begin::run_date(&run.run_date).ok_or_else(|| damaged("its run_date is no day"))?,
            schema_version: run.schema_version,
            begun_at: time(&run.begun_at)?,
            completed,
            markers,
        }))
    })
}
