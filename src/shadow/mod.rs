//! Shadow evidence: would the journal alone have told what was written? And the readiness gate that reads it. Owns the
//! tables `shadow_evidence` and `shadow_records`.
//!
//! With each journaled write two snapshots are compared as bytes: what was written, with the journal's head in it, and
//! the projection of what was written over the journal (contract events.md, Shadow evidence and the readiness gate).
//!
//! **One transaction.** The comparison is part of the write's own, under a savepoint. Where it fails the savepoint alone
//! is rolled back: the write is whole, the evidence stays behind it, and the gate is closed by that. A crash leaves the
//! write with its comparison or neither. A write that appends nothing (a replay) is not compared again, so the same
//! record never comes twice in a row.
//!
//! **Cost.** Linear in the snapshot, and independent of the journal's length. The projection is a fold over the events
//! ([`crate::projection::Told`]) whose state is a head and a status. The evidence keeps that state with the head that it
//! was compared to, and a write goes on from it with the events that it has appended. Why this is the projection of the
//! whole journal:
//! * the state was made once by a pass from event 1 (no evidence before), and from then on by the fold's own step;
//! * a head stands for all events before it: the digest there covers each of them, and the journal is append-only;
//! * the events that follow must link to that very head, else they are no continuation and the comparison is an error.
//!
//! Where something is missing from this (no evidence yet, other evidence, a gap) the events that are missing are read and
//! checked: all of them, or those since the last comparison. What is not seen here is a line that was spoiled in the file
//! after it was compared; the gate checks the whole chain, and so does doctor.
//!
//! * `compare`: the comparison of a write. `judge`: of two snapshots, pure.
//! * `evidence`: what is kept, pure; `file`: as the legacy programs write it. `rows`: the tables.
//! * `gate`: the readiness gate.

mod compare;
mod evidence;
mod file;
mod gate;
mod judge;
mod rows;

pub(crate) use compare::compare;
pub use evidence::{Counts, Evidence, MAX_FIELDS, MAX_RECORDS, Outcome, Record};
pub(crate) use file::legacy_bytes_in;
pub use file::{SCHEMA, SCHEMA_VERSION, from_legacy, legacy_bytes, legacy_object};
pub use gate::{Readiness, Reason, readiness};
