//! The legbook command line.

fn main() {}
