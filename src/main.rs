//! The legbook command line.

mod cli;

fn main() {}
