//! The evidence in the shape of the legacy programs' shadow-comparison.json (contract legacy-files.md).

use rusqlite::Transaction;

use crate::db::Store;
use crate::digest::Digest;
use crate::error::{Result, ShadowError};
use crate::id::RunId;
use crate::json::{self, Object, Value};
use crate::projection::PROJECTOR_VERSION;

use super::evidence::{Counts, Evidence, MAX_RECORDS, Outcome, Record};
use super::rows;

/// The schema of the file.
pub const SCHEMA: &str = "brigade.run_shadow.v1";
/// Its version.
pub const SCHEMA_VERSION: i64 = 1;

/// The evidence of `run_id` as the bytes of a shadow-comparison.json; `None` where there is none. Those of an imported run
/// that was not written to since are the bytes that were imported.
///
/// # Errors
/// [`ShadowError`] for rows that are no evidence; the store's own.
pub fn legacy_bytes(store: &Store, run_id: &RunId) -> Result<Option<Vec<u8>>> {
    store.read(|tx| legacy_bytes_in(tx, run_id))
}

/// [`legacy_bytes`] in a transaction of the caller.
pub(crate) fn legacy_bytes_in(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Vec<u8>>> {
    match rows::evidence(tx, run_id)? {
        Some(evidence) => Ok(Some(json::snapshot_bytes(&legacy_object(run_id, &evidence)))),
        None => rows::imported(tx, run_id),
    }
}

/// The evidence of `run_id`: that of this store, else that which was imported.
///
/// # Errors
/// [`ShadowError`]; SQLite's own.
pub(super) fn evidence(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Evidence>> {
    if let Some(evidence) = rows::evidence(tx, run_id)? {
        return Ok(Some(evidence));
    }
    Ok(rows::imported(tx, run_id)?.map(|bytes| from_legacy(&bytes, run_id)).transpose()?)
}

/// The evidence as the object that the file holds.
pub fn legacy_object(run_id: &RunId, evidence: &Evidence) -> Object {
    let Counts { comparisons, matches, mismatches, lags, errors } = evidence.counts;
    let last = evidence.last.as_ref();
    let text = |value: Option<&str>| value.map_or(Value::Null, Value::from);
    json::object([
        ("schema", SCHEMA.into()),
        ("schema_version", SCHEMA_VERSION.into()),
        ("run_id", run_id.as_str().into()),
        ("projector_version", PROJECTOR_VERSION.into()),
        ("comparisons", comparisons.into()),
        ("matches", matches.into()),
        ("mismatches", mismatches.into()),
        ("lags", lags.into()),
        ("errors", errors.into()),
        ("last_compared_sequence", last.and_then(|last| last.sequence).map_or(Value::Null, Value::from)),
        ("last_compared_event_digest", digest(last.and_then(|last| last.event_digest))),
        ("last_shadow_digest", digest(last.and_then(|last| last.shadow_digest))),
        ("last_projected_digest", digest(last.and_then(|last| last.projected_digest))),
        ("last_differing_fields", last.map_or_else(|| Value::Array(Vec::new()), fields)),
        ("last_outcome", text(last.map(|last| last.outcome.word()))),
        ("last_error_category", text(last.and_then(|last| last.category.as_deref()))),
        ("last_recorded_at", text(last.map(|last| last.recorded_at.as_str()))),
        ("recent_records", Value::Array(evidence.recent_records.iter().map(record).collect())),
    ])
}

fn record(record: &Record) -> Value {
    let mut members = json::object([
        ("outcome", record.outcome.word().into()),
        ("category", record.category.as_deref().map_or(Value::Null, Value::from)),
        ("sequence", record.sequence.map_or(Value::Null, Value::from)),
        ("event_digest", digest(record.event_digest)),
        ("shadow_digest", digest(record.shadow_digest)),
        ("projected_digest", digest(record.projected_digest)),
        ("differing_fields", fields(record)),
        ("recorded_at", record.recorded_at.as_str().into()),
    ]);
    members.extend(record.diagnostic.as_deref().map(|diagnostic| ("diagnostic".into(), diagnostic.into())));
    Value::Object(members)
}

fn digest(digest: Option<Digest>) -> Value {
    digest.map_or(Value::Null, |digest| digest.to_hex().into())
}

fn fields(record: &Record) -> Value {
    Value::Array(record.differing_fields.iter().cloned().map(Value::String).collect())
}

/// Reads the bytes of a shadow-comparison.json, which is to be that of `run_id`.
///
/// # Errors
/// [`ShadowError::SchemaMismatch`] for another schema or another version of the projection, whatever else it holds;
/// [`ShadowError::Unreadable`] for anything else that is not this file.
pub fn from_legacy(bytes: &[u8], run_id: &RunId) -> Result<Evidence, ShadowError> {
    let unreadable = |rule| ShadowError::Unreadable { run_id: run_id.to_string(), rule };
    let other = |rule| ShadowError::SchemaMismatch { run_id: run_id.to_string(), rule };
    let object = json::parse_object(bytes).map_err(|_| unreadable("it is not a JSON object in UTF-8"))?;
    let get = |key: &str| object.get(key.as_bytes());
    if get("schema").and_then(Value::as_str) != Some(SCHEMA)
        || get("schema_version").and_then(Value::as_i64) != Some(SCHEMA_VERSION)
    {
        return Err(other("it has another schema"));
    }
    if get("projector_version").and_then(Value::as_i64) != Some(PROJECTOR_VERSION) {
        return Err(other("it is of another version of the projection"));
    }
    if get("run_id").and_then(Value::as_str) != Some(run_id.as_str()) {
        return Err(unreadable("it is of another run"));
    }
    read(&object).and_then(Evidence::checked).map_err(unreadable)
}

/// What is wrong with a member.
type Fault = &'static str;

fn read(object: &Object) -> Result<Evidence, Fault> {
    let count = |key: &str| object.get(key.as_bytes()).and_then(Value::as_i64).ok_or("a count is missing");
    let counts = Counts {
        comparisons: count("comparisons")?,
        matches: count("matches")?,
        mismatches: count("mismatches")?,
        lags: count("lags")?,
        errors: count("errors")?,
    };
    let last = match counts.comparisons {
        0 => None,
        _ => Some(read_record(object, |field| match field {
            "outcome" => "last_outcome",
            "category" => "last_error_category",
            "sequence" => "last_compared_sequence",
            "event_digest" => "last_compared_event_digest",
            "shadow_digest" => "last_shadow_digest",
            "projected_digest" => "last_projected_digest",
            "differing_fields" => "last_differing_fields",
            "recorded_at" => "last_recorded_at",
            other => other,
        })?),
    };
    let Some(Value::Array(records)) = object.get("recent_records".as_bytes()) else {
        return Err("recent_records is no list");
    };
    let recent_records = records
        .iter()
        .map(|record| read_record(record.as_object().ok_or("a record is no object")?, |field| field))
        .collect::<Result<_, _>>()?;
    Ok(Evidence { counts, last, recent_records })
}

/// Reads a record whose members have the names that `name` gives.
fn read_record(object: &Object, name: impl Fn(&'static str) -> &'static str) -> Result<Record, Fault> {
    let member = |field| object.get(name(field).as_bytes()).filter(|value| **value != Value::Null);
    let text = |field| member(field).map(|value| value.as_str().ok_or("a text is none")).transpose();
    let digest = |field| -> Result<Option<Digest>, Fault> {
        text(field)?.map(|text| Digest::parse(text).ok_or("a digest is none")).transpose()
    };
    let fields = match member("differing_fields") {
        None => Vec::new(),
        Some(fields) => {
            let fields = fields.as_array().ok_or("differing fields are no list")?;
            let names =
                fields.iter().map(|field| field.as_text().cloned().ok_or("a field's name is no text"));
            names.collect::<Result<_, _>>()?
        }
    };
    let outcome = text("outcome")?.and_then(Outcome::parse).ok_or("an outcome is none of the four")?;
    let category = text("category")?.map(str::to_owned);
    Ok(Record {
        outcome,
        // The category of the last error may stay in the file after a comparison that was none.
        category: category.filter(|_| outcome == Outcome::Error),
        sequence: member("sequence").map(|value| value.as_i64().ok_or("a sequence is none")).transpose()?,
        event_digest: digest("event_digest")?,
        shadow_digest: digest("shadow_digest")?,
        projected_digest: digest("projected_digest")?,
        differing_fields: fields,
        recorded_at: text("recorded_at")?.ok_or("a record has no time")?.to_owned(),
        diagnostic: text("diagnostic")?.map(str::to_owned),
    })
}

impl Evidence {
    fn kept(&self, outcome: Outcome) -> i64 {
        let kept = self.recent_records.iter().filter(|record| record.outcome == outcome).count();
        i64::try_from(kept).unwrap_or(i64::MAX)
    }

    /// The rules that hold for evidence wherever it is kept.
    pub(super) fn checked(self) -> Result<Self, Fault> {
        if !self.counts.add_up() {
            return Err("the counts do not add up");
        }
        if self.recent_records.len() > MAX_RECORDS
            || i64::try_from(self.recent_records.len()).is_ok_and(|records| records > self.counts.comparisons)
        {
            return Err("it has more records than it may");
        }
        let mut records = self.last.iter().chain(&self.recent_records);
        if records.any(|record| (record.outcome == Outcome::Error) != record.category.is_some()) {
            return Err("an error, and nothing else, has a category");
        }
        if Outcome::ALL.iter().any(|outcome| self.kept(*outcome) > self.counts.of(*outcome)) {
            return Err("the kept records contradict the counts");
        }
        if (self.counts.comparisons > 0) != self.last.is_some() {
            return Err("the last comparison is missing");
        }
        Ok(self)
    }
}
