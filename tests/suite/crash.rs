//! A real process dies at each numbered step of a write, a finish and a recovery. Then nothing acknowledged is lost,
//! doctor says what is so, recovery ends the run as its table tells, a second one changes nothing, and writing goes on.

use std::fs;
use std::path::{Path, PathBuf};

use legbook::clock::SystemClock;
use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::doctor;
use legbook::event::{JournalBounds, verify_chain};
use legbook::id::RunId;
use legbook::json::{self, Object, Value};
use legbook::lock::OwnerToken;
use legbook::process::SystemProcesses;
use legbook::recovery::{self, Ending, Options, Outcome};
use legbook::run::{self, Credentials, StartRequest};
use legbook::step::Step;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::crash_child::{Crasher, Cut};
use crate::recovery_bench::{picture, said, snapshot, words};

/// A store with workspaces in a folder of their own.
pub(crate) struct Scene {
    folder: TempDir,
    pub(crate) store: Store,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.db"), StoreOptions::default()).unwrap();
        Self { folder, store }
    }

    /// The workspace `name`, made where it is missing.
    pub(crate) fn workspace(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.join(".git")).unwrap();
        path
    }

    pub(crate) fn run_json(&self, name: &str) -> PathBuf {
        self.workspace(name).join("run/run.json")
    }

    /// A child that does `role` to the run `name` in the workspace of that name.
    pub(crate) fn child(&self, role: &str, name: &str, what: &str, cut: Cut) -> Crasher {
        let workspace = self.workspace(name);
        Crasher::start(self.store.path(), role, &[name, workspace.to_str().unwrap(), what], cut)
    }

    pub(crate) fn recoverer(&self, name: &str, cut: Cut) -> Crasher {
        Crasher::start(self.store.path(), "recover", &[name], cut)
    }

    pub(crate) fn recover(&self, name: &str) -> Outcome {
        recovery::recover(&self.store, &id(name), &Options::default()).unwrap()
    }

    /// The verdict on a run and doctor's words for it.
    pub(crate) fn verdict(&self, name: &str) -> (&'static str, String) {
        let options = doctor::Options {
            full: true,
            alone: false,
            heads: None,
            accept_heads: false,
            clock: &SystemClock,
            processes: &SystemProcesses,
            progress: &doctor::NoProgress,
        };
        let report = doctor::examine(self.store.path(), options).unwrap();
        let run = report.runs.iter().find(|run| run.run_id == name).unwrap();
        (run.verdict.word(), run.says.clone())
    }

    pub(crate) fn count(&self, sql: &str) -> i64 {
        let plain = Connection::open(self.store.path()).unwrap();
        plain.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Requires that the journal is one chain, and that each acknowledged snapshot is in it and in the store.
    #[track_caller]
    pub(crate) fn check_journal(&self, name: &str, acknowledged: &[Digest]) {
        let events = run::events(&self.store, &id(name), 0, usize::MAX).unwrap();
        if events.is_empty() {
            assert!(acknowledged.is_empty());
            return;
        }
        let bounds = JournalBounds::LEGACY;
        let chain = verify_chain(events.iter().map(|event| event.line().as_bytes()), name, bounds).unwrap();
        for sha256 in acknowledged {
            let hex = sha256.to_hex();
            let named = |event: &legbook::event::Event| said(event.payload(), &["sha256"]) == Some(&hex);
            let event = chain.events.iter().rfind(|event| named(event));
            let event = event.unwrap_or_else(|| panic!("{name}: an acknowledged snapshot is lost: {hex}"));
            assert_eq!(Digest::of(&run::at(&self.store, &id(name), event.sequence()).unwrap()), *sha256);
        }
    }

    /// Requires that the run has ended, that run.json is the store's last snapshot, that no lock is left, that a second
    /// recovery changes no byte, and that the run can be taken up again. Gives run.json as it was at the end.
    #[track_caller]
    pub(crate) fn check_ended(&self, name: &str) -> Object {
        let end = json::parse_object(&fs::read(self.run_json(name)).unwrap()).unwrap();
        assert!(legbook::receipt::is_terminal(&end), "{name}");
        let details = run::show(&self.store, &id(name)).unwrap();
        assert_eq!(details.run_json_current, details.run.journaled.then_some(true), "{name}");
        assert_eq!(self.count(&format!("SELECT count(*) FROM locks WHERE run_id = '{name}'")), 0);
        if details.run.journaled {
            assert_eq!(self.verdict(name).0, "ok", "{name}");
        }
        let before = picture(self.folder.path());
        let again = self.recover(name);
        assert_eq!((again.ending, words(&again)), (Ending::AlreadyTerminal, vec![]), "{name}");
        assert!(picture(self.folder.path()) == before, "{name}: a second recovery changed something");

        let started = run::start(&self.store, &resume(&self.workspace(name), name)).unwrap();
        let credentials = Credentials { token: Some(started.token), owner_pid: None };
        let written =
            run::write(&self.store, &id(name), snapshot("handoff", 77).as_bytes(), &credentials).unwrap();
        assert_eq!(Digest::of(&fs::read(self.run_json(name)).unwrap()), written.sha256, "{name}");
        run::finish(&self.store, &id(name), None, &credentials).unwrap();
        end
    }
}

pub(crate) fn id(run_id: &str) -> RunId {
    RunId::parse(run_id).unwrap()
}

fn resume(workspace: &Path, name: &str) -> StartRequest {
    StartRequest {
        run_id: id(name),
        task: String::new(),
        cwd: workspace.to_path_buf(),
        run_dir: None,
        owner_pid: std::process::id(),
        lease: None,
        token: None,
        workspace: None,
        journal: true,
        resume: true,
        wait: std::time::Duration::ZERO,
    }
}

/// The token and the acknowledged digests among what a child said.
pub(crate) fn heard(said: &[String]) -> (Option<OwnerToken>, Vec<Digest>) {
    let token = said.iter().find_map(|line| line.strip_prefix("token "));
    let acknowledged = said.iter().filter_map(|line| line.strip_prefix("ack ").and_then(Digest::parse));
    (token.map(|token| OwnerToken::parse(token).unwrap()), acknowledged.collect())
}

pub(crate) fn dies_at(step: Step, occurrence: u32) -> Cut {
    Cut { at: Some((step, occurrence)), stop: false }
}

#[track_caller]
fn check_receipt(end: &Object, prior_status: &str, n: i64) {
    assert_eq!(said(end, &["failure", "kind"]), Some("owner-process-exited"));
    assert_eq!(said(end, &["failure", "prior_status"]), Some(prior_status));
    assert_eq!(end.get("n".as_bytes()), Some(&Value::from(n)));
}

/// The steps of a write, and what a death at the third one leaves: doctor's verdict, whether recovery restores, and the
/// snapshot that the run ends as.
const WRITE: [(Step, &str, bool, (&str, i64)); 4] = [
    (Step::BeforeCommit, "ok", false, ("planning", 2)),
    (Step::Committed, "warn", true, ("dispatching", 3)),
    (Step::TempWritten, "warn", true, ("dispatching", 3)),
    (Step::Renamed, "ok", false, ("dispatching", 3)),
];
const PLAN: &str = "started:1 planning:2 dispatching:3";

#[test]
fn a_process_that_dies_at_any_step_of_a_write_loses_nothing_and_is_recovered() {
    let scene = Scene::new();
    for (step, verdict, restores, (status, n)) in WRITE {
        let name = format!("write-{}", step.number());
        let (_, acknowledged) = heard(&scene.child("write", &name, PLAN, dies_at(step, 3)).cut());
        assert_eq!(acknowledged.len(), 2);
        scene.check_journal(&name, &acknowledged);
        assert_eq!(scene.verdict(&name).0, verdict, "{name}");
        let outcome = scene.recover(&name);
        assert_eq!(outcome.ending, Ending::Recovered);
        assert_eq!(words(&outcome).contains(&"restore"), restores, "{name}");
        scene.check_journal(&name, &acknowledged);
        check_receipt(&scene.check_ended(&name), status, n);
    }
}

#[test]
fn a_process_that_dies_at_any_step_of_its_first_write_is_recovered() {
    let scene = Scene::new();
    for step in [Step::BeforeCommit, Step::Committed, Step::TempWritten, Step::Renamed] {
        let name = format!("first-{}", step.number());
        let (_, acknowledged) = heard(&scene.child("write", &name, PLAN, dies_at(step, 1)).cut());
        assert!(acknowledged.is_empty());
        let verdict = match step {
            Step::BeforeCommit => "omitted",
            Step::Renamed => "ok",
            _ => "warn",
        };
        assert_eq!(scene.verdict(&name).0, verdict, "{name}");
        scene.recover(&name);
        let end = json::parse_object(&fs::read(scene.run_json(&name)).unwrap()).unwrap();
        let prior = if step == Step::BeforeCommit { "artifact-unavailable" } else { "started" };
        assert_eq!(said(&end, &["failure", "prior_status"]), Some(prior));
        scene.check_ended(&name);
    }
}

#[test]
fn whoever_has_the_token_writes_on_after_a_death_at_any_step_of_a_write() {
    let scene = Scene::new();
    for (step, ..) in WRITE {
        for same in [true, false] {
            let name = format!("on-{}-{same}", step.number());
            let (token, acknowledged) = heard(&scene.child("write", &name, PLAN, dies_at(step, 3)).cut());
            let credentials = Credentials { token, owner_pid: None };
            // The very write that died, or another one.
            let payload = if same { snapshot("dispatching", 3) } else { snapshot("handoff", 4) };
            let written = run::write(&scene.store, &id(&name), payload.as_bytes(), &credentials).unwrap();
            // Where run.json holds the bytes already, the same ones are a write of their own.
            let unexported = matches!(step, Step::Committed | Step::TempWritten);
            assert_eq!(written.replayed, same && unexported, "{name}");
            assert_eq!(Digest::of(&fs::read(scene.run_json(&name)).unwrap()), written.sha256);
            scene.check_journal(&name, &[acknowledged, vec![written.sha256]].concat());
            run::finish(&scene.store, &id(&name), None, &credentials).unwrap();
            scene.check_ended(&name);
        }
    }
}

#[test]
fn a_process_that_dies_at_any_step_of_a_finish_has_ended_its_run_or_not_begun_to() {
    let scene = Scene::new();
    // A finish is the third write, and then lets the lock go.
    for (step, occurrence, verdict, ended) in [
        (Step::BeforeCommit, 3, "ok", false),
        (Step::Committed, 3, "warn", true),
        (Step::TempWritten, 3, "warn", true),
        (Step::Renamed, 3, "ok", true),
        (Step::BeforeRelease, 1, "ok", true),
    ] {
        let name = format!("finish-{}", step.number());
        let plan = "started:1 planning:2 finish";
        let (_, acknowledged) = heard(&scene.child("write", &name, plan, dies_at(step, occurrence)).cut());
        assert_eq!(acknowledged.len(), 2);
        assert_eq!(scene.verdict(&name).0, verdict, "{name}");
        scene.recover(&name);
        scene.check_journal(&name, &acknowledged);
        let end = json::parse_object(&fs::read(scene.run_json(&name)).unwrap()).unwrap();
        if ended {
            assert_eq!(said(&end, &["status"]), Some("ok"), "{name}");
        } else {
            check_receipt(&end, "planning", 2);
        }
        let receipts = format!("SELECT count(*) FROM recoveries WHERE run_id = '{name}'");
        assert_eq!(scene.count(&receipts), i64::from(!ended));
        scene.check_ended(&name);
    }
}

/// What the dead owner left as run.json.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Whole,
    Behind,
    Corrupt,
    Missing,
}

#[test]
fn a_recovery_that_dies_at_any_step_is_ended_by_the_next_one() {
    use Step::{Claimed, CorruptRenamed, ReceiptExported, ReceiptStored, Renamed, Restored, TempWritten};
    let scene = Scene::new();
    // The second export is that of the receipt, the first one the restoring.
    let all = [
        (Claimed, 1),
        (CorruptRenamed, 1),
        (TempWritten, 1),
        (Renamed, 1),
        (Restored, 1),
        (ReceiptStored, 1),
        (TempWritten, 2),
        (Renamed, 2),
        (ReceiptExported, 1),
    ];
    for left in [Left::Whole, Left::Behind, Left::Corrupt, Left::Missing] {
        for (step, occurrence) in all {
            let reached = match left {
                Left::Corrupt => true,
                Left::Whole => !matches!((step, occurrence), (CorruptRenamed | Restored, _) | (_, 2)),
                Left::Behind | Left::Missing => step != CorruptRenamed,
            };
            if !reached {
                continue;
            }
            let name = format!("recover-{left:?}-{}-{occurrence}", step.number());
            let cut = if left == Left::Behind { Step::Committed } else { Step::Renamed };
            let (_, acknowledged) = heard(&scene.child("write", &name, PLAN, dies_at(cut, 3)).cut());
            match left {
                Left::Corrupt => fs::write(scene.run_json(&name), "{").unwrap(),
                Left::Missing => fs::remove_file(scene.run_json(&name)).unwrap(),
                Left::Whole | Left::Behind => {}
            }
            scene.recoverer(&name, dies_at(step, occurrence)).cut();
            let stored = format!("SELECT count(*) FROM recoveries WHERE run_id = '{name}'");
            let receipts = scene.count(&stored);
            assert_eq!(scene.count(&format!("SELECT count(*) FROM locks WHERE run_id = '{name}'")), 1);

            let outcome = scene.recover(&name);
            let made = words(&outcome).contains(&"store-receipt");
            assert_eq!((made, scene.count(&stored)), (receipts == 0, 1), "{name}");
            scene.check_journal(&name, &acknowledged);
            check_receipt(&scene.check_ended(&name), "dispatching", 3);
            let kept = fs::read_dir(scene.workspace(&name).join("run")).unwrap();
            let kept = kept
                .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("corrupt"));
            assert_eq!(kept.count(), usize::from(left == Left::Corrupt), "{name}");
        }
    }
}

#[test]
fn a_recovery_without_a_journal_that_dies_at_any_step_is_ended_by_the_next_one() {
    use Step::{BeforeCommit, Claimed, CorruptRenamed, ReceiptExported, Renamed, TempWritten};
    let scene = Scene::new();
    for step in [Claimed, CorruptRenamed, TempWritten, Renamed, ReceiptExported] {
        let name = format!("legacy-{}", step.number());
        // It dies before anything is journaled; somebody else leaves bytes that are no object.
        scene.child("write", &name, PLAN, dies_at(BeforeCommit, 1)).cut();
        fs::write(scene.run_json(&name), "{").unwrap();
        scene.recoverer(&name, dies_at(step, 1)).cut();
        scene.recover(&name);
        let end = scene.check_ended(&name);
        let kept = said(&end, &["recovery_preserved_artifact"]).unwrap().to_owned();
        assert!(kept.starts_with('/'), "{kept}");
        assert_eq!(fs::read_to_string(kept).unwrap(), "{");
    }
}
