//! A process that stands still between its commit and its export while others go on, and is continued then: run.json
//! is the store's last snapshot, whoever wrote it.

use std::fs;
use std::process::Command;

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::error::{Error, RunError};
use legbook::lock::OwnerToken;
use legbook::recovery::{self, Options};
use legbook::run::{self, Credentials};
use legbook::step::Step;
use nix::sys::signal::Signal;

use crate::crash::{Scene, id};
use crate::crash_child::{Crasher, Cut};
use crate::fakes::SetClock;
use crate::recovery_bench::{NOW, said, snapshot};

/// A run whose owner, a process of its own, is dead: what a run of short calls looks like after its agent died.
struct Orphan {
    scene: Scene,
    token: OwnerToken,
    owner_pid: u32,
}

impl Orphan {
    fn new() -> Self {
        let scene = Scene::new();
        let workspace = scene.workspace("r");
        let mut owner = Command::new("sleep").arg("1000").spawn().unwrap();
        let owner_pid = owner.id();
        let token =
            run::register(&scene.store, &id("r"), &workspace.join("run"), &workspace, owner_pid).unwrap();
        let orphan = Self { scene, token, owner_pid };
        orphan.write(&snapshot("started", 1));
        owner.kill().unwrap();
        owner.wait().unwrap();
        orphan
    }

    /// The dead owner stays on the lock, since no living process is named.
    fn credentials(&self) -> Credentials {
        Credentials { token: Some(self.token.clone()), owner_pid: Some(self.owner_pid) }
    }

    fn write(&self, payload: &str) -> Digest {
        run::write(&self.scene.store, &id("r"), payload.as_bytes(), &self.credentials()).unwrap().sha256
    }

    /// A call that stands still at `step` of its write.
    fn stopped_at(&self, step: Step, payload: &str) -> Crasher {
        let arguments = ["r", self.token.expose(), &self.owner_pid.to_string(), payload];
        let cut = Cut { at: Some((step, 1)), stop: true };
        let child = Crasher::start(self.scene.store.path(), "one", &arguments, cut);
        child.stopped();
        child
    }

    #[track_caller]
    fn check_current(&self) {
        assert_eq!(run::show(&self.scene.store, &id("r")).unwrap().run_json_current, Some(true));
    }

    fn on_disk(&self) -> Vec<u8> {
        fs::read(self.scene.run_json("r")).unwrap()
    }
}

#[test]
fn a_write_that_stood_still_after_its_commit_does_not_put_an_older_snapshot_back() {
    let orphan = Orphan::new();
    let child = orphan.stopped_at(Step::Committed, &snapshot("planning", 2));
    let newest = orphan.write(&snapshot("dispatching", 3));
    assert_eq!(Digest::of(&orphan.on_disk()), newest);
    child.signal(Signal::SIGCONT);
    let said = child.done();
    assert_eq!(said.len(), 1, "its write was acknowledged: {said:?}");
    assert_eq!(Digest::of(&orphan.on_disk()), newest);
    orphan.check_current();
    let first = Digest::parse(said[0].strip_prefix("ack ").unwrap()).unwrap();
    orphan.scene.check_journal("r", &[first, newest]);
}

#[test]
fn a_write_that_stood_still_after_its_commit_does_not_undo_a_recovery() {
    let orphan = Orphan::new();
    let child = orphan.stopped_at(Step::Committed, &snapshot("planning", 2));
    let outcome = orphan.scene.recover("r");
    assert_eq!(outcome.status.as_deref(), Some("failed"));
    let receipt = orphan.on_disk();
    let end = legbook::json::parse_object(&receipt).unwrap();
    assert_eq!(said(&end, &["failure", "prior_status"]), Some("planning"), "the commit counts");
    child.signal(Signal::SIGCONT);
    child.done();
    assert_eq!(orphan.on_disk(), receipt);
    orphan.check_current();
    orphan.scene.check_ended("r");
}

#[test]
fn a_write_that_stands_still_in_its_export_makes_recovery_give_its_claim_back() {
    let orphan = Orphan::new();
    let child = orphan.stopped_at(Step::TempWritten, &snapshot("planning", 2));
    // A clock whose seconds pass at once: the wait for the export lock is over soon.
    let options = StoreOptions { clock: SetClock::at(NOW), ..StoreOptions::default() };
    let store = Store::open(orphan.scene.store.path(), options).unwrap();
    let busy = recovery::recover(&store, &id("r"), &Options::default()).unwrap_err();
    assert!(matches!(busy, Error::Run(RunError::ExportBusy { .. })), "{busy}");
    assert_eq!(orphan.scene.count("SELECT count(*) FROM locks WHERE claim_id IS NULL"), 1);
    assert_eq!(orphan.scene.count("SELECT count(*) FROM recoveries"), 0);
    child.signal(Signal::SIGCONT);
    child.done();
    orphan.check_current();
    orphan.scene.recover("r");
    orphan.scene.check_ended("r");
}

#[test]
fn a_write_without_a_journal_that_stood_still_does_not_undo_a_recovery() {
    let scene = Scene::new();
    let workspace = scene.workspace("r");
    let mut owner = Command::new("sleep").arg("1000").spawn().unwrap();
    let owner_pid = owner.id();
    let token = run::register(&scene.store, &id("r"), &workspace.join("run"), &workspace, owner_pid).unwrap();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let arguments = ["r", token.expose(), &owner_pid.to_string(), r#"{"status": "planning"}"#];
    let cut = Cut { at: Some((Step::Committed, 1)), stop: true };
    let child = Crasher::start(scene.store.path(), "one", &arguments, cut);
    child.stopped();
    scene.recover("r");
    let receipt = fs::read(scene.run_json("r")).unwrap();
    child.signal(Signal::SIGCONT);
    let said = child.done();
    assert!(said[0].starts_with("refused "), "its lock is gone: {said:?}");
    assert_eq!(fs::read(scene.run_json("r")).unwrap(), receipt);
}
