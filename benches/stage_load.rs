//! `legbook stage load` of a 4 KiB artifact as a whole process, against what it must be compared with.
//!
//! * `sqlite3 FILE "SELECT …"` for the same row: another program that starts, opens the same file and prints the bytes.
//! * `python3 -c pass`: what the legacy script pays before its first line.
//!
//! The three run in turn, so that a machine whose speed drifts slows all of them; the medians and the ratios are printed.
//! A program that is not there is left out.
//!
//! `cargo bench --bench stage_load`

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use legbook::db::{Store, StoreOptions};
use legbook::stage::{self, Artifact, Kind, PipelineName, StageName};

const LEGBOOK: &str = env!("CARGO_BIN_EXE_legbook");
const ROUNDS: usize = 400;
const ARTIFACT_BYTES: usize = 4096;

fn main() {
    // `cargo test --benches` only asks whether it builds and runs.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 3 };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fill(&path);
    let mut legbook = Command::new(LEGBOOK);
    legbook.arg("--store").arg(&path).args(["stage", "load", "fetch"]);
    let mut shell = Command::new("sqlite3");
    shell.arg(&path).arg("SELECT artifact FROM stages WHERE pipeline = 'default' AND name = 'fetch'");
    let mut python = Command::new("python3");
    python.args(["-c", "pass"]);

    // Both print the artifact and one newline.
    let expected = ARTIFACT_BYTES + 1;
    assert_eq!(legbook.output().unwrap().stdout.len(), expected);
    let mut programs = vec![("legbook stage load", legbook)];
    for (name, mut program) in [("sqlite3 SELECT", shell), ("python3 -c pass", python)] {
        match program.output() {
            Ok(output) => {
                assert!(
                    output.status.success() && (output.stdout.is_empty() || output.stdout.len() == expected)
                );
                programs.push((name, program));
            }
            Err(_) => println!("{name}: not there"),
        }
    }
    let mut times = vec![Vec::with_capacity(rounds); programs.len()];
    for _ in 0..rounds {
        for ((_, program), times) in programs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let status = program.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
            times.push(start.elapsed());
            assert!(status.success());
        }
    }
    let medians: Vec<Duration> = times.into_iter().map(median).collect();
    for ((name, _), median) in programs.iter().zip(&medians) {
        let ratio = medians[0].as_secs_f64() / median.as_secs_f64();
        println!("{name}: {:.2} ms; legbook takes {ratio:.2} of it", median.as_secs_f64() * 1e3);
    }
}

/// A store with one stage, whose artifact is JSON of [`ARTIFACT_BYTES`].
fn fill(path: &Path) {
    let store = Store::open(path, StoreOptions::default()).unwrap();
    let text = format!("{{\"talks\": \"{}\"}}", "x".repeat(ARTIFACT_BYTES - 17));
    let artifact = Artifact::read(&store, text.as_bytes(), "the benchmark").unwrap();
    assert_eq!(artifact.bytes().len(), ARTIFACT_BYTES);
    let fetch = StageName::parse("fetch").unwrap();
    stage::save(&store, &PipelineName::default(), &fetch, Kind::Stage, &artifact).unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
