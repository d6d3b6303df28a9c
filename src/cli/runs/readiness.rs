//! `legbook runs readiness`: whether the journal has told what was written, always.

use clap::Args;
use legbook::json::Value;
use legbook::shadow::{self, Evidence, Readiness, Reason};

use super::RunArgument;
use crate::cli::context::Context;
use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Fields, Tone, nullable, object};

/// Tell whether each write of the run was what its journal tells
#[derive(Debug, Args)]
#[command(after_help = "\
With each write the snapshot is compared with the projection of the journal. The run is ready where the journal is \
whole, the last comparison was at its end, and none of them found a mismatch or was an error.

Exit codes: 0 ready; 2 not ready, with the reasons.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    run: RunArgument,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = context.open()?;
    let run_id = arguments.run.resolve(context, &store)?;
    let readiness = shadow::readiness(&store, &run_id);
    let evidence = readiness.evidence.as_ref().map(|evidence| shadow::legacy_object(&run_id, evidence));
    let texts = |texts: Vec<&str>| Value::Array(texts.into_iter().map(Value::from).collect());
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("ready", readiness.is_ready().into()),
        ("reasons", texts(readiness.reasons.iter().map(|reason| reason.word()).collect())),
        ("diagnostics", texts(readiness.diagnostics.iter().map(String::as_str).collect())),
        ("journal_last_sequence", nullable(readiness.head.map(|head| head.sequence))),
        ("journal_last_event_digest", nullable(readiness.head.map(|head| head.digest.to_hex()))),
        ("evidence", nullable(evidence)),
    ]);
    context.render.answer(&answer, &page(context, &readiness))?;
    Ok(if readiness.is_ready() { Exit::DONE } else { Exit::REFUSED })
}

fn page(context: &Context, readiness: &Readiness) -> String {
    let mut fields = Fields::new(context.render);
    match readiness.is_ready() {
        true => fields.add_painted("ready", "yes", Tone::Good),
        false => fields.add_painted("ready", "no", Tone::Bad),
    };
    for reason in &readiness.reasons {
        fields.add("because", &format!("{reason}: {}", in_words(*reason)));
    }
    for diagnostic in &readiness.diagnostics {
        fields.add("found", diagnostic);
    }
    if let Some(evidence) = &readiness.evidence {
        fields.add("compared", &counts(evidence));
    }
    if let Some(last) = readiness.evidence.as_ref().and_then(|evidence| evidence.last.as_ref()) {
        let sequence = last.sequence.map_or_else(|| "-".to_owned(), |sequence| sequence.to_string());
        let outcome = last.category.as_deref().unwrap_or(last.outcome.word());
        fields.add("last", &format!("{outcome}, at event {sequence}"));
    }
    fields.text()
}

fn counts(evidence: &Evidence) -> String {
    let counts = evidence.counts;
    format!(
        "{} times: match {}, lag {}, mismatch {}, error {}",
        counts.comparisons, counts.matches, counts.lags, counts.mismatches, counts.errors
    )
}

fn in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::NoJournal => "the run has no journal",
        Reason::JournalUnreadable => "the journal is no whole chain",
        Reason::NoEvidence => "no write was ever compared",
        Reason::EvidenceUnreadable => "the evidence is damaged",
        Reason::EvidenceSchemaMismatch => "the evidence is of other rules; the next write begins it anew",
        Reason::JournalAheadOfEvidence => "the last comparison was not at the journal's end",
        Reason::NoComparisons => "the evidence counts no comparison",
        Reason::MismatchRecorded => "a write was not what the journal tells",
        Reason::ErrorRecorded => "a comparison could not be made",
        Reason::StatusLagCurrent => "the last status is a word for which no event stands",
    }
}
