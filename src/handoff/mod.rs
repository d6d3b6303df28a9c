//! The handoff: a protocol of three legs between which a host judges (contract handoff.md).
//!
//! | leg | call | transaction |
//! | --- | --- | --- |
//! | 1 | [`nominate`] | the earlier round superseded, the new one and its nominations inserted |
//! | 2a | [`JudgeLeg`] | judgments inserted, the pending report of earlier ones superseded |
//! | 2b | [`ReportLeg`] | the earlier pending report superseded, the new one and its angle inputs inserted |
//! | 3 | [`FinalizeLeg`] | angles inserted; then, in one of its own, the queue |
//!
//! The engine's own work (sweeping, research, ranking) stays in the caller: this room stores, binds, validates, digests,
//! merges and finalizes. Its tables are `rounds`, `nominations`, `judgments`, `pending_reports`, `angle_inputs`, `angles`,
//! `queue` and `queue_counts`; each is owned by the file that says so. A crash between two legs leaves the state of the
//! leg before, whole; a crash inside one as well.
//!
//! Legs may run at once. Each binds itself to the round (or pending report) that it began with and asks again in its
//! writing transaction whether that is still the current one.

pub mod collision;
pub mod coverage;
pub mod engagement;
pub mod fence;
pub mod freshness;
pub mod host_digest;
pub mod host_text;
pub mod nomination;
pub mod pool;
pub mod topic;

mod bundle;
mod finalize;
mod host_file;
mod judge;
mod nominate;
mod pending;
mod queue;
mod report;
mod report_topics;
mod round;
mod status;
pub(crate) mod stored;
mod strict;
mod writing;

pub use bundle::{Bundle, LegacyBundle};
pub use finalize::{FinalizeLeg, Finalized};
pub use judge::{JudgeLeg, Judged};
pub use nominate::mint;
pub use nominate::{Nominated, nominate};
pub use pool::Pool;
pub use queue::{Topic, cover, topics};
pub use report::{Pending, ReportLeg, Reported};
pub use status::{Awaits, Status, status};
pub use writing::{not_read, not_stored};
