//! The engine's pool as leg 1 takes it (contract handoff.md, the pool).
//!
//! Pure. The one strict reading of the protocol: the engine's own output is checked where mending it is cheap, before a
//! host has spent its judgment on it. The insides of a nomination are the engine's business and kept token for token.

use crate::error::{FileFault, HandoffError, HandoffFile};
use crate::json::{Raw, RawValue, Value, raw};

use super::coverage::{STATES, outcomes};
use super::nomination::{Members, Nomination};
use super::strict::{Shape, ShapeFault, is_integer, is_null, is_string};

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
    /// [`HandoffError::File`] for what is no JSON, [`HandoffError::Pool`] with the place and the rule for a pool of
    /// another shape, [`HandoffError::Domain`] where `domain` is not the pool's.
    pub fn read(bytes: &[u8], domain: Option<&str>) -> Result<Self, HandoffError> {
        let pool = raw::parse(bytes)
            .map_err(|fault| HandoffError::File { file: HandoffFile::Pool, fault: FileFault::Json(fault) })?;
        let mut pool =
            checked(pool.value()).map_err(|ShapeFault { place, rule }| HandoffError::Pool { place, rule })?;
        pool.head.set_domain(domain)?;
        Ok(pool)
    }
}

impl Head {
    fn set_domain(&mut self, domain: Option<&str>) -> Result<(), HandoffError> {
        match domain {
            Some(domain) if self.domain.is_empty() => self.domain = domain.to_owned(),
            Some(domain) if self.domain != domain => return Err(HandoffError::Domain),
            _ => {}
        }
        if self.domain.contains(char::is_control) { Err(HandoffError::Domain) } else { Ok(()) }
    }
}

fn checked(pool: RawValue<'_>) -> Result<Pool, ShapeFault> {
    let shape = Shape::read("", pool, POOL)?;
    let domain = if is_null(shape.get("domain")?) { String::new() } else { shape.text("domain")? };
    if domain.contains(char::is_control) {
        return Err(shape.fault_at("domain", "must be one line of text"));
    }
    let tier = shape.text("tier")?;
    if !["deep", "shallow"].contains(&tier.as_str()) {
        return Err(shape.fault_at("tier", "must be \"deep\" or \"shallow\""));
    }
    let [from_date, to_date] = [shape.day("from_date")?, shape.day("to_date")?];
    check_context(shape.get("context")?)?;
    check_status(&shape)?;
    check_strings(&shape, "warnings")?;
    let nominations = shape
        .list("nominations")?
        .enumerate()
        .map(|(index, row)| checked_row(&format!("nominations[{index}]"), index, row))
        .collect::<Result<_, _>>()?;
    let [context, source_status, warnings] =
        [shape.get("context")?, shape.get("source_status")?, shape.get("warnings")?].map(RawValue::to_raw);
    Ok(Pool {
        head: Head { domain, tier, from_date, to_date, context, source_status, warnings },
        nominations,
    })
}

fn check_context(context: RawValue<'_>) -> Result<(), ShapeFault> {
    let shape = Shape::read("context", context, CONTEXT)?;
    for key in ["enrichment_source_boundary", "requested_sources"] {
        if !is_null(shape.get(key)?) {
            check_strings(&shape, key)?;
        }
    }
    if is_integer(shape.get("lookback_days")?) {
        Ok(())
    } else {
        Err(shape.fault_at("lookback_days", "must be an integer"))
    }
}

fn check_status(shape: &Shape<'_>) -> Result<(), ShapeFault> {
    let status = shape.get("source_status")?;
    if status.members().is_none() {
        return Err(shape.fault_at("source_status", "must be an object"));
    }
    let outcomes = outcomes(status);
    for (index, outcome) in outcomes.iter().enumerate() {
        if outcomes.iter().take(index).any(|earlier| earlier.source == outcome.source) {
            return Err(shape.fault_at("source_status", "names a source twice"));
        }
        if !STATES.contains(&outcome.state.as_str()) {
            return Err(
                shape.fault_at("source_status", "has an outcome without a state that the contract knows")
            );
        }
    }
    Ok(())
}

fn check_strings(shape: &Shape<'_>, key: &str) -> Result<(), ShapeFault> {
    if shape.list(key)?.all(is_string) {
        Ok(())
    } else {
        Err(shape.fault_at(key, "must be a list of strings"))
    }
}

fn checked_row(place: &str, index: usize, row: RawValue<'_>) -> Result<Nomination, ShapeFault> {
    let shape = Shape::read(place, row, ROW)?;
    let cluster = shape.get("cluster_id")?;
    if !is_string(cluster) && !is_integer(cluster) {
        return Err(shape.fault_at("cluster_id", "must be a string or an integer"));
    }
    let heuristic_name = shape.get("heuristic_name")?;
    if !is_string(heuristic_name) && !is_null(heuristic_name) {
        return Err(shape.fault_at("heuristic_name", "must be a string or null"));
    }
    if !["true", "false"].contains(&shape.get("heuristic_junk")?.as_str()) {
        return Err(shape.fault_at("heuristic_junk", "must be true or false"));
    }
    let no_object = || shape.fault_at("nomination", "must be an object");
    let members = Members {
        cluster_id: cluster.to_raw(),
        heuristic_name: heuristic_name.to_raw(),
        heuristic_junk: shape.get("heuristic_junk")?.to_raw(),
        nomination: shape.get("nomination")?.to_raw(),
    };
    let nomination = Nomination::new(&format!("n{}", index + 1), members).ok_or_else(no_object)?;
    if !matches!(nomination.content().get("name"), Some(Value::String(_))) {
        return Err(shape.fault_at("nomination.name", "must be a string"));
    }
    if !matches!(nomination.content().get("items"), Some(Value::Array(_))) {
        return Err(shape.fault_at("nomination.items", "must be a list"));
    }
    Ok(nomination)
}
