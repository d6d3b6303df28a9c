//! legbook keeps the journal of agent runs in one embedded SQLite file.

#![forbid(unsafe_op_in_unsafe_fn)]

pub mod checkpoint;
pub mod clock;
pub mod db;
pub mod digest;
pub mod doctor;
pub mod error;
pub mod event;
pub mod handoff;
pub mod id;
pub mod journal;
pub mod json;
pub mod legacy;
pub mod lock;
pub mod process;
pub mod projection;
mod publish;
pub mod receipt;
pub mod recovery;
pub mod run;
pub mod settings;
pub mod shadow;
pub mod stage;
pub mod step;
pub mod text;

pub use error::{Error, Result};
