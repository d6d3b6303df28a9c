//! The only source of time and randomness.
//!
//! Every rule of legbook that depends on the present moment (a lease, a bundle's age, a run's start) or on chance
//! (an owner token, a bundle id) asks a [`Clock`]. The shipped program uses [`SystemClock`]; a test hands the library
//! a clock of its own. There is no switch in the program that replaces it.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, SecondsFormat, Timelike, Utc};

/// Tells the time, gives random bytes, and waits.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The present moment in UTC. Never assumed to be monotonic: a machine's clock may jump back.
    fn now(&self) -> DateTime<Utc>;

    /// Fills `buffer` with bytes that nobody can guess.
    ///
    /// # Errors
    /// The operating system's own error where it has no randomness to give.
    fn random(&self, buffer: &mut [u8]) -> std::io::Result<()>;

    /// Waits for `duration`; polling loops (`--wait`, a busy export) use it.
    fn sleep(&self, duration: Duration);
}

/// The machine's clock and the kernel's randomness.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }

    fn random(&self, buffer: &mut [u8]) -> std::io::Result<()> {
        getrandom::fill(buffer).map_err(std::io::Error::other)
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

/// `count` random bytes as lower-case hex (twice as many characters).
///
/// # Errors
/// What [`Clock::random`] gives.
pub fn random_hex(clock: &dyn Clock, count: usize) -> std::io::Result<String> {
    let mut bytes = vec![0_u8; count];
    clock.random(&mut bytes)?;
    Ok(crate::digest::hex(&bytes))
}

/// An event's moment: `YYYY-MM-DDTHH:MM:SS.ffffffZ`, always six digits (contract events.md, envelope).
pub fn event_time(moment: DateTime<Utc>) -> String {
    moment.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// A snapshot's moment: ISO 8601 in UTC with `Z`, microseconds left out where they are zero (contract events.md).
pub fn snapshot_time(moment: DateTime<Utc>) -> String {
    iso_micros(moment) + "Z"
}

/// A receipt's or lock's moment: as [`snapshot_time`] with `+00:00` in place of `Z` (contract recovery.md).
pub fn offset_time(moment: DateTime<Utc>) -> String {
    iso_micros(moment) + "+00:00"
}

fn iso_micros(moment: DateTime<Utc>) -> String {
    let micros = moment.nanosecond() / 1_000 % 1_000_000;
    let pattern = if micros == 0 { "%Y-%m-%dT%H:%M:%S" } else { "%Y-%m-%dT%H:%M:%S%.6f" };
    moment.format(pattern).to_string()
}

/// A moment cut to whole microseconds, the finest grain that any stored time has.
pub fn to_micros(moment: DateTime<Utc>) -> DateTime<Utc> {
    let nanos = moment.nanosecond() % 1_000_000_000 / 1_000 * 1_000;
    moment.with_nanosecond(nanos).unwrap_or(moment)
}

/// Reads an ISO 8601 moment with any offset; one without a zone is UTC (contract handoff.md). `None` for anything else.
pub fn parse_time(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(moment.with_timezone(&Utc));
    }
    NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").ok().map(|naive| naive.and_utc())
}

/// The form in which the store keeps moments of its own (not those of a legacy format): RFC 3339, microseconds, `Z`.
pub fn store_time(moment: DateTime<Utc>) -> String {
    moment.to_rfc3339_opts(SecondsFormat::Micros, true)
}
