//! The readiness gate: whether the journal of a run has told what was written, always.
//!
//! Fail-closed and total (contract events.md): there is an answer whatever the store holds, and what can't be read, is
//! not there or is of another version is a reason for no. The whole chain is read, with every digest, because the
//! comparisons themselves rest on events that they saw only once.

use std::fmt;

use rusqlite::Transaction;

use crate::db::Store;
use crate::error::{ChainFault, Error, MAX_DIAGNOSTIC, Result, ShadowError, field_name};
use crate::event::{ChainVerifier, Head, JournalBounds};
use crate::id::RunId;
use crate::journal;

use super::evidence::{Evidence, Outcome, Record};
use super::file;
use super::rows;

/// How many lines are read at once.
const BATCH: usize = 1_000;

/// Why the gate is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The run has no journal.
    NoJournal,
    /// The journal is damaged, ends in a partial line, or cannot be read.
    JournalUnreadable,
    /// Nothing was ever compared.
    NoEvidence,
    /// The evidence is damaged, or can't be read.
    EvidenceUnreadable,
    /// The evidence is of another schema, or of another version of the projection.
    EvidenceSchemaMismatch,
    /// The last comparison was not at the journal's head.
    JournalAheadOfEvidence,
    /// The evidence counts no comparison.
    NoComparisons,
    /// At least one comparison found a mismatch.
    MismatchRecorded,
    /// At least one comparison was an error.
    ErrorRecorded,
    /// The last comparison found a status for which no event stands.
    StatusLagCurrent,
}

impl Reason {
    /// The contract's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoJournal => "no-journal",
            Self::JournalUnreadable => "journal-unreadable",
            Self::NoEvidence => "no-evidence",
            Self::EvidenceUnreadable => "evidence-unreadable",
            Self::EvidenceSchemaMismatch => "evidence-schema-mismatch",
            Self::JournalAheadOfEvidence => "journal-ahead-of-evidence",
            Self::NoComparisons => "no-comparisons",
            Self::MismatchRecorded => "mismatch-recorded",
            Self::ErrorRecorded => "error-recorded",
            Self::StatusLagCurrent => "status-lag-current",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// The gate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Every reason that keeps it closed; none: the run is ready.
    pub reasons: Vec<Reason>,
    /// What could not be read and why, and what the newest mismatch and the newest error were. Each at most 240
    /// characters.
    pub diagnostics: Vec<String>,
    /// The journal's head, where the journal is whole.
    pub head: Option<Head>,
    /// The evidence, where it can be read.
    pub evidence: Option<Evidence>,
}

impl Readiness {
    /// Whether the gate is open.
    pub fn is_ready(&self) -> bool {
        self.reasons.is_empty()
    }

    fn close(&mut self, reason: Reason, error: &dyn fmt::Display) {
        self.reasons.push(reason);
        self.diagnostics.push(error.to_string().chars().take(MAX_DIAGNOSTIC).collect());
    }
}

/// Asks the gate about `run_id`, in one read transaction. A run that the store does not know has no journal. Cost:
/// linear in the journal.
pub fn readiness(store: &Store, run_id: &RunId) -> Readiness {
    let mut answer = Readiness { reasons: Vec::new(), diagnostics: Vec::new(), head: None, evidence: None };
    let read = store.read(|tx| {
        examine(tx, run_id, &mut answer);
        Ok(())
    });
    if let Err(error) = read {
        answer.close(Reason::JournalUnreadable, &error);
    }
    answer
}

fn examine(tx: &Transaction<'_>, run_id: &RunId, answer: &mut Readiness) {
    match whole_chain(tx, run_id) {
        Ok(head) => answer.head = Some(head),
        Err(Error::Chain(ChainFault::Empty)) => answer.reasons.push(Reason::NoJournal),
        Err(error) => answer.close(Reason::JournalUnreadable, &error),
    }
    match file::evidence(tx, run_id) {
        Ok(None) => answer.reasons.push(Reason::NoEvidence),
        Ok(Some(evidence)) => {
            answer.reasons.extend(reasons_in(&evidence, answer.head));
            answer.diagnostics.extend(worst_records(&evidence));
            answer.evidence = Some(evidence);
        }
        Err(error @ Error::Shadow(ShadowError::SchemaMismatch { .. })) => {
            answer.close(Reason::EvidenceSchemaMismatch, &error);
        }
        Err(error) => answer.close(Reason::EvidenceUnreadable, &error),
    }
}

/// What the evidence itself, held against the journal's head, has against the run.
fn reasons_in(evidence: &Evidence, head: Option<Head>) -> impl Iterator<Item = Reason> {
    let last = evidence.last.as_ref();
    let compared = last.and_then(Record::head);
    let counts = evidence.counts;
    let reasons = [
        (head.is_some() && compared != head, Reason::JournalAheadOfEvidence),
        (counts.comparisons == 0, Reason::NoComparisons),
        (counts.mismatches > 0, Reason::MismatchRecorded),
        (counts.errors > 0, Reason::ErrorRecorded),
        (last.is_some_and(|last| last.outcome == Outcome::Lag), Reason::StatusLagCurrent),
    ];
    reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason)
}

/// The newest mismatch and the newest error among the records that are kept, in words: which fields, at which event.
fn worst_records(evidence: &Evidence) -> Vec<String> {
    let newest = |outcome| evidence.recent_records.iter().rev().find(|record| record.outcome == outcome);
    let mismatch = newest(Outcome::Mismatch).map(|record| {
        let fields: Vec<String> = record.differing_fields.iter().map(field_name).collect();
        (record, format!("these fields differ: {}", fields.join(", ")))
    });
    let error = newest(Outcome::Error).map(|record| {
        let category = record.category.as_deref().unwrap_or_default();
        (record, record.diagnostic.clone().unwrap_or_else(|| category.to_owned()))
    });
    let told = mismatch.into_iter().chain(error).map(|(record, what)| {
        let event = record.sequence.map_or_else(String::new, |sequence| format!("event {sequence}: "));
        format!("{event}{what}").chars().take(MAX_DIAGNOSTIC).collect()
    });
    told.collect()
}

/// The head of the journal, every line of which is checked.
fn whole_chain(tx: &Transaction<'_>, run_id: &RunId) -> Result<Head> {
    let bounds = journal::bounds(tx)?;
    let mut verifier = ChainVerifier::new(JournalBounds {
        max_events: bounds.max_journal_events,
        max_bytes: bounds.max_journal_bytes,
    });
    let mut after = 0;
    loop {
        let lines = journal::lines(tx, run_id.as_str(), after, BATCH)?;
        if lines.is_empty() || lines.iter().any(|line| verifier.push(line.as_bytes()).is_none()) {
            let head = verifier.finish(run_id.as_str())?;
            return if rows::ends_in_partial_line(tx, run_id)? {
                Err(ChainFault::PartialTail.into())
            } else {
                Ok(head)
            };
        }
        after = after.saturating_add(lines.len() as i64);
    }
}
