//! Saving and loading one artifact (contract stages.md, save and load).

use rusqlite::Transaction;

use super::artifact::Artifact;
use super::begin::SCHEMA_VERSION;
use super::kind::Kind;
use super::name::{PipelineName, StageName};
use super::rows;
use crate::clock;
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{Result, StageError};

/// Keeps an artifact under a name. A stage is completed by it, behind all that are; a completed one gets another artifact
/// and keeps its place. A pipeline that is in no run is put into one dated today in UTC; a run that is there is taken
/// whatever its day. A marker that is saved as a stage is a marker no more.
///
/// # Errors
/// [`StageError::Completed`] for a marker under the name of a completed stage; the store's own.
pub fn save(
    store: &Store,
    pipeline: &PipelineName,
    name: &StageName,
    kind: Kind,
    artifact: &Artifact,
) -> Result<()> {
    super::change(store, |transaction| {
        let now = store.clock().now();
        let saved_at = clock::store_time(now);
        if rows::run(transaction, pipeline)?.is_none() {
            rows::start(transaction, pipeline, now.date_naive(), SCHEMA_VERSION, &saved_at)?;
        }
        keep(transaction, pipeline, name, kind, artifact, &saved_at)
    })
}

fn keep(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
    kind: Kind,
    artifact: &Artifact,
    saved_at: &str,
) -> Result<()> {
    match (rows::kind(transaction, pipeline, name)?, kind) {
        (Some(Kind::Stage), Kind::Marker) => {
            return Err(
                StageError::Completed { stage: name.to_string(), pipeline: pipeline.to_string() }.into()
            );
        }
        (Some(saved), _) if saved == kind => {
            return rows::replace(transaction, pipeline, name, kind, artifact, saved_at);
        }
        (Some(_), _) => rows::delete_marker(transaction, pipeline, name)?,
        (None, _) => {}
    }
    rows::insert(transaction, pipeline, name, kind, artifact, saved_at)
}

/// The artifact's bytes, without the newline that the command adds; none where nothing is saved under the name.
///
/// # Errors
/// [`StageError::DigestMismatch`] where the bytes are not those that were saved; the store's own.
pub fn load(store: &Store, pipeline: &PipelineName, name: &StageName) -> Result<Option<Vec<u8>>> {
    store.read(|transaction| bytes(transaction, pipeline, name))
}

/// As [`load`], inside a transaction.
pub(super) fn bytes(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
) -> Result<Option<Vec<u8>>> {
    let Some((sha256, bytes)) = rows::artifact(transaction, pipeline, name)? else { return Ok(None) };
    if Digest::parse(&sha256) != Some(Digest::of(&bytes)) {
        return Err(
            StageError::DigestMismatch { stage: name.to_string(), pipeline: pipeline.to_string() }.into()
        );
    }
    Ok(Some(bytes))
}
