//! The stage store through the library: days by the clock, what a crash leaves, many at once, what it takes in memory.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use legbook::Error;
use legbook::db::{Store, StoreOptions};
use legbook::error::StageError;
use legbook::settings;
use legbook::stage::{self, Artifact, Begin, Kind, PipelineName, StageName};
use legbook::step::{Observer, Step};
use nix::sys::signal::{Signal, raise};

use super::fakes::{SetClock, store_in};
use super::support::{LEGBOOK, Workspace};

fn store_at(folder: &Path, clock: &Arc<SetClock>) -> Store {
    store_in(folder, StoreOptions { clock: clock.clone(), ..StoreOptions::default() })
}

fn name(text: &str) -> StageName {
    StageName::parse(text).unwrap()
}

fn pipeline() -> PipelineName {
    PipelineName::default()
}

fn save(store: &Store, stage: &str, json: &str) {
    let artifact = Artifact::read(store, json.as_bytes(), "test").unwrap();
    stage::save(store, &pipeline(), &name(stage), Kind::Stage, &artifact).unwrap();
}

fn begin(store: &Store, keep_days: u32) -> (bool, String, Vec<String>) {
    let begun = stage::begin(store, &pipeline(), Begin { fresh: false, keep_days }).unwrap();
    (begun.resume, begun.run_date.to_string(), begun.completed.iter().map(StageName::to_string).collect())
}

// Days

#[test]
fn a_day_ends_at_midnight_in_utc_by_the_clock_that_the_store_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::at("2026-06-13T23:59:59.999999Z");
    let store = store_at(folder.path(), &clock);
    assert_eq!(begin(&store, 0), (false, "2026-06-13".to_owned(), vec![]));
    save(&store, "fetch", "1");
    assert_eq!(begin(&store, 0), (true, "2026-06-13".to_owned(), vec!["fetch".to_owned()]));
    clock.set("2026-06-14T00:00:00Z");
    save(&store, "verify", "2");
    let kept = vec!["fetch".to_owned(), "verify".to_owned()];
    assert_eq!(begin(&store, 1), (true, "2026-06-13".to_owned(), kept), "saving moves no date");
    assert_eq!(begin(&store, 0), (false, "2026-06-14".to_owned(), vec![]));
    // The same moment, told in another zone.
    clock.set("2026-06-14T23:30:00-02:00");
    assert_eq!(begin(&store, 0), (false, "2026-06-15".to_owned(), vec![]));
}

#[test]
fn keep_days_counts_calendar_days_and_a_clock_that_jumped_back_resumes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::at("2024-02-28T12:00:00Z");
    let store = store_at(folder.path(), &clock);
    begin(&store, 0);
    save(&store, "fetch", "1");
    for (today, keep_days, resumes) in [
        ("2024-03-01T23:59:59Z", 1, false),
        ("2024-03-01T23:59:59Z", 2, true),
        ("2024-03-01T00:00:00Z", u32::MAX, true),
        ("2024-02-28T00:00:00Z", 0, true),
        ("2024-02-27T23:59:59Z", u32::MAX, false),
    ] {
        let copy = tempfile::tempdir().unwrap();
        stage::export(&store, &pipeline(), &copy.path().join("run")).unwrap();
        let other = store_at(copy.path(), &clock);
        stage::import(&other, &pipeline(), &copy.path().join("run")).unwrap();
        clock.set(today);
        assert_eq!(begin(&other, keep_days).0, resumes, "{today}, {keep_days}");
    }
}

#[test]
fn status_tells_sizes_times_and_what_comes_next() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::at("2026-06-13T10:00:00Z");
    let store = store_at(folder.path(), &clock);
    assert_eq!(stage::status(&store, &pipeline()).unwrap(), None);
    save(&store, "fetch", "[1]");
    clock.advance(60);
    let evidence = Artifact::read(&store, &b"{}"[..], "test").unwrap();
    stage::save(&store, &pipeline(), &name("evidence"), Kind::Marker, &evidence).unwrap();
    let run = stage::status(&store, &pipeline()).unwrap().unwrap();
    assert_eq!(
        (run.run_date.to_string().as_str(), run.schema_version),
        ("2026-06-13", stage::SCHEMA_VERSION)
    );
    let [fetch] = run.completed.as_slice() else { panic!("{run:?}") };
    assert_eq!((fetch.name.as_str(), fetch.byte_size), ("fetch", 7), "two more for each line break");
    assert_eq!(fetch.saved_at, run.begun_at);
    let [marker] = run.markers.as_slice() else { panic!("{run:?}") };
    assert_eq!((marker.sha256, marker.byte_size), (evidence.digest(), 2));
    assert_eq!((marker.saved_at - fetch.saved_at).num_seconds(), 60);
    let plan = ["fetch", "evidence", "verify"].map(name);
    assert_eq!(run.next(&plan), Some(&plan[1]), "a marker completes nothing");
    assert_eq!(run.next(&plan[..1]), None);
}

#[test]
fn the_view_for_people_shows_every_run_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let clock = SetClock::at("2026-06-13T10:00:00Z");
    let store = store_at(folder.path(), &clock);
    save(&store, "verify", &format!("\"{}\"", "x".repeat(2046)));
    save(&store, "fetch", "1");
    let artifact = Artifact::read(&store, &b"2"[..], "test").unwrap();
    stage::save(&store, &pipeline(), &name("evidence"), Kind::Marker, &artifact).unwrap();
    stage::begin(&store, &PipelineName::parse("a").unwrap(), Begin::default()).unwrap();
    let output = Command::new("sqlite3")
        .args(["-batch", "-separator", " | "])
        .arg(store.path())
        .arg("SELECT * FROM stage_progress")
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "a | 2026-06-13 |  | nothing saved yet |  | 2026-06-13 10:00:00 UTC\n\
         default | 2026-06-13 | 1. verify | completed | 2.0 KiB | 2026-06-13 10:00:00 UTC\n\
         default | 2026-06-13 | 2. fetch | completed | 1 B | 2026-06-13 10:00:00 UTC\n\
         default | 2026-06-13 | evidence | marker | 1 B | 2026-06-13 10:00:00 UTC\n"
    );
}

// Bounds

/// Gives bytes without an end, and fails the test where more are taken than allowed.
struct Endless {
    allowed: usize,
}

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        assert!(self.allowed > 0, "more is read than it takes to see that it is too large");
        let count = buffer.len().min(self.allowed);
        self.allowed -= count;
        buffer[..count].fill(b' ');
        Ok(count)
    }
}

#[test]
fn an_artifact_beyond_the_bound_is_refused_before_it_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_at(folder.path(), &SetClock::at("2026-06-13T10:00:00Z"));
    settings::set(&store, "max-artifact-bytes", 4096).unwrap();
    let too_large = |input: &mut dyn std::io::Read| match Artifact::read(&store, input, "test").unwrap_err() {
        Error::Stage(StageError::TooLarge { limit }) => assert_eq!(limit, 4096),
        error => panic!("{error}"),
    };
    too_large(&mut Endless { allowed: 4097 });
    // Small enough to read, too large to keep.
    too_large(&mut format!("[{}1]", "1,".repeat(1000)).as_bytes());
    let whole = format!("\"{}\"", "x".repeat(4094));
    save(&store, "fetch", &whole);
    assert_eq!(stage::load(&store, &pipeline(), &name("fetch")).unwrap().unwrap(), whole.as_bytes());
    // What is there stays, whatever the bound.
    settings::set(&store, "max-artifact-bytes", 1024).unwrap();
    assert_eq!(stage::load(&store, &pipeline(), &name("fetch")).unwrap().unwrap().len(), 4096);
}

#[test]
fn the_command_names_the_bound_and_how_to_move_it() {
    let workspace = Workspace::new();
    workspace.legbook(["db", "set", "max-artifact-bytes", "1024"]).expect(0);
    let said = workspace.legbook_reading(["stage", "save", "fetch"], format!("[{}1]", " ".repeat(2000)));
    let stderr = said.refused(1, "larger than max-artifact-bytes, which is 1024");
    assert!(stderr.contains("legbook db set max-artifact-bytes 2048"), "{stderr}");
    // In another store: the remedy names it.
    let arguments = ["stage", "save", "fetch", "--state-dir", "state"];
    workspace.legbook_reading(arguments, "1").expect(0);
    workspace.legbook(["--store", "state/legbook.db", "db", "set", "max-artifact-bytes", "1024"]).expect(0);
    let said = workspace.legbook_reading(arguments, format!("[{}1]", " ".repeat(2000)));
    let stderr = said.refused(1, "larger than");
    assert!(stderr.contains("legbook --store state/legbook.db db set max-artifact-bytes 2048"), "{stderr}");
    workspace.legbook(["--store", "state/legbook.db", "db", "set", "max-artifact-bytes", "2048"]).expect(0);
    workspace.legbook_reading(arguments, format!("[{}1]", " ".repeat(2000))).expect(0);
}

#[test]
fn names_at_the_edge_of_their_length_are_told_apart() {
    assert!(StageName::parse(&"a".repeat(250)).is_ok());
    assert!(StageName::parse(&"a".repeat(251)).is_err());
    assert!(PipelineName::parse(&"A".repeat(128)).is_ok());
    for bad in ["", "-a", "a/b", "é", "a b", "a\n"].map(str::to_owned).into_iter().chain(["A".repeat(129)]) {
        assert!(PipelineName::parse(&bad).is_err(), "{bad:?}");
    }
    // Long names are cut in messages.
    let stage = "a".repeat(250);
    let error = StageError::Completed { stage, pipeline: String::new() };
    assert!(error.to_string().len() < 240);
}

// Crashes

/// Kills the process at one step, as a power cut does to its memory.
#[derive(Debug)]
struct KilledAt(u8);

impl Observer for KilledAt {
    fn reached(&self, step: Step) {
        if step.number() == self.0 {
            raise(Signal::SIGKILL).unwrap();
        }
    }
}

/// Each change that is cut short, by name.
const CHANGES: [&str; 7] =
    ["begin-fresh", "begin-migrate", "save-first", "save-again", "save-new", "invalidate", "done"];

fn change(store: &Store, change: &str) {
    match change {
        "begin-fresh" => drop(stage::begin(store, &pipeline(), Begin { fresh: true, keep_days: 0 }).unwrap()),
        "begin-migrate" => drop(begin(store, u32::MAX)),
        "save-first" => {
            let artifact = Artifact::read(store, &b"[9]"[..], "test").unwrap();
            stage::save(store, &PipelineName::parse("new").unwrap(), &name("a"), Kind::Stage, &artifact)
                .unwrap();
        }
        "save-again" => save(store, "fetch", &format!("\"{}\"", "y".repeat(20_000))),
        "save-new" => save(store, "late", "[9]"),
        "invalidate" => {
            drop(stage::invalidate(store, &pipeline(), &[name("verify"), name("fetch")]).unwrap())
        }
        "done" => stage::done(store, &pipeline()).unwrap(),
        other => panic!("{other}"),
    }
}

/// All that the store says of both pipelines.
fn picture(store: &Store) -> String {
    let mut picture = String::new();
    for pipeline in [pipeline(), PipelineName::parse("new").unwrap()] {
        let run = stage::status(store, &pipeline).unwrap();
        for saved in run.iter().flat_map(|run| run.completed.iter().chain(&run.markers)) {
            let bytes = stage::load(store, &pipeline, &saved.name).unwrap().unwrap();
            picture += &format!("{}: {} {}\n", saved.name, saved.byte_size, bytes.len());
        }
        // Times apart: the change is made twice.
        let run = run.map(|run| (run.run_date, run.schema_version, run.completed.len(), run.markers.len()));
        picture += &format!("{pipeline}: {run:?}\n");
    }
    picture
}

/// A run with four stages and a marker, of version 1, its artifacts larger than a page.
fn prepare(folder: &Path) -> Store {
    let store = store_in(folder, StoreOptions::default());
    for stage in ["sources", "fetch", "candidates", "verify"] {
        save(&store, stage, &format!("\"{}\"", "x".repeat(10_000)));
    }
    let artifact = Artifact::read(&store, &b"1"[..], "test").unwrap();
    stage::save(&store, &pipeline(), &name("evidence"), Kind::Marker, &artifact).unwrap();
    let sql = "UPDATE pipelines SET schema_version = 1";
    assert!(Command::new("sqlite3").arg(store.path()).arg(sql).status().unwrap().success());
    store
}

/// The process that is killed: no test where nothing is asked of it.
#[test]
fn change_until_killed() {
    let (Ok(folder), Ok(step), Ok(name)) =
        (std::env::var("KILLED_FOLDER"), std::env::var("KILLED_AT"), std::env::var("KILLED_CHANGE"))
    else {
        return;
    };
    let observer = Arc::new(KilledAt(step.parse().unwrap()));
    let store = store_in(Path::new(&folder), StoreOptions { observer, ..StoreOptions::default() });
    change(&store, &name);
}

#[test]
fn a_kill_leaves_the_run_as_before_or_as_after() {
    for name in CHANGES {
        let whole = tempfile::tempdir().unwrap();
        let store = prepare(whole.path());
        let before = picture(&store);
        change(&store, name);
        let after = picture(&store);
        assert_ne!(before, after, "{name}");
        for (step, left) in [(Step::BeforeCommit, &before), (Step::Committed, &after)] {
            let folder = tempfile::tempdir().unwrap();
            drop(prepare(folder.path()));
            let status = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "stage_library::change_until_killed"])
                .env("KILLED_FOLDER", folder.path())
                .env("KILLED_AT", step.number().to_string())
                .env("KILLED_CHANGE", name)
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{name} at {step:?}");
            let store = store_in(folder.path(), StoreOptions::default());
            assert_eq!(picture(&store), *left, "{name} at {step:?}");
        }
    }
}

#[test]
fn a_kill_at_any_moment_leaves_one_of_two_artifacts_whole() {
    let workspace = Workspace::new();
    let artifacts = ["x", "y"].map(|letter| format!("\"{}\"", letter.repeat(300_000)));
    workspace.legbook_reading(["stage", "save", "fetch"], &artifacts[0]).expect(0);
    // The moments differ from run to run; what must hold is the same at each.
    for round in 0..24_u64 {
        let mut command = workspace.command(["stage", "save", "fetch"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let written = child.stdin.take().unwrap().write_all(artifacts[(round % 2) as usize].as_bytes());
        std::thread::sleep(std::time::Duration::from_micros(round * 2_500));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(written);
        let loaded = workspace.legbook(["stage", "load", "fetch"]);
        let loaded = loaded.expect(0).trim_end();
        assert!(artifacts.iter().any(|artifact| artifact == loaded), "{} bytes", loaded.len());
        let begun = workspace.legbook(["stage", "begin", "--keep-days", "9"]).json();
        assert_eq!(begun["completed"], serde_json::json!(["fetch"]));
    }
    let check =
        Command::new("sqlite3").arg(workspace.store()).arg("PRAGMA integrity_check").output().unwrap();
    assert_eq!(check.stdout, b"ok\n");
}

// Many at once

#[test]
fn sixteen_processes_that_save_sixteen_stages_at_once_lose_none() {
    let workspace = Workspace::new();
    let names: Vec<String> = (0..16).map(|number| format!("stage-{number:02}")).collect();
    let mut children: Vec<_> = names
        .iter()
        .map(|name| {
            let mut command = workspace.command(["stage", "save", name]);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    // All wait for their input, and get it together.
    let inputs: Vec<_> = children.iter_mut().map(|child| child.stdin.take().unwrap()).collect();
    for (mut input, name) in inputs.into_iter().zip(&names) {
        writeln!(input, "\"{name}\"").unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let begun = workspace.legbook(["stage", "begin", "--keep-days", "1"]).json();
    let completed: Vec<_> =
        begun["completed"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(completed.len(), 16, "each once");
    assert_eq!(
        completed.iter().copied().collect::<BTreeSet<_>>(),
        names.iter().map(String::as_str).collect()
    );
    for name in &names {
        assert_eq!(workspace.legbook(["stage", "load", name]).expect(0), format!("\"{name}\"\n"));
    }
}

// Memory

/// The size of the artifact that is measured.
const LARGE: usize = 64 << 20;

/// A process whose only children are measured: no test where nothing is asked of it. Writes their largest resident size in KiB.
#[test]
fn measured_children() {
    let Ok(folder) = std::env::var("MEASURED_FOLDER") else { return };
    let folder = Path::new(&folder);
    let run = |verb: &str, input: Stdio, output: Stdio| {
        let mut command = Command::new(LEGBOOK);
        command.args(["--store", "store.db", "stage", verb, "large"]).current_dir(folder);
        assert!(command.stdin(input).stdout(output).status().unwrap().success());
    };
    let open = |name: &str| Stdio::from(std::fs::File::open(folder.join(name)).unwrap());
    run("save", open("large.json"), Stdio::null());
    run("load", Stdio::null(), std::fs::File::create(folder.join("loaded.json")).unwrap().into());
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).unwrap();
    std::fs::write(folder.join("max-rss"), usage.max_rss().to_string()).unwrap();
}

#[test]
fn an_artifact_of_64_mib_takes_less_than_four_times_its_size() {
    let folder = tempfile::tempdir().unwrap();
    // Half of it one long text, half many small values: what is costly as bytes, and what is costly as values.
    let mut text = format!("[\n  \"{}\"", "x".repeat(LARGE / 2));
    let mut number = 0_u64;
    while text.len() < LARGE - 100 {
        text += &format!(",\n  {{\n    \"{number:x}\": {number},\n    \"é\": [\n      1\n    ]\n  }}");
        number += 1;
    }
    text += "\n]";
    std::fs::write(folder.path().join("large.json"), &text).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stage_library::measured_children"])
        .env("MEASURED_FOLDER", folder.path())
        .env_remove("LEGBOOK_STORE")
        .env_remove("LEGBOOK_PIPELINE")
        .env_remove("LEGBOOK_STATE_DIR")
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let loaded = std::fs::read(folder.path().join("loaded.json")).unwrap();
    assert!(loaded == (text + "\n").as_bytes(), "the bytes that come back are others");
    let max_rss: usize = std::fs::read_to_string(folder.path().join("max-rss")).unwrap().parse().unwrap();
    assert!(max_rss * 1024 < 4 * LARGE, "{} MiB", max_rss >> 10);
}
