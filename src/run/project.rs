//! A run's snapshot as its journal tells it.

use crate::db::Store;
use crate::error::Result;
use crate::event::Event;
use crate::id::RunId;
use crate::journal;
use crate::json::Object;
use crate::projection::Told;

use super::status::base;
use super::table;

/// How many events are in memory at once.
const BATCH: usize = 1_000;

/// The projection of the run's last snapshot over its whole journal (contract events.md, Projection). Each event is
/// checked as it is read. Nothing is changed; run.json is never made of this.
///
/// # Errors
/// [`crate::error::RunError::Unknown`], [`crate::error::RunError::NoSnapshot`]; [`crate::error::ProjectionError`];
/// [`crate::Error::Event`] for a line that is no event.
pub fn project(store: &Store, run_id: &RunId) -> Result<Object> {
    store.read(|tx| {
        let run = table::get(tx, run_id)?;
        let base = base(tx, &run)?;
        let mut told = Told::default();
        loop {
            let after = told.head().map_or(0, |head| head.sequence);
            let lines = journal::lines(tx, run_id.as_str(), after, BATCH)?;
            if lines.is_empty() {
                return Ok(told.onto(&base, run.journaled)?);
            }
            for line in lines {
                told.push(&Event::parse_line(line.as_bytes())?)?;
            }
        }
    })
}
