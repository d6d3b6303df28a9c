//! What became of each source of the sweep, and what a degraded one means for the exit (contract handoff.md, Coverage).
//!
//! Pure. The status of leg 1 rides through the pending report to leg 3, and one function, [`degraded`], decides for
//! every leg whether coverage was whole; the command line turns its answer into exit 3 under strict.

use crate::json::{Raw, RawValue, Text, Value};

use super::host_text::characters;

/// The states that an outcome may have (contract handoff.md, the pool).
pub const STATES: &[&str] = &[
    "ok",
    "no-results",
    "partial",
    "rate-limited",
    "auth-failed",
    "unreachable",
    "timeout",
    "schema-drift",
    "skipped-unconfigured",
    "error",
];

/// The states after which nothing is missing that was asked for.
const CLEAN: &[&str] = &["ok", "no-results", "skipped-unconfigured"];

/// A source and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOutcome {
    /// The source's name, one of the engine's own.
    pub source: String,
    /// Its state; empty where a stored status has none.
    pub state: String,
}

/// The outcomes in the tokens of a `source_status`, in their order. What has no state, or one that is not known,
/// comes out as it is: it was checked at leg 1, and here it must not read as clean.
pub fn outcomes(source_status: RawValue<'_>) -> Vec<SourceOutcome> {
    source_status
        .members()
        .into_iter()
        .flatten()
        .map(|(source, outcome)| outcome_of(&source, outcome))
        .collect()
}

/// The sources whose state is not clean: what coverage has lost. Empty where nothing is lost.
pub fn degraded(source_status: &Raw) -> Vec<SourceOutcome> {
    outcomes(source_status.value())
        .into_iter()
        .filter(|outcome| !CLEAN.contains(&outcome.state.as_str()))
        .collect()
}

/// Whether the value of LEGBOOK_STRICT_EXIT asks for strictness: 1, true, yes or on, in any case.
pub fn is_strict(setting: &str) -> bool {
    ["1", "true", "yes", "on"].iter().any(|word| setting.trim().eq_ignore_ascii_case(word))
}

fn outcome_of(source: &Text, outcome: RawValue<'_>) -> SourceOutcome {
    let state = match outcome.get("state").map(RawValue::to_value) {
        Some(Ok(Value::String(state))) => characters(&state),
        _ => String::new(),
    };
    SourceOutcome { source: characters(source), state }
}
