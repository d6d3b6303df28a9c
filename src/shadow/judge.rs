//! The comparison of two snapshots. Pure.

use crate::digest::Digest;
use crate::error::{MAX_DIAGNOSTIC, ProjectionError};
use crate::event::{self, Head};
use crate::json::{self, Object, Text, Value};
use crate::projection::{self, Told};

use super::evidence::{MAX_FIELDS, Outcome, Record};

/// Why a comparison does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Objection {
    /// The category that is recorded.
    pub(super) category: String,
    /// In words, for a reader of the evidence.
    pub(super) diagnostic: String,
}

impl Objection {
    pub(super) fn new(category: &str, diagnostic: impl ToString) -> Self {
        let diagnostic = diagnostic.to_string().chars().take(MAX_DIAGNOSTIC).collect();
        Self { category: category.to_owned(), diagnostic }
    }

    fn of_projection(refusal: &ProjectionError) -> Self {
        Self::new(&format!("projection-error:{}", refusal.rule()), refusal)
    }
}

/// Compares what was `written`, with the journal's `head` in it (the candidate), with its projection over what the
/// journal has told up to there; `None`: the journal could not be read. An objection makes an error of the comparison,
/// whatever it finds.
pub(super) fn judge(
    written: &Object,
    head: Head,
    told: Option<&Told>,
    objection: Option<Objection>,
    recorded_at: String,
) -> Record {
    let mut candidate = written.clone();
    projection::stamp(&mut candidate, Some(head), true);
    let candidate_bytes = json::snapshot_bytes(&candidate);
    let shadow_digest = Digest::of(&candidate_bytes);
    let mut record = Record {
        outcome: Outcome::Match,
        category: None,
        sequence: Some(head.sequence),
        event_digest: Some(head.digest),
        shadow_digest: Some(shadow_digest),
        projected_digest: None,
        differing_fields: Vec::new(),
        recorded_at,
        diagnostic: None,
    };
    let mut objection = objection;
    // Nearly always: the projection is the candidate, and need not be made to be compared.
    let is_candidate = |told: &Told| Ok(told.head() == Some(head) && told.keeps_status_of(written)?);
    let projected = told.map(|told| match is_candidate(told) {
        Ok(true) => Ok(None),
        Ok(false) => told.onto(written, true).map(Some),
        Err(refusal) => Err(refusal),
    });
    match projected {
        Some(Ok(None)) => record.projected_digest = Some(shadow_digest),
        Some(Ok(Some(projected))) => {
            let projected_bytes = json::snapshot_bytes(&projected);
            if projected_bytes == candidate_bytes {
                record.projected_digest = Some(shadow_digest);
            } else {
                let fields = differing_fields(&candidate, &projected);
                let lags = fields == [Text::from("status")] && !is_mapped(written);
                record.outcome = if lags { Outcome::Lag } else { Outcome::Mismatch };
                record.projected_digest = Some(Digest::of(&projected_bytes));
                record.differing_fields = bounded(fields);
            }
        }
        Some(Err(refusal)) => {
            objection.get_or_insert_with(|| Objection::of_projection(&refusal));
        }
        None => {}
    }
    if let Some(objection) = objection {
        record.outcome = Outcome::Error;
        record.category = Some(objection.category);
        record.diagnostic = Some(objection.diagnostic);
    }
    record
}

/// The names of the fields that are spelled differently in the two snapshots, sorted. Spellings are compared because
/// values would not do: `NaN` does not equal itself, and `-0.0` equals `0.0`.
fn differing_fields(candidate: &Object, projected: &Object) -> Vec<Text> {
    let added = projected.keys().filter(|key| !candidate.contains_key(*key));
    let spelled = |snapshot: &Object, key: &Text| {
        let value = snapshot.get(key)?.clone();
        Some(json::snapshot_bytes(&json::object([(key.clone(), value)])))
    };
    let mut fields: Vec<Text> = candidate
        .keys()
        .chain(added)
        .filter(|key| spelled(candidate, key) != spelled(projected, key))
        .cloned()
        .collect();
    fields.sort_unstable();
    fields
}

/// At most [`MAX_FIELDS`] names, `...` in place of those that are too many.
fn bounded(mut fields: Vec<Text>) -> Vec<Text> {
    if fields.len() > MAX_FIELDS {
        fields.truncate(MAX_FIELDS - 1);
        fields.push("...".into());
    }
    fields
}

/// Whether the snapshot's status is a word for which an event stands.
fn is_mapped(snapshot: &Object) -> bool {
    let status = snapshot.get("status".as_bytes()).and_then(Value::as_str);
    status.and_then(event::event_type_of_status).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn more_fields_than_are_kept_end_with_dots() {
        let names =
            |count: usize| (0..count).map(|n| Text::from(format!("{n:02}").as_str())).collect::<Vec<_>>();
        assert_eq!(bounded(names(16)), names(16));
        let many = bounded(names(17));
        assert_eq!(many.len(), 16);
        assert_eq!(many.get(..15).unwrap(), names(15));
        assert_eq!(many.last().unwrap().as_str(), Some("..."));
    }

    #[test]
    fn a_field_on_either_side_alone_differs() {
        let object = |text: &str| json::parse_object(text.as_bytes()).unwrap();
        let fields = differing_fields(
            &object(r#"{"b": 1, "same": 1, "a": 1}"#),
            &object(r#"{"c": 1, "a": 1.0, "same": 1}"#),
        );
        assert_eq!(fields, ["a", "b", "c"].map(Text::from));
    }

    #[test]
    fn fields_are_compared_by_their_spelling() {
        let object = |text: &str| json::parse_object(text.as_bytes()).unwrap();
        let fields = differing_fields(
            &object(r#"{"nan": [NaN], "zero": -0.0, "order": {"a": NaN, "b": 1}, "one": [1]}"#),
            &object(r#"{"nan": [NaN], "zero": 0.0, "order": {"b": 1, "a": NaN}, "one": [1.0]}"#),
        );
        assert_eq!(fields, ["one", "zero"].map(Text::from));
    }
}
