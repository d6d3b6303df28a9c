//! Recovery: each case of the contract, what it restores, and what it refuses with everything left as it was.

use std::fs;
use std::sync::Arc;

use legbook::db::{Store, StoreOptions};
use legbook::error::{Error, LockError, RecoveryError, RunError};
use legbook::event::{Event, EventInput};
use legbook::receipt;
use legbook::recovery::{self, Ending, Options};
use legbook::run::{self, StartRequest};
use legbook::step::{Observer, Step};

use crate::fakes::cut_short;
use crate::recovery_bench::{Bench, owner, said, snapshot, words};

const RECOVERED_AT: &str = "2026-03-04T05:06:07.000008+00:00";

#[test]
fn a_missing_run_json_is_restored_from_the_checkpoint_and_ends_as_its_receipt() {
    let bench = Bench::stale();
    let checkpoint = bench.snapshot();
    fs::remove_file(bench.run_json()).unwrap();
    let events = bench.events().len();
    let outcome = bench.recover().unwrap();
    assert_eq!(
        words(&outcome),
        ["claim", "validate", "restore", "store-receipt", "export-receipt", "remove-lock"]
    );
    assert_eq!(outcome.ending, Ending::Recovered);
    assert_eq!(outcome.status.as_deref(), Some("failed"));
    assert_eq!(bench.events().len(), events, "recovery appends no event");
    bench.check_recovered("planning", 2);
    let end = bench.snapshot();
    assert!(receipt::matches_receipt(&checkpoint, &end), "doctor can make the receipt again");
    assert_eq!(said(&end, &["failure", "recovered_at"]), Some(RECOVERED_AT));
    let workspace = bench.folder.path().join("workspace").canonicalize().unwrap();
    assert_eq!(said(&end, &["failure", "lock_workspace"]), workspace.to_str());
    assert!(said(&end, &["failure", "lock_acquired_at"]).is_some());
    assert_eq!(said(&end, &["error"]).unwrap(), format!("run owner process {} is no longer active", owner()));
}

#[test]
fn an_unparseable_run_json_is_kept_under_another_name_and_restored() {
    for corrupt in ["{\"status\": \"plan", "", "[1, 2]", "null", "\u{feff}{}"] {
        let bench = Bench::stale();
        fs::write(bench.run_json(), corrupt).unwrap();
        let outcome = bench.recover().unwrap();
        assert_eq!(
            words(&outcome),
            ["claim", "validate", "keep-file", "restore", "store-receipt", "export-receipt", "remove-lock"]
        );
        let kept = bench.kept("run.json.corrupt-");
        assert_eq!(kept.len(), 1, "{kept:?}");
        let hex = kept[0].strip_prefix("run.json.corrupt-").unwrap();
        assert!(hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()), "{hex}");
        assert_eq!(fs::read_to_string(bench.run_dir().join(&kept[0])).unwrap(), corrupt);
        assert_eq!(said(&bench.snapshot(), &["recovery_preserved_artifact"]), None);
        bench.check_recovered("planning", 2);
    }
}

#[test]
fn an_older_snapshot_is_brought_up_to_a_commit_that_was_never_exported() {
    for step in [Step::Committed, Step::TempWritten] {
        let bench = Bench::new();
        bench.write(&snapshot("started", 1)).unwrap();
        bench.write_cut_at(step, &snapshot("dispatching", 7));
        bench.die();
        assert!(bench.on_disk().contains("\"started\""));
        let outcome = bench.recover().unwrap();
        assert!(words(&outcome).contains(&"restore"));
        bench.check_recovered("dispatching", 7);
    }
}

#[test]
fn bytes_that_came_back_are_the_last_snapshot_and_not_an_older_one() {
    let bench = Bench::new();
    for (status, n) in [("started", 1), ("planning", 2), ("started", 1)] {
        bench.write(&snapshot(status, n)).unwrap();
    }
    bench.die();
    let outcome = bench.recover().unwrap();
    assert!(!words(&outcome).contains(&"restore"));
    bench.check_recovered("started", 1);
}

#[test]
fn a_readable_run_json_of_somebody_else_is_left_and_the_receipt_is_made_of_it() {
    let bench = Bench::stale();
    fs::write(bench.run_json(), r#"{"status": "dispatching", "n": 99, "active_seats": ["s"]}"#).unwrap();
    let outcome = bench.recover().unwrap();
    assert!(!words(&outcome).contains(&"restore"));
    bench.check_recovered("dispatching", 99);
    assert_eq!(said(&bench.snapshot(), &["failure", "seat"]), Some("s"));
}

#[test]
fn an_ended_run_is_left_and_only_its_dead_lock_goes() {
    for journaled in [true, false] {
        let bench = Bench::new();
        let text = snapshot("started", 1);
        let text = if journaled { text } else { text.replace("true", "false") };
        bench.write(&text).unwrap();
        bench.cut.next(Some(Step::BeforeRelease));
        cut_short(|| run::finish(&bench.store, &bench.run_id, None, &bench.credentials));
        bench.cut.next(None);
        let before = bench.on_disk();

        // While the owner lives the lock is its to let go.
        let outcome = bench.recover().unwrap();
        assert_eq!((outcome.ending, words(&outcome), bench.locks()), (Ending::AlreadyTerminal, vec![], 1));
        bench.die();
        let outcome = bench.recover().unwrap();
        let run_dir = bench.run_dir().canonicalize().unwrap();
        assert_eq!(outcome.to_string(), format!("already terminal: {} [ok]", run_dir.display()));
        assert_eq!((words(&outcome), bench.locks()), (vec!["remove-lock"], 0));
        assert_eq!(bench.on_disk(), before);
        bench.check_no_op();
    }
}

#[test]
fn a_run_that_its_journal_ended_gets_no_receipt_from_an_edited_run_json() {
    let bench = Bench::new();
    bench.write(&snapshot("started", 1)).unwrap();
    bench.cut.next(Some(Step::BeforeRelease));
    cut_short(|| run::finish(&bench.store, &bench.run_id, None, &bench.credentials));
    bench.cut.next(None);
    let ended = bench.on_disk();
    bench.die();
    fs::write(bench.run_json(), r#"{"status": "dispatching", "n": 99}"#).unwrap();
    let outcome = bench.recover().unwrap();
    assert_eq!(words(&outcome), ["claim", "validate", "keep-file", "restore", "remove-lock"]);
    assert_eq!((bench.receipts(), bench.locks()), (0, 0));
    assert_eq!(bench.on_disk(), ended);
    assert_eq!(bench.kept("run.json.replaced-").len(), 1);
}

#[test]
fn a_finish_that_was_never_exported_is_exported_without_a_receipt() {
    for step in [Step::Committed, Step::TempWritten, Step::Renamed] {
        let bench = Bench::new();
        bench.write(&snapshot("started", 1)).unwrap();
        bench.cut.next(Some(step));
        cut_short(|| run::finish(&bench.store, &bench.run_id, None, &bench.credentials));
        bench.cut.next(None);
        bench.die();
        let outcome = bench.recover().unwrap();
        assert_eq!(outcome.status.as_deref(), Some("ok"));
        assert_eq!(said(&bench.snapshot(), &["status"]), Some("ok"));
        assert_eq!((bench.receipts(), bench.locks()), (0, 0));
        bench.check_no_op();
    }
}

#[test]
fn an_ended_run_json_that_a_resumption_has_overtaken_does_not_end_the_run() {
    let bench = Bench::new();
    bench.write(&snapshot("started", 1)).unwrap();
    run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap();
    bench.cut.next(Some(Step::Committed));
    cut_short(|| run::start(&bench.store, &resume(&bench)));
    bench.cut.next(None);
    assert!(bench.on_disk().contains("\"ok\""));

    let live = bench.refused();
    assert!(matches!(live, Error::Recovery(RecoveryError::StillActive { .. })), "{live}");
    bench.die();
    bench.recover().unwrap();
    bench.check_recovered("started", 1);
}

fn resume(bench: &Bench) -> StartRequest {
    StartRequest {
        run_id: bench.run_id.clone(),
        task: String::new(),
        cwd: bench.folder.path().join("workspace"),
        run_dir: None,
        owner_pid: owner(),
        lease: None,
        token: None,
        workspace: None,
        journal: true,
        resume: true,
        wait: std::time::Duration::ZERO,
    }
}

#[test]
fn a_recovered_run_can_be_taken_up_again_and_recovered_again() {
    let bench = Bench::stale();
    bench.recover().unwrap();
    bench.processes.raise(owner());
    let started = run::start(&bench.store, &resume(&bench)).unwrap();
    let credentials = run::Credentials { token: Some(started.token), owner_pid: Some(owner()) };
    run::write(&bench.store, &bench.run_id, snapshot("handoff", 5).as_bytes(), &credentials).unwrap();
    bench.die();
    bench.recover().unwrap();
    assert_eq!(said(&bench.snapshot(), &["failure", "prior_status"]), Some("handoff"));
    assert_eq!((bench.receipts(), bench.locks()), (2, 0));
    bench.check_no_op();
}

#[test]
fn an_ended_run_whose_run_json_is_gone_is_exported_again_whoever_holds_the_lock() {
    for corrupt in [None, Some("{")] {
        let bench = Bench::new();
        bench.write(&snapshot("started", 1)).unwrap();
        run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap();
        let before = bench.on_disk();
        let other = legbook::id::RunId::parse("other").unwrap();
        let (dir, cwd) = (bench.folder.path().join("workspace/other"), bench.folder.path().join("workspace"));
        run::register(&bench.store, &other, &dir, &cwd, owner()).unwrap();
        match corrupt {
            None => fs::remove_file(bench.run_json()).unwrap(),
            Some(bytes) => fs::write(bench.run_json(), bytes).unwrap(),
        }
        let planned = bench.dry_run().unwrap();
        let outcome = bench.recover().unwrap();
        assert_eq!(outcome.ending, Ending::AlreadyTerminal);
        assert_eq!(words(&planned), words(&outcome));
        assert!(outcome.to_string().starts_with("already terminal: "));
        assert_eq!(bench.on_disk(), before);
        assert_eq!(bench.kept("run.json.corrupt-").len(), usize::from(corrupt.is_some()));
        assert_eq!(bench.locks(), 1, "the other run's lock");
        bench.check_no_op();
    }
}

#[test]
fn a_live_owner_is_refused_and_so_is_one_that_may_live() {
    let bench = Bench::new();
    bench.write(&snapshot("started", 1)).unwrap();
    let refusal = bench.refused();
    assert!(matches!(refusal, Error::Recovery(RecoveryError::StillActive { .. })));
    assert!(refusal.to_string().starts_with("run owner process is still active"), "{refusal}");

    bench.processes.move_to("another machine");
    let refusal = bench.refused();
    assert!(refusal.to_string().contains("cannot be judged"), "{refusal}");
}

#[test]
fn the_own_process_is_a_live_owner_too() {
    let bench = Bench::new();
    bench.sql("DELETE FROM locks");
    let other = legbook::id::RunId::parse("own").unwrap();
    let (dir, cwd) = (bench.folder.path().join("own"), bench.folder.path().join("workspace"));
    run::register(&bench.store, &other, &dir, &cwd, std::process::id()).unwrap();
    let refusal = legbook::recovery::recover(&bench.store, &other, &Options::default()).unwrap_err();
    assert!(matches!(refusal, Error::Recovery(RecoveryError::StillActive { .. })), "{refusal}");
}

#[test]
fn the_operators_word_ends_an_owner_elsewhere_but_none_that_is_visible() {
    let options = Options { owner_is_dead: true, ..Options::default() };
    let bench = Bench::new();
    bench.write(&snapshot("started", 1)).unwrap();
    let visible = bench.recover_with(&options).unwrap_err();
    assert!(matches!(visible, Error::Recovery(RecoveryError::StillActive { .. })), "{visible}");
    bench.processes.move_to("another machine");
    let visible = bench.recover_with(&options).unwrap_err();
    assert!(matches!(visible, Error::Recovery(RecoveryError::StillActive { .. })), "{visible}");
    bench.die();
    assert!(bench.recover().is_err(), "without the word it counts as live");
    bench.recover_with(&options).unwrap();
    bench.check_recovered("started", 1);
}

#[test]
fn the_lock_of_another_dead_run_an_unreadable_one_and_none_are_refused() {
    let bench = Bench::stale();
    bench.sql(
        "INSERT INTO runs (run_id, created_at) VALUES ('other', 'now');
         DROP TRIGGER locks_update; UPDATE locks SET run_id = 'other'",
    );
    let refusal = bench.refused();
    assert!(matches!(refusal, Error::Recovery(RecoveryError::ForeignLock { .. })));
    assert!(refusal.to_string().starts_with("run lock belongs to a different run"), "{refusal}");

    bench.sql("UPDATE locks SET run_id = 'r', pid = 0");
    let refusal = bench.refused();
    assert!(refusal.to_string().starts_with("run lock is invalid"), "{refusal}");

    bench.sql("DELETE FROM locks");
    let refusal = bench.refused();
    assert!(matches!(refusal, Error::Recovery(RecoveryError::NoLock { journaled: true, .. })));
    assert!(refusal.to_string().starts_with("run lock not found for run"), "{refusal}");
}

#[test]
fn a_run_json_that_cannot_be_read_is_refused_as_such() {
    let bench = Bench::stale();
    fs::remove_file(bench.run_json()).unwrap();
    fs::create_dir(bench.run_json()).unwrap();
    assert!(matches!(bench.refused(), Error::Run(RunError::Obstacle { rule: "it is a directory", .. })));
    fs::remove_dir(bench.run_json()).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", bench.run_json()).unwrap();
    assert!(matches!(bench.refused(), Error::Run(RunError::Obstacle { rule: "it is a symbolic link", .. })));
}

#[test]
fn a_stored_receipt_is_exported_and_never_made_anew() {
    for corrupt in [false, true] {
        let bench = Bench::stale();
        bench.recover_cut_at(Step::ReceiptStored);
        assert_eq!((bench.receipts(), bench.locks()), (1, 1));
        bench.clock.advance(3600);
        if corrupt {
            fs::write(bench.run_json(), "{").unwrap();
        }
        let outcome = bench.recover().unwrap();
        assert!(!words(&outcome).contains(&"store-receipt"), "{outcome:?}");
        assert_eq!(said(&bench.snapshot(), &["failure", "recovered_at"]), Some(RECOVERED_AT));
        bench.check_recovered("planning", 2);
    }
}

#[test]
fn an_edited_run_json_is_kept_before_a_receipt_of_it_replaces_it() {
    let edited = |n| format!(r#"{{"status": "dispatching", "n": {n}}}"#);
    for later in [false, true] {
        let bench = Bench::stale();
        fs::write(bench.run_json(), edited(98)).unwrap();
        bench.recover_cut_at(Step::ReceiptStored);
        if later {
            fs::write(bench.run_json(), edited(99)).unwrap();
        }
        bench.recover().unwrap();
        let kept = bench.kept("run.json.replaced-");
        assert_eq!(kept.len(), 1);
        let found = fs::read_to_string(bench.run_dir().join(&kept[0])).unwrap();
        assert_eq!(found, edited(if later { 99 } else { 98 }));
        bench.check_recovered("dispatching", 98);
    }
}

#[test]
fn a_dead_recoverers_claim_is_taken_over_at_each_step_and_ends_the_same() {
    for step in
        [Step::Claimed, Step::CorruptRenamed, Step::Restored, Step::ReceiptStored, Step::ReceiptExported]
    {
        let bench = Bench::stale();
        fs::write(bench.run_json(), "{").unwrap();
        bench.recover_cut_at(step);
        assert_eq!(bench.locks(), 1);
        assert!(bench.write(&snapshot("dispatching", 3)).is_err(), "no write under a claim");
        bench.recover().unwrap();
        assert_eq!(bench.kept("run.json.corrupt-").len(), 1);
        bench.check_recovered("planning", 2);
    }
}

#[test]
fn beside_a_living_recovery_another_is_refused() {
    let bench = Bench::stale();
    bench.cut.next(Some(Step::Claimed));
    cut_short(|| bench.recover());
    bench.cut.next(None);
    // The claim is that of this very process, which lives.
    for dry_run in [true, false] {
        let refusal = bench.recover_with(&Options { dry_run, ..Options::default() }).unwrap_err();
        assert!(matches!(refusal, Error::Lock(LockError::Claimed { .. })), "{refusal}");
    }
    assert_eq!((bench.receipts(), bench.locks()), (0, 1));
}

#[test]
fn a_dry_run_lists_the_very_steps_and_changes_no_byte() {
    let with = |prepare: fn(&Bench)| {
        let bench = Bench::stale();
        prepare(&bench);
        let before = bench.picture();
        let planned = bench.dry_run().unwrap();
        assert!(bench.picture() == before, "a dry run changed something");
        assert!(planned.dry_run);
        let done = bench.recover().unwrap();
        assert_eq!(words(&planned), words(&done));
        assert_eq!((planned.ending, planned.status), (done.ending, done.status));
    };
    with(|_| {});
    with(|bench| fs::remove_file(bench.run_json()).unwrap());
    with(|bench| fs::write(bench.run_json(), "{").unwrap());
    with(|bench| fs::write(bench.run_json(), r#"{"status": "handoff"}"#).unwrap());
    with(|bench| fs::write(bench.run_json(), r#"{"status": "ok"}"#).unwrap());
    with(|bench| fs::remove_dir_all(bench.run_dir()).unwrap());
    with(|bench| bench.recover_cut_at(Step::ReceiptStored));
    with(|bench| bench.recover_cut_at(Step::ReceiptExported));
    with(|bench| {
        bench.recover().unwrap();
        fs::remove_file(bench.run_json()).unwrap();
    });
    with(|bench| {
        bench.recover_cut_at(Step::ReceiptExported);
        fs::remove_dir_all(bench.run_dir()).unwrap();
    });
}

#[test]
fn a_store_whose_triggers_are_gone_and_whose_views_lie_is_recovered_the_same() {
    let bench = Bench::stale();
    let plain = rusqlite::Connection::open(bench.store.path()).unwrap();
    let mut statement =
        plain.prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')").unwrap();
    let names: Vec<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert!(names.len() > 20);
    for (kind, name) in names {
        plain.execute_batch(&format!("DROP {kind} {name}")).unwrap();
        if kind == "view" {
            plain.execute_batch(&format!("CREATE VIEW {name} AS SELECT 1 AS run_id")).unwrap();
        }
    }
    bench.recover().unwrap();
    bench.check_recovered("planning", 2);
}

/// Runs SQL beside a recovery that has just restored run.json.
struct Meanwhile {
    path: std::path::PathBuf,
    sql: String,
}

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Meanwhile")
    }
}

impl Observer for Meanwhile {
    fn reached(&self, step: Step) {
        if step == Step::Restored {
            rusqlite::Connection::open(&self.path).unwrap().execute_batch(&self.sql).unwrap();
        }
    }
}

#[test]
fn a_claim_that_was_taken_over_and_a_journal_that_grew_meanwhile_get_no_receipt() {
    let line = |bench: &Bench| {
        let last = bench.events().pop().unwrap();
        let extra = Event::new(EventInput {
            run_id: "r",
            sequence: 5,
            event_type: "run.planning.completed",
            recorded_at: last.recorded_at(),
            idempotency_key: "extra",
            previous_digest: Some(last.event_digest()),
            payload: legbook::json::Object::default(),
        });
        extra.unwrap().line().to_owned()
    };
    for taken_over in [true, false] {
        let bench = Bench::stale();
        let sql = if taken_over {
            "UPDATE locks SET claim_id = 'another'".to_owned()
        } else {
            let line = line(&bench);
            format!(
                "INSERT INTO events (line, journal_bytes)
                 SELECT '{line}', max(journal_bytes) + {} FROM events",
                line.len() + 1
            )
        };
        fs::remove_file(bench.run_json()).unwrap();
        let observer = Arc::new(Meanwhile { path: bench.store.path().to_path_buf(), sql });
        let processes = bench.processes.clone();
        let options = StoreOptions { observer, processes, ..StoreOptions::default() };
        let store = Store::open(bench.store.path(), options).unwrap();
        let refusal = recovery::recover(&store, &bench.run_id, &Options::default()).unwrap_err();
        let Error::Recovery(refusal) = refusal else { panic!("{refusal}") };
        if taken_over {
            assert!(matches!(refusal, RecoveryError::ClaimLost { .. }), "{refusal}");
        } else {
            assert!(matches!(refusal, RecoveryError::JournalMoved { .. }), "{refusal}");
        }
        assert_eq!(bench.receipts(), 0);
        let claimed = "SELECT count(*) FROM locks WHERE claim_id = 'another'";
        assert_eq!((bench.locks(), bench.count(claimed)), (1, i64::from(taken_over)));
        assert!(bench.on_disk().contains("\"planning\""), "what was restored is the checkpoint");
    }
}
