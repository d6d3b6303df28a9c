//! Power cuts: each command is recorded call by call (`tests/shim/record.c`), and the disk is put into states that a power
//! cut after one of the calls may leave ([`disk`]).
//!
//! In each state doctor finds at most a warning, and all that was acknowledged is there: what earlier commands did, and what
//! this one did if it had answered. The same command again, or the export of the run, then leaves nothing to be done.
//!
//! Each command is tried at a few points. LEGBOOK_TEST_ALL_CUTS=1 tries every call with many states:
//! `LEGBOOK_TEST_ALL_CUTS=1 cargo test --test suite power_cuts`.

mod disk;

use std::collections::BTreeSet;
use std::fs;

use crate::handoff_cli::{POOL, judgments, report};
use crate::power_cuts::disk::{Leaves, Record, Start};
use crate::support::{Process, Workspace};
use crate::trial::{ACKNOWLEDGED, Bench, Tried, own_pid, status};

/// How many points of a command are tried, unless all are.
const POINTS: usize = 4;

/// Runs the command and records it.
fn record(bench: &Bench, tried: &Tried<'_>) -> Record {
    let shim = bench.shim("record");
    let log = bench.aside.path().join("record");
    let _ = fs::remove_file(&log);
    let start = Start::read(&bench.workspace.path());
    let variables =
        [("LD_PRELOAD", shim), ("RECORD_DIR", bench.workspace.path()), ("RECORD_TO", log.clone())];
    bench.call_with(tried, &variables).expect(0);
    assert!((tried.done)(&bench.workspace), "{:?}", tried.words);
    start.record(&fs::read(log).unwrap())
}

/// Tries `tried` from the present state with power cuts at many points.
fn try_cuts(bench: &Bench, tried: &Tried<'_>) {
    bench.keep();
    let before = bench.rows(&ACKNOWLEDGED);
    bench.put_back();
    let record = record(bench, tried);
    let all = std::env::var_os("LEGBOOK_TEST_ALL_CUTS").is_some();
    let after = bench.rows(&ACKNOWLEDGED);
    let count = record.len();
    let points: BTreeSet<usize> = if all {
        (0..=count).collect()
    } else {
        (0..=POINTS).map(|n| count - n * count / (2 * POINTS)).collect()
    };
    let seeds = if all { 4 } else { 1 };
    for at in points {
        let by_chance = (0..seeds).map(Leaves::Some);
        for leaves in [Leaves::Nothing, Leaves::All].into_iter().chain(by_chance) {
            record.after(at, leaves).put(&bench.workspace.path());
            let must = if record.answered(at) { &after } else { &before };
            check(bench, tried, must, &format!("{:?}: {leaves:?} after {at} of {count}", tried.words));
        }
    }
    bench.put_back();
    bench.call_with(tried, &[]).expect(0);
}

fn check(bench: &Bench, tried: &Tried<'_>, must: &BTreeSet<String>, told: &str) {
    let workspace = &bench.workspace;
    if workspace.store().exists() {
        let doctor = workspace.legbook(["doctor", "--full"]);
        assert!(matches!(doctor.code, 0 | 1), "{told}: {doctor:?}");
    }
    let lost: Vec<_> = must.difference(&bench.rows(&ACKNOWLEDGED)).cloned().collect();
    assert!(lost.is_empty(), "{told}: lost {lost:?}");
    if !(tried.done)(workspace) {
        let again = bench.call_with(tried, &[]);
        let exported = if again.code == 0 { again } else { workspace.legbook(["runs", "export", "r1"]) };
        assert!(exported.code == 0 && (tried.done)(workspace), "{told}: {exported:?}");
    }
    let doctor = workspace.legbook(["doctor", "--full"]);
    assert_eq!(doctor.code, 0, "{told}: {doctor:?}");
}

#[test]
fn the_record_shows_every_change() {
    let bench = Bench::new();
    let pid = own_pid();
    let words = ["runs", "start", "r1", "--pid", &pid];
    let tried = Tried { words: &words, input: "", codes: &[], done: &|_| true };
    let record = record(&bench, &tried);
    let made = Start::read(&bench.workspace.path());
    let made = made.record(&[]).after(0, Leaves::Nothing);
    let whole = record.after(record.len(), Leaves::All);
    assert_eq!(whole.files(), made.files());
    assert!(record.answered(record.len()) && !record.answered(0));
}

#[test]
fn power_cuts_while_a_run_is_begun_written_and_ended() {
    let bench = Bench::new();
    let pid = own_pid();
    let is =
        |word: &'static str| move |workspace: &Workspace| status(workspace, "r1").as_deref() == Some(word);
    let tried = |words: &[&str], input: &str, done: &dyn Fn(&Workspace) -> bool| {
        try_cuts(&bench, &Tried { words, input, codes: &[], done });
    };
    // The first one makes the store.
    tried(&["runs", "start", "r1", "--pid", &pid], "", &is("started"));
    tried(&["runs", "status", "r1", "planning"], "", &is("planning"));
    tried(&["runs", "write", "r1"], r#"{"status": "synthesizing"}"#, &is("synthesizing"));
    tried(&["runs", "finish", "r1"], "", &is("ok"));
}

#[test]
fn power_cuts_while_a_run_is_recovered_and_exported() {
    let bench = Bench::new();
    bench.start("r1", &Process::new().pid());
    fs::write(bench.workspace.run_json("r1"), "{").unwrap();
    let failed = |workspace: &Workspace| status(workspace, "r1").as_deref() == Some("failed");
    let tried = |words: &[&str], done: &dyn Fn(&Workspace) -> bool| {
        try_cuts(&bench, &Tried { words, input: "", codes: &[], done });
    };
    tried(&["runs", "recover", "r1"], &failed);
    fs::remove_file(bench.workspace.run_json("r1")).unwrap();
    tried(&["runs", "export", "r1"], &failed);
    let out = |workspace: &Workspace| {
        let exported = fs::read(workspace.path().join("out/r1/run.json")).ok();
        exported == fs::read(workspace.run_json("r1")).ok()
    };
    tried(&["runs", "export", "r1", "--to", "out"], &out);
    fs::remove_dir_all(bench.workspace.path().join(".legbook")).unwrap();
    let shows = |workspace: &Workspace| workspace.legbook(["runs", "events", "r1"]).code == 0;
    tried(&["runs", "import", "out/r1"], &shows);
}

#[test]
fn power_cuts_while_stages_are_saved_and_handed_over() {
    let bench = Bench::new();
    let loads = |workspace: &Workspace| workspace.legbook(["stage", "load", "fetch"]).stdout.contains("3");
    let tried = |words: &[&str], input: &str, done: &dyn Fn(&Workspace) -> bool| {
        try_cuts(&bench, &Tried { words, input, codes: &[], done });
    };
    tried(&["stage", "save", "fetch"], r#"{"pages": 3}"#, &loads);
    tried(&["stage", "begin"], "", &loads);
    let out = |workspace: &Workspace| workspace.path().join("out/manifest.json").exists();
    tried(&["stage", "export", "out"], "", &out);
    tried(&["stage", "import", "out"], "", &loads);
}

#[test]
fn power_cuts_while_a_round_is_handed_off() {
    let bench = Bench::new();
    let awaits = |word: &'static str| {
        move |workspace: &Workspace| {
            let status = workspace.legbook(["handoff", "status", "--json"]);
            status.stdout.contains(&format!(r#""awaits": "{word}""#))
        }
    };
    let tried = |words: &[&str], input: &str, done: &dyn Fn(&Workspace) -> bool| {
        try_cuts(&bench, &Tried { words, input, codes: &[], done });
    };
    tried(&["handoff", "nominate"], POOL, &awaits("judgments"));
    let status = bench.workspace.legbook(["handoff", "status", "--json"]).json();
    let bundle_id = status["bundle_id"].as_str().unwrap();
    tried(&["handoff", "judge", "-"], &judgments(bundle_id), &awaits("report"));
    tried(&["handoff", "report", "-"], &report(bundle_id), &awaits("angles"));
    // Doctor knows a finalized report whose topics are not in the queue.
    let queued = |workspace: &Workspace| workspace.legbook(["doctor", "--full"]).code == 0;
    tried(&["handoff", "finalize"], "", &queued);
}
