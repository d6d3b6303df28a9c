//! manifest.json: its bytes, and what of it can be trusted.

use std::collections::HashSet;

use chrono::NaiveDate;

use crate::error::Result;
use crate::json::{self, Value};
use crate::stage::begin;
use crate::stage::name::StageName;

/// Why an import took over less than the manifest names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Shortfall {
    /// Nothing is taken: the manifest can't be read as JSON.
    #[error("the manifest is not JSON")]
    NotJson,
    /// Nothing is taken: the manifest has a shape that no version has.
    #[error("the manifest is not an object with schema_version, run_date and completed")]
    Shape,
    /// Nothing is taken: the manifest has a version that is not known.
    #[error("the manifest's schema_version is not known")]
    Version,
    /// The stages before it are taken: an entry of `completed` is reserved or no stage name at all.
    #[error("an entry of completed is no stage name")]
    Name,
    /// The stages before it are taken: a completed stage has no artifact.
    #[error("a completed stage has no artifact")]
    Missing,
    /// The stages before it are taken: a completed stage's artifact is not JSON.
    #[error("the artifact of a completed stage is not JSON")]
    Artifact,
}

/// What a manifest says, as far as it can be trusted.
pub(super) struct Manifest {
    pub(super) schema_version: i64,
    pub(super) run_date: NaiveDate,
    /// The completed stages in order, each once, up to the first entry that is no stage name.
    pub(super) completed: Vec<StageName>,
    /// All stage names in it, those behind that entry too.
    pub(super) named: HashSet<StageName>,
    /// [`Shortfall::Name`], where there is such an entry.
    pub(super) shortfall: Option<Shortfall>,
}

impl Manifest {
    /// Reads a manifest's bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Shortfall> {
        let manifest = json::parse(bytes).map_err(|_| Shortfall::NotJson)?;
        let (Some(version), Some(run_date), Some(Value::Array(entries))) = (
            manifest.get("schema_version").and_then(Value::as_i64),
            manifest.get("run_date").and_then(Value::as_str).and_then(begin::run_date),
            manifest.get("completed"),
        ) else {
            return Err(Shortfall::Shape);
        };
        if !begin::is_known(version) {
            return Err(Shortfall::Version);
        }
        let (mut completed, mut named, mut shortfall) = (Vec::new(), HashSet::new(), None);
        for entry in entries {
            match entry.as_str().map(StageName::parse) {
                Some(Ok(name)) if named.insert(name.clone()) && shortfall.is_none() => completed.push(name),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => shortfall = Some(Shortfall::Name),
            }
        }
        Ok(Self { schema_version: version, run_date, completed, named, shortfall })
    }
}

/// The bytes that the legacy script writes for a run: no newline at the end.
pub(super) fn bytes(schema_version: i64, run_date: NaiveDate, completed: &[StageName]) -> Result<Vec<u8>> {
    let completed = completed.iter().map(|name| Value::from(name.as_str())).collect();
    let manifest = json::object([
        ("schema_version", Value::from(schema_version)),
        ("run_date", Value::from(run_date.to_string())),
        ("completed", Value::Array(completed)),
    ]);
    Ok(json::artifact_bytes(&Value::Object(manifest))?)
}
