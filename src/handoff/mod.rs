//! The handoff: a protocol of three legs between which a host judges (contract handoff.md).
//!
//! `nominate` stores an engine's pool, `judge` and `report` take the host's judgments and what the engine made of them,
//! `finalize` gives the report with the host's angles. The engine's own work stays in the caller.

pub mod collision;
pub mod coverage;
pub mod engagement;
pub mod fence;
pub mod freshness;
pub mod host_digest;
pub mod host_text;
pub mod nomination;
pub mod pool;
mod strict;
pub mod topic;
