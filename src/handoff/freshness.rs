//! How old a bundle or a pending report may be (contract handoff.md, reading).
//!
//! Pure: it takes the moment, it does not ask for it. The bounds are constants and no setting: nothing that someone
//! turns for another reason may shorten or stretch the time that a host has to judge.

use chrono::{DateTime, Duration, Utc};

use crate::error::{HandoffError, Record};

/// Seconds that a bundle or a pending report stays fresh, the last one included.
pub const TTL_SECONDS: i64 = 3_600;
/// Seconds that a stamp may be ahead of the clock and still count as now.
pub const MAX_AHEAD_SECONDS: i64 = 300;

/// The moment after which what was stored at `stamp` is stale.
pub fn expires_at(stamp: DateTime<Utc>) -> DateTime<Utc> {
    stamp.checked_add_signed(Duration::seconds(TTL_SECONDS)).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Checks that `record` of round `bundle_id`, stored at `stamp`, is fresh at `now`.
///
/// # Errors
/// [`HandoffError::Stale`] past [`TTL_SECONDS`]; [`HandoffError::FromTheFuture`] more than [`MAX_AHEAD_SECONDS`] ahead.
pub fn require_fresh(
    record: Record,
    bundle_id: &str,
    stamp: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<(), HandoffError> {
    let age = now.signed_duration_since(stamp);
    let bundle_id = bundle_id.to_owned();
    if age > Duration::seconds(TTL_SECONDS) {
        return Err(HandoffError::Stale { record, bundle_id, age: whole_seconds(age), limit: TTL_SECONDS });
    }
    if -age > Duration::seconds(MAX_AHEAD_SECONDS) {
        return Err(HandoffError::FromTheFuture { record, bundle_id, ahead: whole_seconds(-age) });
    }
    Ok(())
}

/// Seconds, rounded up: what is past a bound by a microsecond must not read as within it.
fn whole_seconds(duration: Duration) -> i64 {
    duration.num_seconds() + i64::from(duration.subsec_nanos() > 0)
}
