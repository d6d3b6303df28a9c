//! The engine's pool as leg 1 takes it (contract handoff.md, the pool).
//!
//! Pure. The one strict reading of the protocol: the engine's own output is checked where mending it is cheap, before a
//! host has spent its judgment on it. The insides of a nomination are the engine's business and kept token for token.

use crate::error::{FileFault, HandoffError, HandoffFile};
use crate::json::{Raw, RawValue, raw};
use crate::text::is_plain;

use super::coverage::{STATES, SourceOutcome, outcomes};
use super::nomination::{Members, Nomination};
use super::strict::{
    Found, LINE, Shape, is_boolean, is_integer, is_null, is_object, is_string, shortened, text,
};

/// A pool that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// What is known of the sweep as a whole.
    pub head: Head,
    /// The nominations in order.
    pub nominations: Vec<Nomination>,
}

/// What is known of a sweep as a whole; it rides through all legs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The domain; empty for a sweep of everything.
    pub domain: String,
    /// `deep` or `shallow`.
    pub tier: String,
    /// The first day of the window, `YYYY-MM-DD`.
    pub from_date: String,
    /// Its last day, `YYYY-MM-DD`.
    pub to_date: String,
    /// The engine's settings, as tokens.
    pub context: Raw,
    /// What became of each source, as tokens.
    pub source_status: Raw,
    /// What the sweep had to say, as tokens of a list.
    pub warnings: Raw,
}

const POOL: &[&str] =
    &["domain", "tier", "from_date", "to_date", "context", "source_status", "warnings", "nominations"];
const CONTEXT: &[&str] = &["enrichment_source_boundary", "requested_sources", "lookback_days"];
const ROW: &[&str] = &["cluster_id", "heuristic_name", "heuristic_junk", "nomination"];

impl Pool {
    /// Reads the pool's JSON text. `domain` is what `--domain` says.
    ///
    /// # Errors
    /// [`HandoffError::File`] for what is no JSON, [`HandoffError::Pool`] with all that is wrong for a pool of another
    /// shape, [`HandoffError::Domain`] where `domain` is not the pool's, [`HandoffError::DomainText`] for one of other
    /// than plain text.
    pub fn read(bytes: &[u8], domain: Option<&str>) -> Result<Self, HandoffError> {
        let pool = raw::parse(bytes)
            .map_err(|fault| HandoffError::File { file: HandoffFile::Pool, fault: FileFault::Json(fault) })?;
        let found = Found::default();
        let read = checked(pool.value(), &found);
        let mut pool = found.or_faults(read).map_err(|faults| HandoffError::Pool { faults })?;
        pool.head.set_domain(domain)?;
        Ok(pool)
    }
}

impl Head {
    fn set_domain(&mut self, domain: Option<&str>) -> Result<(), HandoffError> {
        match domain {
            Some(domain) if !is_plain(domain) => Err(HandoffError::DomainText),
            Some(domain) if self.domain.is_empty() => {
                domain.clone_into(&mut self.domain);
                Ok(())
            }
            Some(domain) if self.domain != domain => Err(HandoffError::Domain),
            _ => Ok(()),
        }
    }
}

/// The pool; none where something is missing, which is then among what was found. Nothing returns before all was looked at.
fn checked(pool: RawValue<'_>, found: &Found) -> Option<Pool> {
    let shape = Shape::read("", pool, POOL, found)?;
    let domain = match shape.get("domain") {
        Some(domain) if is_null(domain) => Some(String::new()),
        domain => domain.and_then(|_| shape.line("domain")),
    };
    let is_tier =
        |tier: RawValue<'_>| text(tier).is_some_and(|tier| ["deep", "shallow"].contains(&tier.as_str()));
    let tier = shape.checked("tier", is_tier, "must be \"deep\" or \"shallow\"").and_then(text);
    let [from_date, to_date] = [shape.day("from_date"), shape.day("to_date")];
    let context = shape.get("context");
    if let Some(context) = context {
        check_context(context, found);
    }
    let source_status = shape.checked("source_status", is_object, "must be an object");
    if let Some(status) = source_status {
        check_status(status, found);
    }
    let warnings = shape.checked("warnings", is_list_of_strings, LIST_OF_STRINGS);
    let rows = shape.list("nominations").map(|rows| {
        rows.enumerate()
            .filter_map(|(index, row)| checked_row(&format!("nominations[{index}]"), index, row, found))
            .collect()
    });
    Some(Pool {
        head: Head {
            domain: domain?,
            tier: tier?,
            from_date: from_date?,
            to_date: to_date?,
            context: context?.to_raw(),
            source_status: source_status?.to_raw(),
            warnings: warnings?.to_raw(),
        },
        nominations: rows?,
    })
}

fn check_context(context: RawValue<'_>, found: &Found) {
    let Some(shape) = Shape::read("context", context, CONTEXT, found) else { return };
    for key in ["enrichment_source_boundary", "requested_sources"] {
        let is_right = |value: RawValue<'_>| is_null(value) || is_list_of_strings(value);
        shape.checked(key, is_right, "must be a list of strings, or null");
    }
    shape.checked("lookback_days", is_integer, "must be an integer");
}

fn check_status(status: RawValue<'_>, found: &Found) {
    let outcomes = outcomes(status);
    for (index, SourceOutcome { source, state }) in outcomes.iter().enumerate() {
        let place = format!("source_status.{}", shortened(source));
        if !is_plain(source) || source.trim().is_empty() {
            found.add(&place, format!("the name of a source {LINE}"));
        }
        if outcomes.iter().take(index).any(|earlier| earlier.source == *source) {
            found.add(&place, "appears twice");
        }
        if !STATES.contains(&state.as_str()) {
            found.add(format!("{place}.state"), format!("must be one of {}", STATES.join(", ")));
        }
    }
}

const LIST_OF_STRINGS: &str = "must be a list of strings";

fn is_list_of_strings(value: RawValue<'_>) -> bool {
    value.items().is_some_and(|mut items| items.all(is_string))
}

fn checked_row(place: &str, index: usize, row: RawValue<'_>, found: &Found) -> Option<Nomination> {
    let shape = Shape::read(place, row, ROW, found)?;
    let is_cluster = |value: RawValue<'_>| is_string(value) || is_integer(value);
    let cluster_id = shape.checked("cluster_id", is_cluster, "must be a string or an integer");
    let is_name = |value: RawValue<'_>| is_string(value) || is_null(value);
    let heuristic_name = shape.checked("heuristic_name", is_name, "must be a string or null");
    let heuristic_junk = shape.checked("heuristic_junk", is_boolean, "must be true or false");
    let inside = shape.checked("nomination", is_object, "must be an object");
    if let Some(inside) = inside {
        if !inside.get("name").is_some_and(is_string) {
            shape.fault("nomination.name", "must be a string");
        }
        if inside.get("items").is_none_or(|items| items.items().is_none()) {
            shape.fault("nomination.items", "must be a list");
        }
    }
    let members = Members {
        cluster_id: cluster_id?.to_raw(),
        heuristic_name: heuristic_name?.to_raw(),
        heuristic_junk: heuristic_junk?.to_raw(),
        nomination: inside?.to_raw(),
    };
    let nomination = Nomination::new(&format!("n{}", index + 1), members);
    if nomination.is_none() {
        shape.fault("nomination", "must be an object that is not nested too deeply");
    }
    nomination
}
