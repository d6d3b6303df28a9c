//! The comparison that goes with a journaled write. The room's header says what is one transaction, and why the cost
//! does not grow with the journal.

use chrono::{DateTime, Utc};
use rusqlite::Transaction;

use crate::clock::store_time;
use crate::db::attempt;
use crate::error::{Error, Result, ShadowError};
use crate::event::{Event, Head};
use crate::id::RunId;
use crate::journal::{self, Tail};
use crate::json::Object;
use crate::projection::Told;

use super::evidence::{Counts, Evidence, Record};
use super::file;
use super::judge::{Objection, judge};
use super::rows::{self, Comparison, Standing};

/// How many lines are read at once where a part of the journal has to be read.
const BATCH: usize = 1_000;

const JOURNAL_UNREADABLE: &str = "journal-unreadable";
const JOURNAL_RUN_ID_MISMATCH: &str = "journal-run-id-mismatch";
const COMPARISON_GAP: &str = "comparison-gap";
const EVIDENCE_UNREADABLE: &str = "evidence-unreadable";

/// Compares the snapshot that a write has put behind `before` with the events `appended`, and keeps what came of it.
///
/// A comparison that fails leaves no trace: its savepoint is rolled back, and the write goes on.
///
/// # Errors
/// SQLite's own where not even the savepoint can be undone: the transaction itself is lost then, and with it the write.
pub(crate) fn compare(
    tx: &Transaction<'_>,
    run_id: &RunId,
    written: &Object,
    before: Tail,
    appended: &[Event],
    now: DateTime<Utc>,
) -> Result<()> {
    let _ = attempt(tx, || note(tx, run_id, written, before, appended, now))?;
    Ok(())
}

fn note(
    tx: &Transaction<'_>,
    run_id: &RunId,
    written: &Object,
    before: Tail,
    appended: &[Event],
    now: DateTime<Utc>,
) -> Result<()> {
    let Some(head) = appended.last().map(head_of) else { return Ok(()) };
    let before = before.digest.map(|digest| Head { sequence: before.sequence, digest });
    let start = Start::find(tx, run_id)?;
    let told = start.told.and_then(|told| go_on(tx, run_id, told, before, appended));
    let (told, fault) = match told {
        Ok(told) => (Some(told), None),
        Err(fault) => (None, Some(fault)),
    };
    let category = fault.as_ref().map(|fault| fault.category.clone()).unwrap_or_default();
    let gap = start.compared.filter(|compared| Some(*compared) != before).map(|compared| {
        let diagnostic = format!("the last comparison was at sequence {}", compared.sequence);
        Objection::new(COMPARISON_GAP, diagnostic)
    });
    let objection = fault.or(start.objection).or(gap);
    let record = judge(written, head, told.as_ref(), objection, store_time(now));
    let mut counts = start.counts;
    counts.count(record.outcome);
    let comparison = Comparison { counts, told: told.as_ref().ok_or(&category), record: &record };
    match start.earlier {
        None => rows::go_on(tx, run_id, &comparison),
        Some(earlier) => rows::begin(tx, run_id, &earlier, &comparison),
    }
}

fn head_of(event: &Event) -> Head {
    Head { sequence: event.sequence(), digest: event.event_digest() }
}

/// What a comparison begins with.
struct Start {
    counts: Counts,
    /// The head of the last comparison; without one nothing can be a gap.
    compared: Option<Head>,
    /// What the journal told up to there; of an empty journal where all of it has to be read.
    told: Result<Told, Objection>,
    /// What is wrong with the evidence.
    objection: Option<Objection>,
    /// The records of the evidence that is begun with this comparison; `None`: the store's own goes on.
    earlier: Option<Vec<Record>>,
}

impl Start {
    /// Goes on with the evidence that there is. Imported evidence is taken over, its journal read once. Evidence of another
    /// schema or version is begun anew without a word: that is what its version is for. Unreadable evidence is begun anew
    /// with an error.
    fn find(tx: &Transaction<'_>, run_id: &RunId) -> Result<Self> {
        let found = match rows::standing(tx, run_id) {
            Ok(Some(standing)) => Ok(Some(Self::standing(standing))),
            Ok(None) => file::evidence(tx, run_id).map(|imported| imported.map(Self::taken_over)),
            Err(error) => Err(error),
        };
        match found {
            Ok(start) => Ok(start.unwrap_or_else(|| Self::anew(None))),
            Err(Error::Shadow(ShadowError::SchemaMismatch { .. })) => Ok(Self::anew(None)),
            Err(Error::Shadow(error)) => Ok(Self::anew(Some(Objection::new(EVIDENCE_UNREADABLE, error)))),
            Err(error) => Err(error),
        }
    }

    fn standing(standing: Standing) -> Self {
        Self {
            counts: standing.counts,
            compared: Some(standing.compared),
            told: standing
                .told
                .map_err(|category| Objection::new(&category, "an earlier comparison found the journal so")),
            objection: None,
            earlier: None,
        }
    }

    fn taken_over(imported: Evidence) -> Self {
        Self {
            counts: imported.counts,
            compared: imported.last.as_ref().and_then(Record::head),
            earlier: Some(imported.recent_records),
            ..Self::anew(None)
        }
    }

    fn anew(objection: Option<Objection>) -> Self {
        Self {
            counts: Counts::default(),
            compared: None,
            told: Ok(Told::default()),
            objection,
            earlier: Some(Vec::new()),
        }
    }
}

/// Goes on from what the journal has told to its end: with the events of this write where they follow, else with all
/// that are missing, read from the journal.
fn go_on(
    tx: &Transaction<'_>,
    run_id: &RunId,
    mut told: Told,
    before: Option<Head>,
    appended: &[Event],
) -> Result<Told, Objection> {
    if told.head() == before {
        for event in appended {
            take(&mut told, event, run_id)?;
        }
        return Ok(told);
    }
    loop {
        let after = told.head().map_or(0, |head| head.sequence);
        let lines = journal::lines(tx, run_id.as_str(), after, BATCH)
            .map_err(|error| Objection::new(JOURNAL_UNREADABLE, error))?;
        if lines.is_empty() {
            break;
        }
        for line in lines {
            let event = Event::parse_line(line.as_bytes())
                .map_err(|error| Objection::new(JOURNAL_UNREADABLE, error))?;
            take(&mut told, &event, run_id)?;
        }
    }
    if told.head() != appended.last().map(head_of) {
        return Err(Objection::new(JOURNAL_UNREADABLE, "the evidence is ahead of the journal"));
    }
    Ok(told)
}

fn take(told: &mut Told, event: &Event, run_id: &RunId) -> Result<(), Objection> {
    if event.run_id() != run_id.as_str() {
        let diagnostic = format!("the event at sequence {} is of another run", event.sequence());
        return Err(Objection::new(JOURNAL_RUN_ID_MISMATCH, diagnostic));
    }
    // A stored journal that is no chain is no journal that could be read.
    told.push(event).map_err(|error| Objection::new(JOURNAL_UNREADABLE, error))
}
