//! The stage store: a pipeline resumes at the first stage that is not completed (contract stages.md).
//!
//! Owns the tables `pipelines`, `stages` and `markers`; every statement over them is in `rows.rs`. A pipeline is in one run
//! or in none. A run has its completed stages in order, each with its artifact, and markers: artifacts beside the order.
//!
//! Each function that changes something is one transaction, and asks for the UTC day inside it. A crash before the commit
//! (step 1, [`Step::BeforeCommit`]) leaves the run as it was, a crash after it (step 2, [`Step::Committed`]) as it was to
//! become. Nothing but the store is written, except by [`export`], whose directory appears whole, by a rename.
//!
//! What a run holds can always be made again, so where doubt is possible about a stage, it is dropped with all after it:
//! a prefix that can be trusted is worth more than a longer one.

mod artifact;
mod begin;
mod directory;
mod invalidate;
mod kind;
mod name;
mod rows;
mod save;
mod status;

pub use artifact::Artifact;
pub(crate) use begin::is_known as is_known_version;
pub use begin::{Begin, Begun, SCHEMA_VERSION, begin};
pub use directory::{Exported, Imported, Shortfall, export, import};
pub use invalidate::{Invalidated, done, invalidate};
pub use kind::Kind;
pub use name::{PipelineName, StageName};
pub use save::{load, save};
pub use status::{Run, Saved, status};

use rusqlite::Transaction;

use crate::db::Store;
use crate::error::Result;
use crate::step::Step;

/// One change: `work` in one transaction, and the observer told of both sides of its commit.
fn change<T>(store: &Store, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
    let answer = store.write(|transaction| {
        let answer = work(transaction)?;
        store.reached(Step::BeforeCommit);
        Ok(answer)
    })?;
    store.reached(Step::Committed);
    Ok(answer)
}
