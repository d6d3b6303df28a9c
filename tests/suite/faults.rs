//! A disk that fails, through the real program: the n-th call that opens, writes, syncs, cuts, links or renames a file of the
//! workspace fails with ENOSPC, EIO, EACCES or EROFS, once or from then on (`tests/shim/faults.c`, compiled with `cc`).
//!
//! After each fault: a command that exited 0 has done its work; another exit code is one that the command may give, with an
//! error and a remedy; nothing is half published; doctor has at most a warning. Then the same command on a well disk
//! succeeds, everything acknowledged before is there, doctor is content, and no temporary file is left.
//!
//! Each command is tried at a few points. LEGBOOK_TEST_ALL_FAULTS=1 tries every call with every error, which takes half an hour or more:
//! `LEGBOOK_TEST_ALL_FAULTS=1 cargo test --test suite faults`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use nix::errno::Errno;
use rusqlite::Connection;

use crate::handoff_cli::{POOL, judgments, report};
use crate::support::{Answer, Process, Workspace};
use crate::trial::{ACKNOWLEDGED, Bench, Tried, own_pid, status, temporary};

const ERRORS: [Errno; 4] = [Errno::ENOSPC, Errno::EIO, Errno::EACCES, Errno::EROFS];

/// All that a command which says that nothing was changed must have left.
const EVERYTHING: [&str; 7] = [
    ACKNOWLEDGED[0],
    ACKNOWLEDGED[1],
    ACKNOWLEDGED[2],
    "SELECT run_id || coalesce(status, '') FROM runs",
    "SELECT run_id || coalesce(claim_id, '') FROM locks",
    "SELECT sha256 FROM recoveries",
    "SELECT bundle_id || nomination_id FROM judgments",
];

/// How many points of a command are tried, unless all are.
const POINTS: usize = 9;

/// A bench whose disk fails.
struct Failing {
    bench: Bench,
    shim: PathBuf,
}

impl std::ops::Deref for Failing {
    type Target = Bench;

    fn deref(&self) -> &Bench {
        &self.bench
    }
}

impl Failing {
    fn new() -> Self {
        let bench = Bench::new();
        let shim = bench.shim("faults");
        Self { bench, shim }
    }

    /// Runs the command, with this fault if one is given, and counts its calls.
    fn call(&self, tried: &Tried<'_>, fault: Option<(u64, Errno, bool)>) -> (Answer, u64) {
        let count = self.aside.path().join("count");
        let mut variables = vec![
            ("LD_PRELOAD", self.shim.clone()),
            ("FAULT_DIR", self.workspace.path()),
            ("FAULT_COUNT", count.clone()),
        ];
        if let Some((at, error, lasts)) = fault {
            variables.push(("FAULT_AT", at.to_string().into()));
            variables.push(("FAULT_ERRNO", (error as i32).to_string().into()));
            if lasts {
                variables.push(("FAULT_LASTS", "1".into()));
            }
        }
        let answer = self.call_with(tried, &variables);
        (answer, fs::read_to_string(count).unwrap().parse().unwrap())
    }

    /// Tries `tried` from the present state with faults at many points.
    fn try_faults(&self, tried: &Tried<'_>) {
        self.keep();
        let before = self.rows(&ACKNOWLEDGED);
        let everything = self.rows(&EVERYTHING);
        let (well, calls) = self.call(tried, None);
        assert_eq!(well.code, 0, "{:?}: {well:?}", tried.words);
        assert!((tried.done)(&self.workspace), "{:?}", tried.words);
        assert!(calls > 0, "the shim sees nothing of {:?}", tried.words);
        let all = std::env::var_os("LEGBOOK_TEST_ALL_FAULTS").is_some();
        let mut points: Vec<(u64, Errno, bool)> = Vec::new();
        for at in 1..=calls {
            if all {
                points.extend(ERRORS.iter().flat_map(|error| [(at, *error, false), (at, *error, true)]));
            }
        }
        if !all {
            // The first calls and the last ones publish; the errors take turns.
            let spread = (0..POINTS as u64).map(|n| 1 + n * (calls - 1) / (POINTS as u64 - 1));
            let points_of = spread.chain(calls.saturating_sub(5)..=calls).filter(|at| *at > 0);
            let places: BTreeSet<u64> = points_of.collect();
            points.extend(places.into_iter().enumerate().map(|(n, at)| (at, ERRORS[n % 4], n % 3 == 0)));
        }
        for fault in points {
            self.put_back();
            self.try_fault(tried, fault, &before, &everything);
        }
    }

    fn try_fault(
        &self,
        tried: &Tried<'_>,
        fault: (u64, Errno, bool),
        before: &BTreeSet<String>,
        everything: &BTreeSet<String>,
    ) {
        let told = format!("{:?} with {fault:?}", tried.words);
        let (answer, _) = self.call(tried, Some(fault));
        if answer.code == 0 {
            assert!((tried.done)(&self.workspace), "{told}: not done, but {answer:?}");
        } else {
            assert!(tried.codes.contains(&answer.code), "{told}: {answer:?}");
            assert!(
                answer.stderr.contains("error: ") && answer.stderr.contains("\nhelp: "),
                "{told}: {answer:?}"
            );
            assert!(!answer.stderr.contains("panicked"), "{told}: {answer:?}");
            if fault.1 == Errno::ENOSPC {
                let tells =
                    ["free space", "it may be full"].iter().any(|words| answer.stderr.contains(words));
                assert!(tells, "{told}: {answer:?}");
            }
            if answer.stderr.contains("nothing was changed") {
                assert_eq!(self.rows(&EVERYTHING), *everything, "{told}: {answer:?}");
            }
        }
        if self.workspace.store().exists() {
            let doctor = self.workspace.legbook(["doctor", "--full"]);
            assert!(matches!(doctor.code, 0 | 1), "{told}: {answer:?}\n{doctor:?}");
        }
        // A report is printed even if its queue rows could not be written: it was paid for. Then the same call again writes
        // them, as doctor says.
        if answer.code != 0 || answer.stderr.contains("the queue was not written") {
            let (again, _) = self.call(tried, None);
            // An export that the disk kept from being taken back is there.
            let is_there = fault.2 && again.stderr.contains(" is there");
            assert!(again.code == 0 || is_there, "{told}: {answer:?}\nagain: {again:?}");
            assert!((tried.done)(&self.workspace), "{told}: {answer:?}\nagain: {again:?}");
        }
        let doctor = self.workspace.legbook(["doctor", "--full"]);
        assert_eq!(doctor.code, 0, "{told}: {answer:?}\n{doctor:?}");
        let lost: Vec<_> = before.difference(&self.rows(&ACKNOWLEDGED)).cloned().collect();
        assert!(lost.is_empty(), "{told}: lost {lost:?}");
        let left = temporary(&self.workspace.path());
        assert!(answer.code == 0 || left.is_empty(), "{told}: {answer:?}\nleft {left:?}");
    }
}

#[test]
fn faults_while_a_run_is_begun_written_and_ended() {
    let bench = Failing::new();
    let pid = own_pid();
    let is =
        |word: &'static str| move |workspace: &Workspace| status(workspace, "r1").as_deref() == Some(word);
    let begin = ["runs", "start", "r1", "--pid", &pid];
    let tried = |words: &[&str], input: &str, done: &dyn Fn(&Workspace) -> bool| {
        bench.try_faults(&Tried { words, input, codes: &[1, 2], done });
    };
    // The first one makes the store.
    tried(&begin, "", &is("started"));
    bench.put_back();
    bench.start("r0", &Process::new().pid());
    bench.workspace.legbook(["runs", "recover", "r0"]).expect(0);
    tried(&begin, "", &is("started"));
    bench.put_back();
    bench.start("r1", &pid);
    tried(&["runs", "status", "r1", "planning"], "", &is("planning"));
    tried(&["runs", "write", "r1"], r#"{"status": "synthesizing"}"#, &is("synthesizing"));
    tried(&["runs", "finish", "r1"], "", &is("ok"));
}

#[test]
fn faults_while_a_run_is_recovered_and_exported() {
    let bench = Failing::new();
    bench.start("r1", &Process::new().pid());
    fs::write(bench.workspace.run_json("r1"), "{").unwrap();
    let failed = |workspace: &Workspace| status(workspace, "r1").as_deref() == Some("failed");
    let recover = Tried { words: &["runs", "recover", "r1"], input: "", codes: &[1, 2], done: &failed };
    bench.try_faults(&recover);
    fs::remove_file(bench.workspace.run_json("r1")).unwrap();
    bench.try_faults(&Tried { words: &["runs", "export", "r1"], input: "", codes: &[1], done: &failed });
    let out = |workspace: &Workspace| {
        let exported = fs::read(workspace.path().join("out/r1/run.json")).ok();
        exported == fs::read(workspace.run_json("r1")).ok()
    };
    let export =
        Tried { words: &["runs", "export", "r1", "--to", "out"], input: "", codes: &[1], done: &out };
    bench.try_faults(&export);
    fs::remove_dir_all(bench.workspace.path().join(".legbook")).unwrap();
    let taken = |workspace: &Workspace| workspace.legbook(["runs", "show", "r1"]).code == 1;
    bench.try_faults(&Tried {
        words: &["runs", "import", "out/r1"],
        input: "",
        codes: &[1, 2],
        done: &taken,
    });
}

/// All errors that `words` gives from the present state if the disk is full from some call on, each with what the same call
/// gives on a well disk afterwards.
fn errors(bench: &Failing, words: &[&str]) -> Vec<(String, Answer)> {
    bench.workspace.legbook(["db", "info"]).expect(0);
    bench.keep();
    let tried = Tried { words, input: "", codes: &[1], done: &|_| true };
    let (well, calls) = bench.call(&tried, None);
    well.expect(0);
    let mut errors = Vec::new();
    for at in 1..=calls {
        bench.put_back();
        let (answer, _) = bench.call(&tried, Some((at, Errno::ENOSPC, true)));
        if answer.code != 0 {
            errors.push((answer.stderr, bench.call(&tried, None).0));
        }
    }
    errors
}

#[test]
fn a_finish_and_a_recovery_that_fail_halfway_say_what_was_done_and_go_on() {
    let bench = Failing::new();
    bench.start("r1", &own_pid());
    bench.start_orphan_in("inner", "r2");
    fs::write(bench.workspace.run_json("r2"), "{").unwrap();
    for (words, says) in [
        (["runs", "finish", "r1"], "the run r1 has ended, but its lock was not released: "),
        (
            ["runs", "recover", "r2"],
            "the recovery of r2 is not finished (done: claim, validate, keep-file, restore",
        ),
    ] {
        let errors = errors(&bench, &words);
        let half_done: Vec<_> = errors.iter().filter(|(error, _)| error.contains(says)).collect();
        assert!(!half_done.is_empty(), "{errors:?}");
        for (error, again) in &half_done {
            assert!(error.contains("free space") || error.contains("it may be full"), "{error}");
            assert!(!error.contains("nothing was changed"), "{error}");
            again.expect(0);
        }
        assert!(errors.iter().all(|(_, again)| again.code == 0), "{errors:?}");
    }
}

#[test]
fn faults_while_stages_are_saved_and_handed_over() {
    let bench = Failing::new();
    let loads = |workspace: &Workspace| workspace.legbook(["stage", "load", "fetch"]).stdout.contains("3");
    let tried = |words: &[&str], input: &str, done: &dyn Fn(&Workspace) -> bool| {
        bench.try_faults(&Tried { words, input, codes: &[1], done });
    };
    tried(&["stage", "save", "fetch"], r#"{"pages": 3}"#, &loads);
    tried(&["stage", "begin"], "", &loads);
    tried(&["stage", "load", "fetch"], "", &loads);
    let out = |workspace: &Workspace| workspace.path().join("out/manifest.json").exists();
    tried(&["stage", "export", "out"], "", &out);
    tried(&["stage", "import", "out"], "", &loads);
    let emptied = |workspace: &Workspace| workspace.legbook(["stage", "load", "fetch"]).code == 2;
    let words = ["stage", "done"];
    bench.keep();
    for at in [1, 3, 5, 8, 12, 16] {
        bench.put_back();
        let done = Tried { words: &words, input: "", codes: &[1], done: &emptied };
        let (answer, _) = bench.call(&done, Some((at, Errno::EIO, false)));
        assert_eq!(answer.code == 0, emptied(&bench.workspace), "{answer:?}");
        bench.workspace.legbook(words).expect(0);
        assert!(emptied(&bench.workspace));
    }
}

/// A killed writer leaves a -wal with what it committed; here the -shm is missing too. SQLite has to make the -shm before it
/// knows what the -wal holds.
#[test]
fn a_wal_outlives_an_opening_that_fails() {
    let bench = Failing::new();
    bench.workspace.legbook(["stage", "begin"]).expect(0);
    let reader = Connection::open(bench.workspace.store()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM stages;").unwrap();
    bench.workspace.legbook_reading(["stage", "save", "fetch"], r#"{"pages": 3}"#).expect(0);
    bench.keep();
    drop(reader);
    let kept = bench.kept().join(".legbook");
    assert!(fs::metadata(kept.join("store.db-wal")).unwrap().len() > 0);
    fs::remove_file(kept.join("store.db-shm")).unwrap();
    let list = Tried { words: &["runs", "list"], input: "", codes: &[1], done: &|_| true };
    bench.put_back();
    let (well, calls) = bench.call(&list, None);
    well.expect(0);
    for at in 1..=calls {
        for (error, lasts) in
            [(Errno::ENOSPC, true), (Errno::ENOSPC, false), (Errno::EIO, true), (Errno::EIO, false)]
        {
            bench.put_back();
            let (answer, _) = bench.call(&list, Some((at, error, lasts)));
            let load = bench.workspace.legbook(["stage", "load", "fetch"]);
            assert_eq!(load.code, 0, "{error} at {at}, lasts {lasts}: {answer:?}\n{load:?}");
        }
    }
}

#[test]
fn faults_while_a_round_is_handed_off() {
    let bench = Failing::new();
    let awaits = |word: &'static str| {
        move |workspace: &Workspace| {
            workspace
                .legbook(["handoff", "status", "--json"])
                .stdout
                .contains(&format!(r#""awaits": "{word}""#))
        }
    };
    // A leg that the store cannot take exits 2: its input was paid for and can be given again.
    let tried = |words: &[&str], input: &str, done: &dyn Fn(&Workspace) -> bool| {
        bench.try_faults(&Tried { words, input, codes: &[2], done });
    };
    tried(&["handoff", "nominate"], POOL, &awaits("judgments"));
    let status = bench.workspace.legbook(["handoff", "status", "--json"]).json();
    let bundle_id = status["bundle_id"].as_str().unwrap();
    tried(&["handoff", "judge", "-"], &judgments(bundle_id), &awaits("report"));
    tried(&["handoff", "report", "-"], &report(bundle_id), &awaits("angles"));
    tried(&["handoff", "finalize"], "", &|_| true);
    tried(&["handoff", "status"], "", &|_| true);
    tried(&["handoff", "show", bundle_id], "", &|_| true);
}

#[test]
fn faults_while_a_store_is_read_checked_and_set() {
    let bench = Failing::new();
    bench.start("r1", &own_pid());
    let nothing = |_: &Workspace| true;
    let tried = |words: &[&str], codes: &[i32], done: &dyn Fn(&Workspace) -> bool| {
        bench.try_faults(&Tried { words, input: "", codes, done });
    };
    tried(&["runs", "list"], &[1], &nothing);
    tried(&["runs", "show", "r1"], &[2], &nothing);
    tried(&["runs", "events", "r1"], &[1], &nothing);
    tried(&["runs", "lock", "r1"], &[1], &nothing);
    let heads = |workspace: &Workspace| workspace.path().join("heads.json").exists();
    tried(&["doctor", "--full", "--heads", "heads.json"], &[1, 2, 3], &heads);
    let set = |workspace: &Workspace| workspace.legbook(["db", "info"]).stdout.contains("4096");
    tried(&["db", "set", "max-journal-events", "4096"], &[1], &set);
}
