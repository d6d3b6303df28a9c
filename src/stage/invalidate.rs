//! Dropping stages, and the whole run (contract stages.md, invalidate and done).

use super::kind::Kind;
use super::name::{PipelineName, StageName};
use super::rows;
use crate::db::Store;
use crate::error::Result;

/// What became of the names that were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Invalidated {
    /// What was dropped: the names given, in the order given, then the stages completed after the earliest of them.
    pub invalidated: Vec<StageName>,
    /// The names given under which nothing was saved.
    pub absent: Vec<StageName>,
}

impl Invalidated {
    /// What [`invalidate`] gives where nothing at all is saved.
    pub fn all_absent(names: &[StageName]) -> Self {
        let mut absent = Vec::new();
        for name in names {
            if !absent.contains(name) {
                absent.push(name.clone());
            }
        }
        Self { invalidated: Vec::new(), absent }
    }
}

/// Drops stages and markers, and with a completed stage everything that was completed after it, so that what stays is
/// still a prefix. A name given twice counts once.
///
/// # Errors
/// The store's own.
pub fn invalidate(store: &Store, pipeline: &PipelineName, names: &[StageName]) -> Result<Invalidated> {
    super::change(store, |transaction| {
        let completed = rows::completed(transaction, pipeline)?;
        let mut outcome = Invalidated::default();
        for name in names {
            if outcome.invalidated.contains(name) || outcome.absent.contains(name) {
                continue;
            }
            match rows::kind(transaction, pipeline, name)? {
                Some(Kind::Stage) => outcome.invalidated.push(name.clone()),
                Some(Kind::Marker) => {
                    rows::delete_marker(transaction, pipeline, name)?;
                    outcome.invalidated.push(name.clone());
                }
                None => outcome.absent.push(name.clone()),
            }
        }
        let kept = completed.iter().take_while(|stage| !outcome.invalidated.contains(stage)).count();
        rows::truncate(transaction, pipeline, kept)?;
        for stage in completed.into_iter().skip(kept) {
            if !outcome.invalidated.contains(&stage) {
                outcome.invalidated.push(stage);
            }
        }
        Ok(outcome)
    })
}

/// Removes the run with all that it holds; the pipeline is in no run then. Nothing happens where it was in none.
///
/// # Errors
/// The store's own.
pub fn done(store: &Store, pipeline: &PipelineName) -> Result<()> {
    super::change(store, |transaction| rows::clear(transaction, pipeline))
}
