//! Many processes that write one store: how long each write takes.
//!
//! Each process owns a run of its own, in a workspace of its own, and writes one status after another through the library. Printed
//! are the median, the 99th percentile, the slowest write and the throughput, for 1, 8 and 16 processes.
//!
//! `cargo bench --bench contention`

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use legbook::db::{Store, StoreOptions};
use legbook::id::RunId;
use legbook::json;
use legbook::run::{self, Credentials};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, store, name, count] = arguments.as_slice()
        && role == "writer"
    {
        write(Path::new(store), name, count.parse().unwrap());
        return;
    }
    // `cargo test --benches` only asks whether it builds and runs.
    let quick = !arguments.iter().any(|argument| argument == "--bench");
    for processes in if quick { vec![1, 2] } else { vec![1, 8, 16] } {
        measure(processes, if quick { 3 } else { 200 });
    }
}

/// Starts the writers and prints what they measured.
fn measure(processes: usize, count: usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store.db");
    drop(Store::open(&store, StoreOptions::default()).unwrap());
    let go = folder.path().join("go");
    let writers: Vec<Child> = (0..processes)
        .map(|number| {
            Command::new(std::env::current_exe().unwrap())
                .args(["writer".as_ref(), store.as_os_str()])
                .args([format!("run-{number}"), count.to_string()])
                .current_dir(folder.path())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    fs::write(go, "").unwrap();
    let mut times: Vec<u64> = Vec::new();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        times.extend(
            String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse::<u64>().unwrap()),
        );
    }
    let took = began.elapsed();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100] as f64 / 1e3;
    println!(
        "{processes} processes: median {:.1} ms, p99 {:.1} ms ({:.1} medians), slowest {:.1} ms, {:.0} writes a second",
        at(50),
        at(99),
        at(99) / at(50),
        at(100),
        times.len() as f64 / took.as_secs_f64()
    );
}

/// Writes `count` statuses and prints the microseconds that each took.
fn write(store: &Path, name: &str, count: usize) {
    let store = Store::open_existing(store, StoreOptions::default()).unwrap();
    let run_id = RunId::parse(name).unwrap();
    let folder = store.folder().join("workspaces").join(name);
    fs::create_dir_all(&folder).unwrap();
    let token = run::register(&store, &run_id, &folder.join("run"), &folder, std::process::id()).unwrap();
    let credentials = Credentials { token: Some(token), owner_pid: None };
    while !store.folder().join("go").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let text = format!("{{\"status\": \"planning\", \"task\": \"number {number}\"}}");
        let snapshot = json::snapshot_bytes(&json::parse_object(text.as_bytes()).unwrap());
        let began = Instant::now();
        run::write(&store, &run_id, &snapshot, &credentials).unwrap();
        times.push(began.elapsed().as_micros());
    }
    for time in times {
        println!("{time}");
    }
}
