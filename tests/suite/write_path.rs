//! The write path: what one write journals, what it exports, and what it refuses before anything changes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::error::{CheckpointError, Error, JournalError, LockError, RunError, StoreError};
use legbook::event::Event;
use legbook::id::RunId;
use legbook::json::Value;
use legbook::lock::OwnerToken;
use legbook::run::{self, Credentials, Written};
use legbook::step::Step;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fakes::{CutAt, SetClock, cut_short, list, store_in, text, vectors};
use crate::support;

/// A store with one registered run, whose lock the test's own process holds.
pub(crate) struct Bench {
    folder: TempDir,
    cut: Arc<CutAt>,
    clock: Arc<SetClock>,
    pub(crate) store: Store,
    pub(crate) run_id: RunId,
    credentials: Credentials,
}

impl Bench {
    fn new(run_id: &str, now: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (cut, clock) = (Arc::new(CutAt::default()), SetClock::at(now));
        let options = StoreOptions { clock: clock.clone(), observer: cut.clone(), ..StoreOptions::default() };
        let store = store_in(folder.path(), options);
        let run_id = RunId::parse(run_id).unwrap();
        let run_dir = folder.path().join("run");
        let token = run::register(&store, &run_id, &run_dir, folder.path(), std::process::id()).unwrap();
        let credentials = Credentials { token: Some(token), owner_pid: None };
        Self { folder, cut, clock, store, run_id, credentials }
    }

    fn run_json(&self) -> PathBuf {
        self.folder.path().join("run/run.json")
    }

    fn write(&self, payload: &str) -> legbook::Result<Written> {
        run::write(&self.store, &self.run_id, payload.as_bytes(), &self.credentials)
    }

    fn events(&self) -> Vec<Event> {
        run::events(&self.store, &self.run_id, 0, usize::MAX).unwrap()
    }

    fn plain(&self) -> Connection {
        Connection::open(self.store.path()).unwrap()
    }
}

const NOW: &str = "2026-03-04T05:06:07.000008Z";

fn snapshot(status: &str, n: u32) -> String {
    format!(r#"{{"status": "{status}", "n": {n}, "lifecycle_journal_requested": true}}"#)
}

#[test]
fn every_journal_of_the_vectors_is_written_to_the_byte() {
    for vector in vectors("journals.jsonl") {
        let bench = replay(&vector);
        let run_id = text(&vector, "run_id");
        let lines: Vec<_> = bench.events().iter().map(|event| event.line().to_owned()).collect();
        let expected: Vec<_> = list(&vector, "lines").iter().map(|line| line.as_str().unwrap()).collect();
        assert_eq!(lines, expected, "the journal of {run_id}");
        let on_disk = fs::read_to_string(bench.run_json()).ok();
        assert_eq!(
            on_disk.as_deref(),
            vector.get("snapshot").and_then(Value::as_str),
            "run.json of {run_id}"
        );
        let plain = bench.plain();
        let mut statement = plain.prepare("SELECT sha256 FROM checkpoints ORDER BY sha256").unwrap();
        let digests: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> =
            list(&vector, "checkpoints").iter().map(|digest| digest.as_str().unwrap()).collect();
        assert_eq!(digests, expected, "the checkpoints of {run_id}");
    }
}

/// A store in which the writes of a journal's vector were made.
pub(crate) fn replay(vector: &Value) -> Bench {
    let bench = Bench::new(text(vector, "run_id"), text(vector, "recorded_at"));
    for write in list(vector, "writes") {
        if let Some(receipt) = write.get("receipt") {
            keep_receipt(&bench, receipt.as_str().unwrap());
        } else if write.get("exported") == Some(&Value::Bool(true)) {
            bench.write(text(write, "payload")).unwrap();
        } else {
            bench.cut.next(Some(Step::Committed));
            cut_short(|| bench.write(text(write, "payload")));
            bench.cut.next(None);
        }
    }
    bench
}

/// What a recovery leaves: the receipt in the store and in run.json.
fn keep_receipt(bench: &Bench, receipt: &str) {
    support::keep_receipt(&bench.plain(), bench.run_id.as_str(), receipt.as_bytes());
    fs::write(bench.run_json(), receipt).unwrap();
}

#[test]
fn run_json_is_private_and_no_temp_file_is_left() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    assert_eq!(fs::metadata(bench.run_json()).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(bench.run_json().parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    let left: Vec<_> = fs::read_dir(bench.folder.path().join("run"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().ends_with(".tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_write_that_was_never_exported_is_followed_by_a_different_one() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    bench.cut.next(Some(Step::Committed));
    cut_short(|| bench.write(&snapshot("planning", 2)));
    bench.cut.next(None);
    assert!(fs::read_to_string(bench.run_json()).unwrap().contains("\"started\""));
    let written = bench.write(&snapshot("dispatching", 3)).unwrap();
    assert_eq!(written.sequence, Some(5));
    let types: Vec<_> = bench.events().iter().map(|event| event.event_type()).collect();
    assert_eq!(types.last(), Some(&"run.dispatch.requested"));
    assert_eq!(types.len(), 6);
    assert!(fs::read_to_string(bench.run_json()).unwrap().contains("\"n\": 3"));
}

#[test]
fn a_retry_of_a_commit_that_was_never_exported_appends_nothing_and_exports() {
    let bench = Bench::new("r", NOW);
    bench.cut.next(Some(Step::Committed));
    cut_short(|| bench.write(&snapshot("started", 1)));
    bench.cut.next(None);
    assert!(!bench.run_json().exists());
    let written = bench.write(&snapshot("started", 1)).unwrap();
    assert!(written.replayed);
    assert_eq!(written.sequence, Some(1));
    assert_eq!(bench.events().len(), 2);
    assert!(bench.run_json().exists());
}

#[test]
fn the_same_bytes_three_times_in_a_row_and_again_later_keep_the_journal_covered() {
    let bench = Bench::new("r", NOW);
    let first = snapshot("started", 1);
    let sequences: Vec<_> =
        (0..3).map(|_| bench.write(&first).unwrap()).map(|w| (w.sequence, w.replayed)).collect();
    assert_eq!(sequences, [(Some(1), false), (Some(3), false), (Some(3), true)]);
    bench.write(&snapshot("planning", 2)).unwrap();
    let again = bench.write(&first).unwrap();
    assert_eq!((again.sequence, again.replayed), (Some(6), false));
    let keys: Vec<_> = bench.events().iter().map(|event| event.idempotency_key().to_owned()).collect();
    assert!(keys[5].ends_with(":run.created:6"), "{keys:?}");
    let newest = bench.events();
    assert_eq!(newest.last().unwrap().event_type(), "run.created");
}

#[test]
fn a_cut_before_the_commit_leaves_nothing_of_the_write() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    let before = fs::read(bench.run_json()).unwrap();
    bench.cut.next(Some(Step::BeforeCommit));
    cut_short(|| bench.write(&snapshot("planning", 2)));
    bench.cut.next(None);
    assert_eq!(bench.events().len(), 2);
    assert_eq!(fs::read(bench.run_json()).unwrap(), before);
    assert_eq!(bench.write(&snapshot("planning", 2)).unwrap().sequence, Some(3));
}

#[test]
fn a_journaled_run_takes_no_write_without_its_token() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    let refuse = |token: Option<OwnerToken>| {
        let credentials = Credentials { token, owner_pid: None };
        run::write(&bench.store, &bench.run_id, snapshot("planning", 2).as_bytes(), &credentials).unwrap_err()
    };
    assert!(matches!(refuse(None), Error::Lock(LockError::NoToken { .. })));
    let forged = OwnerToken::parse(&"ab".repeat(32)).unwrap();
    assert!(matches!(refuse(Some(forged)), Error::Lock(LockError::UnknownToken { .. })));
    run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap();
    assert!(matches!(refuse(None), Error::Run(RunError::NotOwner(_))));
    assert!(matches!(refuse(bench.credentials.token.clone()), Error::Lock(LockError::NotLocked { .. })));
    assert_eq!(bench.events().len(), 4);
}

#[test]
fn a_run_that_never_asked_for_a_journal_is_written_as_the_legacy_programs_do() {
    let bench = Bench::new("r", NOW);
    let written = bench.write(r#"{"status": "started", "z": [], "a": NaN}"#).unwrap();
    assert_eq!(written.sequence, None);
    assert_eq!(
        fs::read_to_string(bench.run_json()).unwrap(),
        "{\n  \"a\": NaN,\n  \"status\": \"started\",\n  \"z\": []\n}\n"
    );
    // Asking later does not activate it: run.json, which is there, does not ask.
    assert_eq!(bench.write(&snapshot("planning", 1)).unwrap().sequence, None);
    // Now it does.
    assert_eq!(bench.write(&snapshot("planning", 2)).unwrap().sequence, Some(1));
}

#[test]
fn a_hand_edited_run_json_is_never_the_prior_snapshot() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    fs::write(bench.run_json(), r#"{"status": "planning"}"#).unwrap();
    let written = bench.write(&snapshot("planning", 2)).unwrap();
    assert_eq!(bench.events().last().unwrap().event_type(), "run.planning.started");
    assert_eq!(Digest::of(&fs::read(bench.run_json()).unwrap()), written.sha256);
}

#[test]
fn a_payload_that_is_no_object_changes_nothing() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    let before = fs::read(bench.run_json()).unwrap();
    for payload in ["[]", "{", "", "{\"a\": 1} x", "\u{feff}{}", "null"] {
        assert!(matches!(bench.write(payload).unwrap_err(), Error::Json(_)), "{payload:?}");
    }
    assert_eq!(bench.events().len(), 2);
    assert_eq!(fs::read(bench.run_json()).unwrap(), before);
}

#[test]
fn a_snapshot_at_the_bound_is_taken_and_one_byte_more_is_refused() {
    let bench = Bench::new("r", NOW);
    let bound = 16 * 1024 * 1024;
    let frame = "{\n  \"lifecycle_journal_requested\": true,\n  \"x\": \"\"\n}\n".len();
    let fill = |size: usize| {
        format!(r#"{{"lifecycle_journal_requested": true, "x": "{}"}}"#, "y".repeat(size - frame))
    };
    let written = bench.write(&fill(bound)).unwrap();
    assert_eq!(fs::metadata(bench.run_json()).unwrap().len(), bound as u64);
    let error = bench.write(&fill(bound + 1)).unwrap_err();
    assert!(
        matches!(error, Error::Checkpoint(CheckpointError::TooLarge { size: 16_777_217, bound: 16_777_216 })),
        "{error}"
    );
    assert!(error.to_string().contains("max-checkpoint-bytes"));
    assert_eq!(written.sequence, Some(1));
    assert_eq!(bench.events().len(), 1);
}

#[test]
fn the_2049th_event_is_refused_and_a_run_can_still_end() {
    let bench = Bench::new("r", NOW);
    let mut n = 0;
    let refusal = loop {
        n += 1;
        let status = if n % 2 == 0 { "planning" } else { "dispatching" };
        match bench.write(&snapshot(status, n)) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(
        matches!(refusal, Error::Journal(JournalError::TooManyEvents { bound: 2048, reserved: true, .. })),
        "{refusal}"
    );
    assert!(refusal.to_string().contains("max-journal-events"));
    assert_eq!(bench.events().len(), 2046);
    let before = fs::read(bench.run_json()).unwrap();
    assert!(bench.write(&snapshot("synthesizing", 9)).is_err());
    assert_eq!(fs::read(bench.run_json()).unwrap(), before);
    bench.write(&snapshot("ok", 1)).unwrap();
    assert_eq!(bench.events().len(), 2048);
    let full = bench.write(&snapshot("failed", 1)).unwrap_err();
    assert!(matches!(full, Error::Journal(JournalError::TooManyEvents { reserved: false, .. })), "{full}");
    assert_eq!(bench.events().len(), 2048);
}

#[test]
fn a_blob_spoiled_under_its_digest_is_a_collision() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    bench.write(&snapshot("planning", 2)).unwrap();
    bench
        .plain()
        .execute_batch(
            "DROP TRIGGER checkpoints_update;
             UPDATE checkpoints SET body = zeroblob(byte_size) WHERE rowid = 1;",
        )
        .unwrap();
    let error = bench.write(&snapshot("started", 1)).unwrap_err();
    assert!(matches!(error, Error::Checkpoint(CheckpointError::CollisionMismatch { .. })), "{error}");
    assert!(error.to_string().starts_with("collision-mismatch"));
    assert_eq!(bench.events().len(), 4);
}

#[test]
fn an_export_that_fails_says_so_and_the_same_write_mends_it() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    let before = fs::read(bench.run_json()).unwrap();
    fs::remove_dir_all(bench.folder.path().join("run")).unwrap();
    fs::write(bench.folder.path().join("run"), "no directory").unwrap();
    let error = bench.write(&snapshot("planning", 2)).unwrap_err();
    assert!(matches!(error, Error::Run(RunError::Export { .. })), "{error}");
    // The journal has it: put the directory back, and the same write exports.
    fs::remove_file(bench.folder.path().join("run")).unwrap();
    fs::create_dir(bench.folder.path().join("run")).unwrap();
    fs::write(bench.run_json(), before).unwrap();
    assert!(bench.write(&snapshot("planning", 2)).unwrap().replayed);
}

#[test]
fn a_clock_that_jumps_back_breaks_no_chain() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    bench.clock.set("2025-01-01T00:00:00Z");
    bench.write(&snapshot("planning", 2)).unwrap();
    bench.clock.advance(-5);
    bench.write(&snapshot("ok", 3)).unwrap();
    assert_eq!(bench.events().len(), 6);
}

#[test]
fn a_finish_whose_answer_was_lost_may_be_asked_again() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    assert!(run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap().written.is_some());
    let before = fs::read(bench.run_json()).unwrap();
    assert_eq!(run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap().written, None);
    let failed = run::StatusChange { status: "failed".to_owned(), ..run::StatusChange::default() };
    let refusal = run::finish(&bench.store, &bench.run_id, Some(&failed), &bench.credentials).unwrap_err();
    assert!(matches!(refusal, Error::Run(RunError::Ended { locked: false, .. })), "{refusal}");
    assert_eq!(fs::read(bench.run_json()).unwrap(), before);
    assert_eq!(bench.events().len(), 4);
}

#[test]
fn a_finish_that_was_never_exported_is_exported_before_the_lock_goes() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    bench.cut.next(Some(Step::Committed));
    cut_short(|| run::finish(&bench.store, &bench.run_id, None, &bench.credentials));
    bench.cut.next(None);
    assert!(fs::read_to_string(bench.run_json()).unwrap().contains("\"started\""));
    run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap();
    assert!(fs::read_to_string(bench.run_json()).unwrap().contains("\"ok\""));
    assert_eq!(bench.events().len(), 4);
}

#[test]
fn a_row_that_a_foreign_trigger_swallows_is_not_acknowledged() {
    // Both events of the write, or the second of them alone.
    for when in ["1", "NEW.event_type <> 'run.snapshot.checkpointed'"] {
        let bench = Bench::new("r", NOW);
        bench.write(&snapshot("started", 1)).unwrap();
        let swallow = format!(
            "CREATE TRIGGER swallow BEFORE INSERT ON events WHEN {when} BEGIN SELECT RAISE(IGNORE); END"
        );
        bench.plain().execute_batch(&swallow).unwrap();
        let before = fs::read(bench.run_json()).unwrap();
        let error = bench.write(&snapshot("planning", 2)).unwrap_err();
        assert!(matches!(error, Error::Store(StoreError::Corrupt(_))), "{error}");
        assert_eq!(fs::read(bench.run_json()).unwrap(), before);
        assert_eq!(bench.events().len(), 2, "{when}");
    }
}

#[test]
fn a_spoiled_last_snapshot_is_neither_gone_on_from_nor_exported() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    bench
        .plain()
        .execute_batch(
            "DROP TRIGGER checkpoints_update;
             UPDATE checkpoints SET body = CAST(replace(CAST(body AS TEXT), '1', '7') AS BLOB);",
        )
        .unwrap();
    let change = run::StatusChange { status: "planning".to_owned(), ..run::StatusChange::default() };
    assert!(run::set_status(&bench.store, &bench.run_id, &change, &bench.credentials).is_err());
    let same = bench.write(&snapshot("started", 1)).unwrap_err();
    assert!(matches!(same, Error::Checkpoint(CheckpointError::CollisionMismatch { .. })), "{same}");
    assert_eq!(bench.events().len(), 2);
    // A whole new snapshot needs nothing of the spoiled one.
    bench.write(&snapshot("planning", 2)).unwrap();
    assert!(fs::read_to_string(bench.run_json()).unwrap().contains("\"n\": 2"));
}

#[test]
fn a_run_directory_that_leads_elsewhere_is_not_written_to() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    let (run_dir, victim) = (bench.folder.path().join("run"), bench.folder.path().join("victim"));
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("run.json"), "precious").unwrap();
    fs::rename(&run_dir, bench.folder.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(&victim, &run_dir).unwrap();
    let error = bench.write(&snapshot("planning", 2)).unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert_eq!(fs::read_to_string(victim.join("run.json")).unwrap(), "precious");
}

#[test]
fn what_is_no_file_in_the_place_of_run_json_is_named() {
    let bench = Bench::new("r", NOW);
    fs::create_dir(bench.run_json()).unwrap();
    let error = bench.write(&snapshot("started", 1)).unwrap_err();
    assert!(matches!(error, Error::Run(RunError::Obstacle { rule: "it is a directory", .. })), "{error}");
    assert!(bench.events().is_empty());
}

#[test]
fn a_store_that_lost_its_name_acknowledges_nothing() {
    let bench = Bench::new("r", NOW);
    bench.write(&snapshot("started", 1)).unwrap();
    fs::remove_file(bench.store.path()).unwrap();
    let error = bench.write(&snapshot("planning", 2)).unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Replaced { .. })), "{error}");
}
