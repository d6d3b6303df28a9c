//! How long a connection waits for another one, and how much work one transaction may be.
//!
//! * Waiting: at most [`BUSY_TIMEOUT`] for one lock, in small random steps. SQLite's own back-off sleeps up to 100 ms between two
//!   tries, so among many writers an unlucky one waits many times as long as the others. Here each waiting process asks
//!   about once in a millisecond, and one that has waited for long asks more often.
//! * Work: a budget of steps of SQLite's machine for each transaction of every connection ([`allow`]). A trigger that
//!   somebody else made can run an endless query inside legbook's own statement, and a damaged page can lead a query in circles. The
//!   budget ends both. SQLite looks at it once in [`GRAIN`] steps of one statement, so an ordinary write never pays for it.
//!
//! A command therefore waits for at most the busy timeout, and its transaction computes for at most [`WRITE_STEPS`] or
//! [`READ_STEPS`] steps. SQLite does about 100 million steps in a second.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use rusqlite::Connection;

/// How long a connection waits for another one's lock (contract store.md).
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How many steps one write transaction may take: about 4 seconds of processor time. The largest that legbook makes is an import
/// of 128 directories or 4 MiB.
const WRITE_STEPS: u64 = 500_000_000;

/// How many steps one read transaction may take. It may read every run of a large store, and no trigger runs in it.
const READ_STEPS: u64 = 5_000_000_000;

/// How many steps of one statement lie between two looks at the budget.
const GRAIN: i32 = 1_000_000;

/// The longest pause of one that begins to wait, and of one that has waited for long.
const PAUSES: (Duration, Duration) = (Duration::from_micros(2_000), Duration::from_micros(500));

/// After how many tries one has waited for long.
const LONG: i32 = 10;

/// What makes `connection` wait for locks as this module says.
pub(super) fn wait_for_locks(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(wait))
}

/// SQLite calls it each time that a lock is not free; `tries` counts from 0 for each lock. A connection waits in the thread
/// that uses it, so the thread knows when the waiting began.
fn wait(tries: i32) -> bool {
    thread_local!(static SINCE: Cell<Option<Instant>> = const { Cell::new(None) });
    let now = Instant::now();
    if tries == 0 {
        SINCE.set(Some(now));
    }
    let since = SINCE.get().unwrap_or(now);
    let left = BUSY_TIMEOUT.saturating_sub(now.duration_since(since));
    if left.is_zero() {
        return false;
    }
    let longest = if tries < LONG { PAUSES.0 } else { PAUSES.1 };
    // The standard library seeds each hasher with the system's randomness. No secret depends on it.
    let part = RandomState::new().hash_one(tries) % 1_000;
    std::thread::sleep(longest.mul_f64((part + 1) as f64 / 1_000.0).min(left));
    true
}

/// How many steps one transaction may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    pub(super) write: u64,
    pub(super) read: u64,
}

impl Steps {
    /// What every store allows.
    pub(super) const USUAL: Self = Self { write: WRITE_STEPS, read: READ_STEPS };
}

/// Allows `connection` that many steps from now on; a statement that takes more is interrupted. Each transaction of each
/// connection begins with it.
pub(super) fn allow(connection: &Connection, steps: u64) -> rusqlite::Result<()> {
    let grain = u64::from(GRAIN.unsigned_abs());
    let mut left = steps;
    let is_spent = move || {
        left = left.saturating_sub(grain);
        left == 0
    };
    connection.progress_handler(GRAIN, Some(is_spent))
}
