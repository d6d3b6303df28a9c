//! The command line: parses, calls the library, renders.

#[allow(dead_code, reason = "no command runs a child yet")]
mod supervise;
