//! One binary of suites: behaviour through the public API and the real program.
//!
//! One file a room; vectors/ holds the inputs with right outputs, fixtures/ what a suite needs on disk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod cli;
mod cli_advice;
mod cli_demo;
mod cli_docs;
mod cli_moved;
mod cli_recover;
mod cli_refusals;
mod cli_run;
mod cli_runs;
mod cli_usage;
mod copies;
mod crash;
mod crash_child;
mod crash_crowds;
mod crash_kills;
mod crash_stops;
mod docs;
mod doctor;
mod doctor_cli;
mod doctor_damage;
mod doctor_flips;
mod doctor_open;
mod doctor_states;
mod event;
mod export_again;
mod fakes;
mod faults;
mod full_disk;
mod handoff_binding;
mod handoff_cli;
mod handoff_example;
mod handoff_guidance;
mod handoff_legs;
mod handoff_text;
mod hostile;
mod json;
mod legacy;
mod legacy_advice;
mod legacy_batches;
mod legacy_doctor;
mod legacy_hostile;
mod legacy_newer;
mod legacy_trees;
mod legs;
mod lock;
mod odd_values;
mod owners;
mod process;

mod projection;
mod receipt;
mod recovery;
mod recovery_bench;
mod recovery_faults;
mod recovery_places;
mod replaced;
mod run_command;
mod schema;
mod shadow;
mod shadow_cli;
mod stage;
mod stage_directory;
mod stage_library;
mod store;
mod store_shared;
mod support;
mod swallowed;
mod sweep;
mod tampered;
mod watch;
mod write_path;
