//! Bundles as a whole: shown as they are stored, in the legacy file's shape, and taken from a legacy file (contracts
//! handoff.md and legacy-files.md).
//!
//! An import is the transaction of a `nominate` (`round.rs`): the bundle becomes the current round under its own id and
//! with its own stamp, so a stale file is a stale round. Rows are kept as the file spells them.

use std::collections::HashSet;

use chrono::{DateTime, Utc};

use crate::clock::parse_time;
use crate::db::Store;
use crate::error::{FileFault, HandoffError, HandoffFile, Record, Result};
use crate::json::{Raw, RawValue, Value, indented, raw};

use super::engagement::numbers;
use super::freshness::expires_at;
use super::nomination::{Members, Nomination};
use super::round::{self, KIND, NewRound, Round, StoredPool, has_kind, is_true, text_of};
use super::strict::{Found, is_boolean};
use super::writing::not_stored;

/// The longest id of a bundle or a nomination, in characters; the schema has the same bound.
const MAX_ID: usize = 64;

/// A stored bundle.
#[derive(Debug, Clone)]
pub struct Bundle {
    round: Round,
    pool: StoredPool,
}

impl Bundle {
    /// Reads the bundle of `bundle_id`, of the current round or an earlier one.
    ///
    /// # Errors
    /// [`HandoffError::UnknownBundle`], [`HandoffError::Corrupt`], [`HandoffError::Version`].
    pub fn read(store: &Store, bundle_id: &str) -> Result<Self> {
        store.read(|transaction| {
            let round = round::by_id(transaction, bundle_id)?;
            let pool = round.pool(transaction)?;
            Ok(Self { round, pool })
        })
    }

    /// What could not be read, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.pool.warnings
    }

    /// The whole bundle, token for token. It has `warnings` also where there are none and the legacy file leaves them out.
    pub fn tokens(&self) -> Raw {
        let mut members = self.with_nominations(|nomination| nomination.row.clone());
        if members.iter().all(|(key, _)| key != "warnings") {
            members.push(("warnings".to_owned(), Raw::array([])));
        }
        object(&members)
    }

    /// The whole bundle as the legacy program writes it: all keys of its rows, ASCII, indented by two, no newline at the
    /// end.
    ///
    /// # Errors
    /// [`crate::error::JsonError`] where it is nested too deeply for that.
    pub fn legacy(&self) -> Result<String> {
        Ok(indented(&object(&self.with_nominations(legacy_row)).value().to_value()?))
    }

    /// The head with the nominations where the legacy file has them: behind `context`, else at the end.
    fn with_nominations(&self, row: impl Fn(&Nomination) -> Raw) -> Vec<(String, Raw)> {
        let mut members: Vec<(String, Raw)> = members_once(self.round.bundle.value());
        let behind = members.iter().position(|(key, _)| key == "context").map_or(members.len(), |at| at + 1);
        let rows = Raw::array(self.pool.nominations.iter().map(row));
        members.insert(behind, ("nominations".to_owned(), rows));
        members
    }
}

/// A nominations bundle of the legacy program, checked and not stored yet.
#[derive(Debug, Clone)]
pub struct LegacyBundle {
    bundle_id: String,
    generated_at: String,
    stamp: DateTime<Utc>,
    mock: bool,
    bundle: Raw,
    rows: Vec<(String, Raw)>,
    warnings: Vec<String>,
}

impl LegacyBundle {
    /// Reads the bytes of a `discover-nominations.json`: strict at the top, lenient by row, closed where empty.
    ///
    /// # Errors
    /// [`HandoffError::File`], [`HandoffError::Version`], [`HandoffError::Corrupt`] where no row can be read.
    pub fn read(bytes: &[u8]) -> Result<Self, HandoffError> {
        let refused = |fault| HandoffError::File { file: HandoffFile::Bundle, fault };
        let file = raw::parse(bytes).map_err(|fault| refused(FileFault::Json(fault)))?;
        let value = file.value();
        if value.members().is_none() {
            return Err(refused(FileFault::NotAnObject));
        }
        if is_pool(value) {
            return Err(refused(FileFault::IsPool));
        }
        if !has_kind(value, KIND) {
            return Err(HandoffError::Version { record: Record::Bundle });
        }
        let found = Found::default();
        let top = top(value, &found);
        let (bundle_id, generated_at, stamp, rows) =
            found.or_faults(top).map_err(|faults| refused(FileFault::Members(faults)))?;
        let (rows, warnings) = readable_rows(rows);
        if rows.is_empty() {
            let fault = "none of its nominations can be read";
            return Err(HandoffError::Corrupt { record: Record::Bundle, bundle_id, fault });
        }
        let head =
            members_once(value).into_iter().filter(|(key, _)| key != "nominations").collect::<Vec<_>>();
        Ok(Self {
            bundle_id,
            generated_at,
            stamp,
            mock: is_true(value.get("mock")),
            bundle: object(&head),
            rows,
            warnings,
        })
    }

    /// The bundle's own id.
    pub fn bundle_id(&self) -> &str {
        &self.bundle_id
    }

    /// How many nominations can be read.
    pub fn nominations(&self) -> usize {
        self.rows.len()
    }

    /// Whether the bundle was made from fixtures.
    pub fn mock(&self) -> bool {
        self.mock
    }

    /// When the bundle expires, or expired.
    pub fn expires_at(&self) -> DateTime<Utc> {
        expires_at(self.stamp)
    }

    /// The rows that were skipped, one line each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Stores the bundle as the current round and supersedes the one before.
    ///
    /// # Errors
    /// [`HandoffError::KnownBundle`], [`HandoffError::NotStored`].
    pub fn store(&self, store: &Store) -> Result<()> {
        let rows: Vec<(&str, &Raw)> = self.rows.iter().map(|(id, row)| (id.as_str(), row)).collect();
        let new = NewRound {
            bundle_id: &self.bundle_id,
            generated_at: &self.generated_at,
            mock: self.mock,
            bundle: &self.bundle,
            nominations: &rows,
        };
        let now = store.clock().now();
        store
            .write(|transaction| {
                if round::is_current(transaction, &self.bundle_id)?.is_some() {
                    return Err(HandoffError::KnownBundle { bundle_id: self.bundle_id.clone() }.into());
                }
                round::insert(transaction, &new, now)
            })
            .map_err(not_stored(Record::Bundle))
    }
}

/// The id, the stamp as it is written and as a time, and the rows of a bundle.
fn top<'a>(
    bundle: RawValue<'a>,
    found: &Found,
) -> Option<(String, String, DateTime<Utc>, impl Iterator<Item = RawValue<'a>> + use<'a>)> {
    let bundle_id = text_of(bundle.get("bundle_id")).filter(|id| is_id(id));
    if bundle_id.is_none() {
        found.add("bundle_id", "must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
    }
    let generated_at = text_of(bundle.get("generated_at")).unwrap_or_default();
    let stamp = parse_time(&generated_at);
    if stamp.is_none() {
        found.add("generated_at", "must be a time as in RFC 3339");
    }
    // An older file has no mock. Anything but a boolean must not pass for a real round.
    if bundle.get("mock").is_some_and(|mock| !is_boolean(mock)) {
        found.add("mock", "must be true or false");
    }
    let rows = bundle.get("nominations").and_then(RawValue::items);
    if rows.is_none() {
        found.add("nominations", "must be a list");
    }
    Some((bundle_id?, generated_at, stamp?, rows?))
}

/// Whether this is what an engine gives to leg 1: it has the rows of a bundle, and nothing that leg 1 adds.
fn is_pool(file: RawValue<'_>) -> bool {
    file.get("nominations").is_some() && file.get("kind").is_none() && file.get("bundle_id").is_none()
}

/// Ids stand in plain lines of a digest, so they are words.
fn is_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

/// Id and tokens of each usable row, and a warning for each other.
fn readable_rows<'a>(rows: impl Iterator<Item = RawValue<'a>>) -> (Vec<(String, Raw)>, Vec<String>) {
    let mut readable = Vec::new();
    let mut warnings = Vec::new();
    let mut ids = HashSet::new();
    for (index, row) in rows.enumerate() {
        let id = text_of(row.get("id")).filter(|id| is_id(id));
        let reason = match id {
            None => "it has no id",
            Some(_) if Nomination::read(row.to_raw()).is_none() => "it has no nomination",
            Some(id) if !ids.insert(id.clone()) => "its id is there already",
            Some(id) => {
                readable.push((id, row.to_raw()));
                continue;
            }
        };
        warnings.push(format!("nominations[{index}] is skipped: {reason}"));
    }
    (readable, warnings)
}

/// The members of an object, a repeated key with its first place and its last value. A key that is no text is left out.
fn members_once(object: RawValue<'_>) -> Vec<(String, Raw)> {
    let mut once: Vec<(String, Raw)> = Vec::new();
    for (key, value) in object.members().into_iter().flatten() {
        let Some(key) = key.as_str() else { continue };
        match once.iter_mut().find(|(known, _)| known == key) {
            Some((_, earlier)) => *earlier = value.to_raw(),
            None => once.push((key.to_owned(), value.to_raw())),
        }
    }
    once
}

fn object(members: &[(String, Raw)]) -> Raw {
    Raw::object(members.iter().map(|(key, value)| (key.as_str(), value.clone())))
}

/// A row with all keys of the legacy file. One that came from such a file has them and stays as it is.
fn legacy_row(nomination: &Nomination) -> Raw {
    if nomination.row.value().get("sources").is_some() {
        return nomination.row.clone();
    }
    let mut sources = nomination.sources();
    sources.sort_unstable();
    let names = sources.iter().map(|source| Raw::from(&Value::from(source.as_str())));
    let engagement = sources.iter().map(|source| (source.as_str(), engagement(nomination, source)));
    let Members { cluster_id, heuristic_name, heuristic_junk, nomination: inside } =
        nomination.members.clone();
    Raw::object([
        ("id", Raw::from(&Value::from(nomination.id.as_str()))),
        ("cluster_id", cluster_id),
        ("heuristic_name", heuristic_name),
        ("heuristic_junk", heuristic_junk),
        ("sources", Raw::array(names)),
        ("engagement_by_source", Raw::object(engagement)),
        ("nomination", inside),
    ])
}

/// What the items of `source` count, field by field: the only shape that the legacy program reads.
fn engagement(nomination: &Nomination, source: &str) -> Raw {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    let of_source = |item: &&Value| item.get("source").and_then(Value::as_str) == Some(source);
    for (field, number) in nomination.items().iter().filter(of_source).flat_map(numbers) {
        match sums.iter_mut().find(|(known, _)| *known == field) {
            Some((_, sum)) => *sum += number,
            None => sums.push((field, number)),
        }
    }
    Raw::object(sums.into_iter().map(|(field, sum)| (field, count(sum))))
}

/// A sum as JSON: an integer where it is whole and doubles hold it exactly.
fn count(sum: f64) -> Raw {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_whole = sum.fract() == 0.0 && sum.abs() <= EXACT;
    // The cast is exact within the bound.
    Raw::from(&if is_whole { Value::from(sum as i64) } else { Value::Double(sum) })
}
