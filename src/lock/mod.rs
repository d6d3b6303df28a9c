//! The run lock: one a workspace, held by a token, judged by its owner's process and lease.
//!
//! Owns the table `locks`. Nothing here opens a transaction but [`state`]: the other functions work inside one that
//! the write path, a start, a finish or a recovery has begun, so that a lock is taken, proved, re-homed or let go in
//! the same commit as what it guards. A crash before that commit leaves the row as it was; there is no other
//! effect to undo.
//!
//! * [`OwnerToken`]: what the owner shows; the row keeps its SHA-256 alone.
//! * `take`, `hold`, `is_held_with`, `rehome`, `release`: the owner's side (own.rs).
//! * `claim`, `claim_stands`, `unclaim`, `remove_claimed`, `clear_dead`: recovery's side (claim.rs).
//! * [`state`]: what the lock of a run looks like from outside, in five words (state.rs).
//!
//! What becomes of a run whose owner is dead is not decided here.

mod claim;
mod judge;
mod own;
mod row;
mod state;
mod token;
mod workspace;

#[cfg(test)]
mod tests;

pub use row::{Claimer, Lock};
pub use state::{LockState, state};
pub use token::OwnerToken;
pub use workspace::workspace_of;

pub(crate) use claim::{Claim, claim, claim_stands, claimable, clear_dead, remove_claimed, unclaim};
pub(crate) use judge::Judge;
pub(crate) use own::{Held, Request, Taken, hold, is_held_with, rehome, release, take};
pub(crate) use state::state_in;
pub(crate) use workspace::workspace_within;
