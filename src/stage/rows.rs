//! Every statement over `pipelines`, `stages` and `markers`. No rule of the room is decided here, and no transaction begun.

use chrono::NaiveDate;
use rusqlite::{OptionalExtension, Transaction, params};

use super::artifact::Artifact;
use super::kind::Kind;
use super::name::{PipelineName, StageName};
use crate::db::{change_one, column, delete};
use crate::error::{Result, StageError};

/// A pipeline's run as it stands in the store.
pub(super) struct RunRow {
    pub(super) run_date: String,
    pub(super) schema_version: i64,
    pub(super) begun_at: String,
}

/// What is known of a saved artifact without its bytes.
pub(super) struct SavedRow {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) byte_size: i64,
    pub(super) sha256: String,
    pub(super) saved_at: String,
}

/// The pipeline's run, where it is in one.
pub(super) fn run(transaction: &Transaction<'_>, pipeline: &PipelineName) -> Result<Option<RunRow>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/run.sql"))?;
    let run = statement.query_row([pipeline.as_str()], |row| {
        Ok(RunRow {
            run_date: column(row, "run_date")?,
            schema_version: column(row, "schema_version")?,
            begun_at: column(row, "begun_at")?,
        })
    });
    Ok(run.optional()?)
}

/// Puts the pipeline, which is in no run, into a new one.
pub(super) fn start(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    run_date: NaiveDate,
    schema_version: i64,
    begun_at: &str,
) -> Result<()> {
    let day = run_date.to_string();
    change_one(
        transaction,
        include_str!("sql/start.sql"),
        params![pipeline.as_str(), day, schema_version, begun_at],
    )
}

/// Says of the run that its artifacts have the shape of `schema_version`.
pub(super) fn set_schema_version(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    schema_version: i64,
) -> Result<()> {
    let version = params![pipeline.as_str(), schema_version];
    change_one(transaction, include_str!("sql/set_schema_version.sql"), version)
}

/// Removes the run with all that it holds; nothing where there is none.
pub(super) fn clear(transaction: &Transaction<'_>, pipeline: &PipelineName) -> Result<()> {
    delete(transaction, "pipelines WHERE name = ?1", [pipeline.as_str()])?;
    // A trigger has deleted these with it.
    delete(transaction, "stages WHERE pipeline = ?1", [pipeline.as_str()])?;
    delete(transaction, "markers WHERE pipeline = ?1", [pipeline.as_str()])
}

/// The completed stages' names in order, as they stand in the store, whoever wrote them.
///
/// # Errors
/// [`StageError::Damaged`] if a position is missing: what is completed is then no prefix of the pipeline.
pub(super) fn completed_as_written(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
) -> Result<Vec<String>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/completed.sql"))?;
    let rows = statement.query_map([pipeline.as_str()], |row| Ok((column(row, 0)?, column(row, 1)?)))?;
    let rows: Vec<(String, i64)> = rows.collect::<rusqlite::Result<_>>()?;
    if (1_i64..).zip(&rows).any(|(position, row)| row.1 != position) {
        return Err(damaged(pipeline, "its stages are not at positions 1, 2, and so on"));
    }
    Ok(rows.into_iter().map(|(name, _)| name).collect())
}

/// The completed stages' names in order.
///
/// # Errors
/// [`StageError::Damaged`] for a name that is none.
pub(super) fn completed(transaction: &Transaction<'_>, pipeline: &PipelineName) -> Result<Vec<StageName>> {
    let names = completed_as_written(transaction, pipeline)?;
    names.iter().map(|name| checked_name(pipeline, name)).collect()
}

/// A name that comes from the store.
pub(super) fn checked_name(pipeline: &PipelineName, name: &str) -> Result<StageName> {
    StageName::parse(name).map_err(|_| damaged(pipeline, "a name in it is no stage name"))
}

/// An [`StageError::Damaged`].
pub(super) fn damaged(pipeline: &PipelineName, what: &'static str) -> crate::Error {
    StageError::Damaged { pipeline: pipeline.to_string(), what }.into()
}

/// Removes the completed stages behind the first `kept`, from the last one on, as the schema demands.
pub(super) fn truncate(transaction: &Transaction<'_>, pipeline: &PipelineName, kept: usize) -> Result<()> {
    for _ in kept..completed_as_written(transaction, pipeline)?.len() {
        change_one(transaction, include_str!("sql/delete_last.sql"), [pipeline.as_str()])?;
    }
    Ok(())
}

/// Whether a stage or a marker is saved under `name`.
pub(super) fn kind(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
) -> Result<Option<Kind>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/find.sql"))?;
    let found = statement.query_row([pipeline.as_str(), name.as_str()], |row| column(row, "kind"));
    Ok(found.optional()?)
}

/// The digest and the bytes saved under `name`.
pub(super) fn artifact(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
) -> Result<Option<(String, Vec<u8>)>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/find.sql"))?;
    let found = statement
        .query_row([pipeline.as_str(), name.as_str()], |row| {
            Ok((column::<Kind>(row, "kind")?, column(row, "artifact_row")?, column(row, "sha256")?))
        })
        .optional()?;
    let Some((kind, row, sha256)) = found else { return Ok(None) };
    // Read in place: the column of a query would be a copy more.
    let stored = transaction.blob_open("main", table(kind), "artifact", row, true)?;
    let mut bytes = vec![0; stored.len()];
    stored.read_at_exact(&mut bytes, 0)?;
    stored.close()?;
    Ok(Some((sha256, bytes)))
}

/// Where artifacts of this kind are.
fn table(kind: Kind) -> &'static str {
    match kind {
        Kind::Stage => "stages",
        Kind::Marker => "markers",
    }
}

/// Adds a stage behind the last one, or a marker.
pub(super) fn insert(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
    kind: Kind,
    artifact: &Artifact,
    saved_at: &str,
) -> Result<()> {
    let sql = match kind {
        Kind::Stage => include_str!("sql/insert_stage.sql"),
        Kind::Marker => include_str!("sql/insert_marker.sql"),
    };
    // Empty at first: an INSERT would hold another copy of the artifact in memory, an UPDATE does not.
    let digest = artifact.digest().to_hex();
    change_one(transaction, sql, params![pipeline.as_str(), name.as_str(), saved_at, digest])?;
    replace(transaction, pipeline, name, kind, artifact, saved_at)
}

/// Puts another artifact in the place of the one that is saved under `name`.
pub(super) fn replace(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
    kind: Kind,
    artifact: &Artifact,
    saved_at: &str,
) -> Result<()> {
    let sql = match kind {
        Kind::Stage => include_str!("sql/replace_stage.sql"),
        Kind::Marker => include_str!("sql/replace_marker.sql"),
    };
    let size = i64::try_from(artifact.bytes().len()).unwrap_or(i64::MAX);
    let digest = artifact.digest().to_hex();
    change_one(transaction, sql, params![pipeline.as_str(), name.as_str(), saved_at, digest, size])?;
    let row = transaction
        .prepare_cached(include_str!("sql/find.sql"))?
        .query_row([pipeline.as_str(), name.as_str()], |row| column(row, "artifact_row"))?;
    // The statement made room; the bytes are written in place. A parameter would be copied twice on its way.
    let mut room = transaction.blob_open("main", table(kind), "artifact", row, false)?;
    room.write_at(artifact.bytes(), 0)?;
    room.close()?;
    Ok(())
}

/// Removes a marker; nothing where there is none of that name.
pub(super) fn delete_marker(
    transaction: &Transaction<'_>,
    pipeline: &PipelineName,
    name: &StageName,
) -> Result<()> {
    delete(transaction, "markers WHERE pipeline = ?1 AND name = ?2", [pipeline.as_str(), name.as_str()])
}

/// All that the run holds: the stages in order, then the markers by name.
pub(super) fn saved(transaction: &Transaction<'_>, pipeline: &PipelineName) -> Result<Vec<SavedRow>> {
    let mut statement = transaction.prepare_cached(include_str!("sql/saved.sql"))?;
    let rows = statement.query_map([pipeline.as_str()], |row| {
        Ok(SavedRow {
            kind: column(row, "kind")?,
            name: column(row, "name")?,
            byte_size: column(row, "byte_size")?,
            sha256: column(row, "sha256")?,
            saved_at: column(row, "saved_at")?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
