//! The tables `shadow_evidence` and `shadow_records`. Anybody may have written the rows: they are checked as they are read.

use rusqlite::types::Value as Column;
use rusqlite::{OptionalExtension, Row, Transaction, named_params, params};

use crate::db::{change_one, column, delete};
use crate::digest::Digest;
use crate::error::{Error, ProjectionError, Result, ShadowError};
use crate::event::{EVENT_STATUSES, Event, Head};
use crate::id::RunId;
use crate::journal;
use crate::json::{self, Value};
use crate::projection::{self, PROJECTOR_VERSION, Told};

use super::evidence::{Counts, Evidence, MAX_RECORDS, Outcome, Record};

/// What the next comparison goes on from.
pub(super) struct Standing {
    pub(super) counts: Counts,
    /// The head that was compared to last.
    pub(super) compared: Head,
    /// What the journal told up to there, or the category of its fault.
    pub(super) told: Result<Told, String>,
}

fn unreadable(run_id: &RunId, rule: &'static str) -> Error {
    ShadowError::Unreadable { run_id: run_id.to_string(), rule }.into()
}

/// The row of `run_id`, with the head of its last record.
struct Found {
    counts: Counts,
    told_status: Option<String>,
    refused_sequence: Option<i64>,
    journal_fault: Option<String>,
    sequence: Option<i64>,
    event_digest: Option<String>,
}

fn find(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Found>> {
    let read = |row: &Row<'_>| {
        let counts = Counts {
            comparisons: column(row, 1)?,
            matches: column(row, 2)?,
            mismatches: column(row, 3)?,
            lags: column(row, 4)?,
            errors: column(row, 5)?,
        };
        let found = Found {
            counts,
            told_status: column(row, 6)?,
            refused_sequence: column(row, 7)?,
            journal_fault: column(row, 8)?,
            sequence: column(row, 9)?,
            event_digest: column(row, 10)?,
        };
        Ok((column(row, 0)?, found))
    };
    let mut statement = tx.prepare_cached(include_str!("sql/standing.sql"))?;
    let found: Option<(i64, Found)> = statement.query_row([run_id.as_str()], read).optional()?;
    match found {
        Some((version, _)) if version != PROJECTOR_VERSION => {
            let rule = "it is of another version of the projection";
            Err(ShadowError::SchemaMismatch { run_id: run_id.to_string(), rule }.into())
        }
        found => Ok(found.map(|(_, found)| found)),
    }
}

/// Where comparison stands; `None` where nothing was compared yet.
///
/// # Errors
/// [`ShadowError`]; SQLite's own.
pub(super) fn standing(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Standing>> {
    let Some(found) = find(tx, run_id)? else { return Ok(None) };
    let digest = found.event_digest.as_deref().and_then(Digest::parse);
    let (Some(sequence), Some(digest)) = (found.sequence, digest) else {
        return Err(unreadable(run_id, "the last record has no head"));
    };
    if !found.counts.add_up() {
        return Err(unreadable(run_id, "the counts do not add up"));
    }
    let compared = Head { sequence, digest };
    let told = match (found.journal_fault, found.refused_sequence) {
        (Some(category), _) => Err(category),
        (None, Some(refused)) => {
            let refusal = refusal(tx, run_id, refused)?;
            Ok(Told::resumed(run_id.as_str(), compared, Err(refusal)))
        }
        (None, None) => {
            let status = found.told_status.as_deref().map(|word| told_status(run_id, word)).transpose()?;
            Ok(Told::resumed(run_id.as_str(), compared, Ok(status)))
        }
    };
    Ok(Some(Standing { counts: found.counts, compared, told }))
}

fn told_status(run_id: &RunId, word: &str) -> Result<&'static str> {
    let row = EVENT_STATUSES.iter().find(|row| row.status == word);
    row.map(|row| row.status).ok_or_else(|| unreadable(run_id, "the told status is none that an event tells"))
}

/// Why the projection refuses the event `sequence`.
fn refusal(tx: &Transaction<'_>, run_id: &RunId, sequence: i64) -> Result<ProjectionError> {
    let lines = journal::lines(tx, run_id.as_str(), sequence.saturating_sub(1), 1)?;
    let event = lines.first().and_then(|line| Event::parse_line(line.as_bytes()).ok());
    let event = event.filter(|event| event.sequence() == sequence && !event.is_checkpoint());
    event
        .and_then(|event| projection::told_status(&event).err())
        .ok_or_else(|| unreadable(run_id, "the refused event is one that the projection takes"))
}

/// The bytes of the evidence file that came with an import. They count until the first comparison of this store.
pub(super) fn imported(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Vec<u8>>> {
    let mut statement = tx.prepare_cached(include_str!("sql/imported.sql"))?;
    Ok(statement.query_row([run_id.as_str()], |row| column(row, 0)).optional()?)
}

/// Whether the journal ends in a partial line that an import has put into the quarantine. A partial line that the run
/// has written beyond is history.
pub(super) fn ends_in_partial_line(tx: &Transaction<'_>, run_id: &RunId) -> Result<bool> {
    let mut statement = tx.prepare_cached(include_str!("../doctor/sql/partial_tail.sql"))?;
    Ok(statement.query_row(named_params! { ":run_id": run_id.as_str() }, |row| column(row, 0))?)
}

/// The evidence that this store has made, whole; `None` where it has made none.
///
/// # Errors
/// [`ShadowError`]; SQLite's own.
pub(super) fn evidence(tx: &Transaction<'_>, run_id: &RunId) -> Result<Option<Evidence>> {
    let Some(found) = find(tx, run_id)? else { return Ok(None) };
    let mut statement = tx.prepare_cached(include_str!("sql/records.sql"))?;
    let mut rows = statement.query([run_id.as_str()])?;
    let mut recent_records = Vec::new();
    while let Some(row) = rows.next()? {
        recent_records.push(record(row)?.map_err(|rule| unreadable(run_id, rule))?);
    }
    let last = recent_records.last().cloned();
    if last.as_ref().and_then(|last| last.sequence) != found.sequence {
        return Err(unreadable(run_id, "the last record is not that of the last comparison"));
    }
    let evidence = Evidence { counts: found.counts, last, recent_records };
    Ok(Some(evidence.checked().map_err(|rule| unreadable(run_id, rule))?))
}

fn record(row: &Row<'_>) -> rusqlite::Result<Result<Record, &'static str>> {
    let outcome: String = column(row, 0)?;
    let category = column(row, 1)?;
    let sequence = column(row, 2)?;
    let digests: [Option<String>; 3] = [column(row, 3)?, column(row, 4)?, column(row, 5)?];
    let fields: String = column(row, 6)?;
    let (recorded_at, diagnostic) = (column(row, 7)?, column(row, 8)?);
    let digest = |text: &Option<String>| {
        text.as_deref().map(|text| Digest::parse(text).ok_or("a digest is none")).transpose()
    };
    let read = || {
        let [event_digest, shadow_digest, projected_digest] = &digests;
        let names = json::parse(fields.as_bytes()).map_err(|_| "differing fields are no list")?;
        let names = names.as_array().ok_or("differing fields are no list")?;
        let names = names.iter().map(|name| name.as_text().cloned().ok_or("a field's name is no text"));
        Ok(Record {
            outcome: Outcome::parse(&outcome).ok_or("an outcome is none of the four")?,
            category,
            sequence,
            event_digest: digest(event_digest)?,
            shadow_digest: digest(shadow_digest)?,
            projected_digest: digest(projected_digest)?,
            differing_fields: names.collect::<Result<_, _>>()?,
            recorded_at,
            diagnostic,
        })
    };
    Ok(read())
}

/// One more comparison as it is to be kept.
pub(super) struct Comparison<'a> {
    /// The counts with it.
    pub(super) counts: Counts,
    /// What the journal has told up to it, or the category of its fault.
    pub(super) told: Result<&'a Told, &'a str>,
    /// The comparison.
    pub(super) record: &'a Record,
}

/// Goes on with the evidence that is there.
pub(super) fn go_on(tx: &Transaction<'_>, run_id: &RunId, comparison: &Comparison<'_>) -> Result<()> {
    put(tx, include_str!("sql/go_on.sql"), run_id, comparison)?;
    let number = comparison.counts.comparisons;
    keep(tx, run_id, number, comparison.record)?;
    let dropped = number.saturating_sub(MAX_RECORDS as i64);
    delete(tx, "shadow_records WHERE run_id = ?1 AND record_number <= ?2", (run_id.as_str(), dropped))
}

/// Begins evidence, in place of any that is there; `earlier` are the records of evidence that is taken over.
pub(super) fn begin(
    tx: &Transaction<'_>,
    run_id: &RunId,
    earlier: &[Record],
    comparison: &Comparison<'_>,
) -> Result<()> {
    delete(tx, "shadow_evidence WHERE run_id = ?1", [run_id.as_str()])?;
    // A trigger has deleted the records with it.
    delete(tx, "shadow_records WHERE run_id = ?1", [run_id.as_str()])?;
    put(tx, include_str!("sql/begin.sql"), run_id, comparison)?;
    let numbers = (0..comparison.counts.comparisons).rev();
    for (number, record) in numbers.zip(earlier.iter().rev().take(MAX_RECORDS - 1)) {
        keep(tx, run_id, number, record)?;
    }
    keep(tx, run_id, comparison.counts.comparisons, comparison.record)
}

fn put(tx: &Transaction<'_>, sql: &str, run_id: &RunId, comparison: &Comparison<'_>) -> Result<()> {
    let Counts { comparisons, matches, mismatches, lags, errors } = comparison.counts;
    let (told_status, refused_sequence, journal_fault) = match comparison.told {
        Err(category) => (None, None, Some(category)),
        Ok(told) => match told.status() {
            Ok(status) => (status, None, None),
            Err(refusal) => (None, refusal.sequence(), None),
        },
    };
    change_one(
        tx,
        sql,
        params![
            run_id.as_str(),
            PROJECTOR_VERSION,
            comparisons,
            matches,
            mismatches,
            lags,
            errors,
            told_status,
            refused_sequence,
            journal_fault
        ],
    )
}

fn keep(tx: &Transaction<'_>, run_id: &RunId, number: i64, record: &Record) -> Result<()> {
    let digest = |digest: Option<Digest>| digest.map_or(Column::Null, |digest| digest.to_hex().into());
    let fields = record.differing_fields.iter().cloned().map(Value::String).collect();
    change_one(
        tx,
        include_str!("sql/keep_record.sql"),
        params![
            run_id.as_str(),
            number,
            record.outcome.word(),
            record.category,
            record.sequence,
            digest(record.event_digest),
            digest(record.shadow_digest),
            digest(record.projected_digest),
            json::line(&Value::Array(fields)),
            record.recorded_at,
            record.diagnostic
        ],
    )
}
