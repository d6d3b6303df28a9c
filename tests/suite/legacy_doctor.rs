//! Doctor over legacy directories where they are, and over what an import took of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use legbook::doctor::RunVerdict;
use legbook::event::{Event, EventInput};
use legbook::json::{self, Value};
use legbook::legacy;

use crate::doctor::{look, options};
use crate::fakes::{text, vectors};
use crate::legacy_trees::{Home, LegacyRun, picture, write_files};
use crate::support::{Process, Workspace};

/// A verdict and its reason, as the vectors have them.
type Said = (String, String);

fn said(run: &RunVerdict) -> Said {
    (run.verdict.word().to_owned(), run.says.clone())
}

/// Writes the directory of a vector below `parent`.
fn place(vector: &Value, parent: &Path) -> PathBuf {
    let directory = parent.join(text(vector, "run_id"));
    let Some(Value::Object(files)) = vector.get("files") else { panic!("{vector:?}") };
    let files: Vec<(String, &str)> = files
        .iter()
        .map(|(path, content)| {
            (String::from_utf8(path.as_bytes().to_vec()).unwrap(), content.as_str().unwrap())
        })
        .collect();
    write_files(&directory, files.iter().map(|(path, content)| (path.as_str(), content.as_bytes())));
    directory
}

#[test]
fn every_verdict_of_the_vectors_where_it_is_and_after_an_import() {
    let (mut seen, mut failures) = (0, Vec::new());
    let folder = tempfile::tempdir().unwrap();
    // A store takes one journal of a run, and here many have the same name.
    let mut homes: Vec<(Home, BTreeMap<String, Said>)> = Vec::new();
    for (number, vector) in vectors("doctor-verdicts.jsonl").iter().enumerate() {
        let expected = (text(vector, "verdict").to_owned(), text(vector, "reason").to_owned());
        let directory = place(vector, &folder.path().join(number.to_string()));
        let before = picture(&directory);
        let report = legacy::examine(&directory, options(true, None)).unwrap();
        if said(&report.runs[0]) != expected {
            failures.push(format!(
                "{number} {}: {:?}, not {expected:?}",
                text(vector, "what"),
                report.runs[0]
            ));
        }
        assert_eq!(picture(&directory), before);
        seen += 1;
        let run_id = text(vector, "run_id");
        let free = match homes.iter().position(|(_, taken)| !taken.contains_key(run_id)) {
            Some(free) => free,
            None => {
                homes.push((Home::new(), BTreeMap::new()));
                homes.len() - 1
            }
        };
        let (home, taken) = &mut homes[free];
        if home.import(&directory).is_ok() {
            taken.insert(run_id.to_owned(), expected);
        }
    }
    let mut taken_reasons = BTreeSet::new();
    for (home, taken) in homes {
        let report = look(home.store.path(), true, None).unwrap();
        let stored: BTreeMap<String, Said> =
            report.runs.iter().map(|run| (run.run_id.clone(), said(run))).collect();
        if stored != taken {
            failures.push(format!("imported: {stored:?}, not {taken:?}"));
        }
        taken_reasons.extend(taken.into_values().map(|(_, reason)| reason));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(seen, 250);
    assert_eq!(
        taken_reasons.iter().map(String::as_str).collect::<Vec<_>>(),
        [
            "checkpoint bytes match run.json",
            "empty journal",
            "partial tail",
            "run.json behind its checkpoint",
            "run.json does not match checkpoint",
            "run.json missing with valid checkpoint",
            "run.json unparseable with valid checkpoint",
            "stale-lock-recovery receipt matches checkpoint reconstruction",
            "uncovered tail",
        ]
    );
}

#[test]
fn the_program_says_the_same_of_a_folder_a_workspace_and_one_directory() {
    let workspace = Workspace::new();
    let runs = workspace.path().join(".brigade/runs");
    let mut expected = BTreeMap::new();
    for vector in vectors("doctor-verdicts.jsonl") {
        if expected.contains_key(text(&vector, "run_id")) {
            continue;
        }
        place(&vector, &runs);
        let said = (text(&vector, "verdict").to_owned(), text(&vector, "reason").to_owned());
        expected.insert(text(&vector, "run_id").to_owned(), said);
    }
    let before = workspace.picture();
    for named in [".", ".brigade/runs"] {
        let answer = workspace.legbook(["doctor", "--legacy", named, "--full", "--json"]);
        assert_eq!(answer.code, 2, "{answer:?}");
        let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        let runs = said["stores"][0]["runs"].as_array().unwrap();
        let said: BTreeMap<String, Said> = runs
            .iter()
            .map(|run| {
                let word = |key: &str| run[key].as_str().unwrap().to_owned();
                (word("run_id"), (word("verdict"), word("reason")))
            })
            .collect();
        assert_eq!(said, expected);
    }
    let (run_id, (_, reason)) = expected.first_key_value().unwrap();
    let one = format!(".brigade/runs/{run_id}");
    let answer = workspace.legbook(["doctor", "--legacy", &one, "--json"]);
    let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(said["stores"][0]["runs"][0]["reason"], reason.as_str());
    assert_eq!(workspace.picture(), before, "nothing is written, no store is made");
}

/// Locks the workspace at `workspace` as a legacy program does.
fn lock(workspace: &Path, pid: &str, run_dir: &Path) {
    let owner = format!(
        r#"{{"schema": "brigade.run_lock.v1", "owner_token": "t", "pid": {pid}, "run_dir": "{}", "acquired_at": "2026-03-04T05:06:07+00:00"}}"#,
        run_dir.display()
    );
    let lock = workspace.join(".brigade/run.lock");
    write_files(&lock, [("owner.json", owner.as_bytes()), ("pid", format!("{pid}\n").as_bytes())]);
}

#[test]
fn a_live_lock_of_this_very_run_speaks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().canonicalize().unwrap();
    let runs = workspace.join(".brigade/runs");
    for name in ["mine", "other"] {
        let directory = LegacyRun::new(name, &["started"]).write(&runs);
        fs::write(directory.join("events/lifecycle.jsonl"), "torn").unwrap();
    }
    let says = |name: &str| {
        let report = legacy::examine(&runs.join(name), options(false, None)).unwrap();
        report.runs[0].says.clone()
    };
    let owner = Process::new();
    lock(&workspace, &owner.pid(), &runs.join("mine"));
    assert_eq!((says("mine").as_str(), says("other").as_str()), ("live owner", "empty journal"));
    // run.json says which workspace.
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().canonicalize().unwrap();
    fs::write(runs.join("other/run.json"), format!(r#"{{"lock_workspace": "{}"}}"#, real.display())).unwrap();
    lock(&real, &owner.pid(), &runs.join("other"));
    assert_eq!(says("other"), "live owner");
    let pid = owner.pid();
    drop(owner);
    lock(&workspace, &pid, &runs.join("mine"));
    assert_eq!((says("mine").as_str(), says("other").as_str()), ("empty journal", "empty journal"));
    // What can't be read is no live owner.
    for spoiled in ["", "[]", r#"{"pid": true}"#, r#"{"pid": -1, "run_dir": "x"}"#] {
        fs::write(workspace.join(".brigade/run.lock/owner.json"), spoiled).unwrap();
        assert_eq!(says("mine"), "empty journal");
    }
}

#[test]
fn fifty_are_looked_at_and_the_rest_is_said() {
    let workspace = Workspace::new();
    for number in 0..53 {
        LegacyRun::new(&format!("r{number:02}"), &["started"]).write(&workspace.path().join("runs"));
    }
    let newest = workspace.legbook(["doctor", "--legacy", "runs"]);
    assert!(newest.expect(0).contains("ok=50 warn=0 fail=0 omitted=3"), "{newest:?}");
    assert!(newest.stdout.contains("3 runs older than the newest 50"), "{newest:?}");
    let all = workspace.legbook(["doctor", "--legacy", "runs", "--full"]);
    assert!(all.expect(0).contains("ok=53 warn=0 fail=0 omitted=0"), "{all:?}");
}

#[test]
fn an_older_checkpoint_is_hashed_where_all_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let legacy_run = LegacyRun::new("r", &["started", "planning"]);
    let directory = legacy_run.write(folder.path());
    let latest = legbook::digest::Digest::of(legacy_run.run_json.as_ref().unwrap().as_bytes()).to_hex();
    let older = legacy_run.checkpoints.keys().find(|sha256| **sha256 != latest).unwrap();
    fs::write(directory.join(format!("events/recovery-checkpoints/{older}.json")), "{}\n").unwrap();
    let report = legacy::examine(&directory, options(false, None)).unwrap();
    assert_eq!((report.runs[0].says.as_str(), report.findings.len()), ("checkpoint bytes match run.json", 0));
    let report = legacy::examine(&directory, options(true, None)).unwrap();
    assert_eq!(report.runs[0].says, "checkpoint bytes match run.json");
    let found: Vec<&str> = report.findings.iter().map(|finding| finding.kind.word()).collect();
    assert_eq!(found, ["checkpoint-damaged"]);
}

#[test]
fn what_cannot_be_checked_is_exit_3() {
    let workspace = Workspace::new();
    workspace.legbook(["doctor", "--legacy", "absent"]).refused(3, "cannot read");
    let answer = workspace.legbook(["doctor", "--legacy", ".", "store.db"]);
    assert_eq!(answer.code, 3, "{answer:?}");
}

#[test]
fn a_checkpoint_event_of_odd_types_is_its_runs_verdict_and_hides_no_other_run() {
    let folder = tempfile::tempdir().unwrap();
    let sound = vectors("doctor-verdicts.jsonl").into_iter().find(|vector| {
        text(vector, "verdict") == "ok" && text(vector, "reason") == "checkpoint bytes match run.json"
    });
    let sound = place(&sound.unwrap(), folder.path());
    let odd = ["5", "-1", "null", "9223372036854775807", "\"\"", "\"text\""];
    for (number, value) in odd.iter().enumerate() {
        for key in ["sha256", "byte_size"] {
            let run_id = format!("odd-{key}-{number}");
            let payload = format!("{{\"{key}\": {value}}}");
            let event = Event::new(EventInput {
                run_id: &run_id,
                sequence: 1,
                event_type: "run.snapshot.checkpointed",
                recorded_at: "2026-01-01T00:00:00.000000Z",
                idempotency_key: "checkpoint:1",
                previous_digest: None,
                payload: json::parse_object(payload.as_bytes()).unwrap(),
            });
            let line = format!("{}\n", event.unwrap().line());
            let files = [("run.json", b"{}".as_slice()), ("events/lifecycle.jsonl", line.as_bytes())];
            write_files(&folder.path().join(run_id), files);
        }
    }
    let report = legacy::examine(folder.path(), options(true, None)).unwrap();
    assert_eq!(report.runs.len(), 1 + 2 * odd.len(), "{report:?}");
    for run in &report.runs {
        let is_sound = sound.ends_with(&run.run_id);
        assert_eq!(run.verdict.word(), if is_sound { "ok" } else { "fail" }, "{run:?}");
        assert!(is_sound || run.says == "checkpoint fault", "{run:?}");
    }
}
