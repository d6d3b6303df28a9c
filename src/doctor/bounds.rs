//! The bounds that doctor judges by: those of the store, where they are believable.

use std::path::Path;

use rusqlite::{Connection, named_params};

use super::checks::collect;
use super::finding::{Finding, Kind, Remedy};
use super::schema::{Bound, Expected};
use crate::error::Result;
use crate::event::JournalBounds;

pub(crate) const MAX_JOURNAL_EVENTS: &str = "max-journal-events";
pub(crate) const MAX_JOURNAL_BYTES: &str = "max-journal-bytes";
pub(crate) const MAX_CHECKPOINT_BYTES: &str = "max-checkpoint-bytes";
pub(crate) const MAX_SILENCE_SECONDS: &str = "max-silence-seconds";

/// The bounds of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) journal_events: u64,
    pub(crate) journal_bytes: u64,
    pub(crate) checkpoint_bytes: u64,
    /// How long an owner who cannot be judged may write nothing before doctor warns.
    pub(crate) silence_seconds: u64,
}

impl Bounds {
    /// The fixed bounds of the legacy programs, by which their directories are judged.
    pub(crate) const LEGACY: Self = Self {
        journal_events: JournalBounds::LEGACY.max_events,
        journal_bytes: JournalBounds::LEGACY.max_bytes,
        checkpoint_bytes: 16 * 1024 * 1024,
        silence_seconds: 24 * 60 * 60,
    };

    /// The bounds of a new store, which count if the store's own cannot be read.
    pub(super) fn of_new_store(expected: &Expected) -> Self {
        let mut bounds = Self::LEGACY;
        for (key, bound) in expected.bounds() {
            bounds.set(key, bound.default);
        }
        bounds
    }

    fn set(&mut self, key: &str, value: u64) {
        match key {
            MAX_JOURNAL_EVENTS => self.journal_events = value,
            MAX_JOURNAL_BYTES => self.journal_bytes = value,
            MAX_CHECKPOINT_BYTES => self.checkpoint_bytes = value,
            MAX_SILENCE_SECONDS => self.silence_seconds = value,
            _ => {}
        }
    }
}

/// Reads the bounds of the store behind `connection`. One that is missing or outside what `expected` allows counts as
/// its default, and is a finding.
///
/// # Errors
/// SQLite's own.
pub(super) fn read(
    connection: &Connection,
    expected: &Expected,
    store: &Path,
    findings: &mut Vec<Finding>,
) -> Result<Bounds> {
    let mut bounds = Bounds::of_new_store(expected);
    for (key, Bound { default, lowest, highest }) in expected.bounds() {
        // Asked as a signed number: a damaged one may be negative.
        let found: Vec<i64> =
            collect(connection, include_str!("sql/bound.sql"), named_params! { ":key": key }, |row| {
                row.get("value")
            })?;
        let value = found.first().copied().and_then(|value| u64::try_from(value).ok());
        let Some(value) = value.filter(|value| (lowest..=highest).contains(value)) else {
            let value = default.to_string();
            findings.push(Finding::new(
                Kind::SettingOutOfRange,
                format!("{key} is missing, or outside {lowest} to {highest}; {default} is taken for it here"),
                Remedy::legbook(store, &["db", "set", key, &value]),
            ));
            continue;
        };
        bounds.set(key, value);
    }
    Ok(bounds)
}
