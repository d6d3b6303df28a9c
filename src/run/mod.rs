//! Runs: beginning them, writing their snapshots, ending them, and asking about them.
//!
//! Owns the tables `runs` and `recoveries` and, on disk, run.json in each run's directory. Built on the rooms `lock`
//! (who may write), `journal` and `checkpoint` (what a write records). Above it: recovery and doctor.
//!
//! * `write`: the write path; its header says what a crash leaves.
//! * `start`, `status`: the snapshots that legbook makes itself (`snapshot`, pure).
//! * `last`: what a run's last snapshot is. `file`: run.json on disk. `export`: putting it back.
//! * `directory`: whether a run directory that is gone may be made anew.
//! * `terminalize`: ending a run without a journal whose owner is dead.
//! * `query`: reading; `project`: the last snapshot as the journal tells it. `table`, `receipts`: the rows.

pub(crate) mod directory;
mod export;
pub mod file;
pub(crate) mod last;
mod project;
mod query;
pub(crate) mod receipts;
mod snapshot;
mod start;
mod status;
pub(crate) mod table;
pub(crate) mod terminalize;
mod write;

pub use crate::journal::NearBound;
pub use export::{Exported, export};
pub use project::project;
pub use query::{Details, Listed, RunJson, at, events, get, list, near_bounds, resolve, show};
pub use snapshot::{Failure, ends_run, known_statuses};
pub use start::{StartRequest, Started, let_go, register, start};
pub use status::{Finished, StatusChange, finish, has_ended, set_status};
pub use table::Run;
pub use write::{Credentials, Written, write};
