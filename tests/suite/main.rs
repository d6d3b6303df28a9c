//! One binary of suites: behaviour through the public API and the real program.
//!
//! One file a room; vectors/ holds the inputs with right outputs, fixtures/ what a suite needs on disk.

mod json;
mod process;
