//! Recovery of runs without a journal, of runs whose directory is gone, and of runs that were moved.

use std::fs;

use legbook::error::{Error, RecoveryError, RunError};
use legbook::json;
use legbook::recovery::Options;
use legbook::run;
use legbook::step::Step;

use crate::recovery_bench::{Bench, owner, said, snapshot, words};

#[test]
fn a_run_without_a_journal_is_ended_the_legacy_way() {
    let legacy = r#"{"status": "dispatching", "n": 4, "worker": "w"}"#;
    let with = |prepare: &dyn Fn(&Bench), steps: &[&str]| {
        let bench = Bench::new();
        bench.write(legacy).unwrap();
        bench.die();
        prepare(&bench);
        let planned = bench.dry_run().unwrap();
        let outcome = bench.recover().unwrap();
        assert_eq!(words(&outcome), steps);
        assert_eq!(words(&planned), steps);
        assert_eq!(outcome.status.as_deref(), Some("failed"));
        let end = bench.snapshot();
        assert_eq!(said(&end, &["failure", "lock_workspace"]), None);
        assert_eq!((bench.locks(), bench.receipts(), bench.events().len()), (0, 1, 0));
        let row = run::get(&bench.store, &bench.run_id).unwrap();
        assert_eq!(row.status.as_deref(), Some("failed"));
        bench.check_no_op();
        (end, bench)
    };
    let (end, _) = with(&|_| {}, &["claim", "export-receipt", "store-receipt", "remove-lock"]);
    assert_eq!(said(&end, &["failure", "prior_status"]), Some("dispatching"));
    assert_eq!(said(&end, &["failure", "seat"]), Some("w"));

    let missing = |bench: &Bench| fs::remove_file(bench.run_json()).unwrap();
    let (end, bench) = with(&missing, &["claim", "export-receipt", "store-receipt", "remove-lock"]);
    assert_eq!(said(&end, &["failure", "prior_status"]), Some("artifact-unavailable"));
    assert_eq!(said(&end, &["schema"]), Some("brigade.run.v1"));
    assert_eq!(said(&end, &["artifacts"]), bench.run_dir().canonicalize().unwrap().to_str());
    assert_eq!(said(&end, &["recovery_preserved_artifact"]), None);

    let corrupt = |bench: &Bench| fs::write(bench.run_json(), "[]").unwrap();
    let kept_steps = ["claim", "keep-file", "export-receipt", "store-receipt", "remove-lock"];
    let (end, bench) = with(&corrupt, &kept_steps);
    let kept = bench.kept("run.json.corrupt-");
    let kept_path = |bench: &Bench, name: &str| bench.run_dir().canonicalize().unwrap().join(name);
    assert_eq!(said(&end, &["recovery_preserved_artifact"]), kept_path(&bench, &kept[0]).to_str());

    // A recovery that died after the renaming: the receipt names the file all the same.
    let died = |bench: &Bench| {
        corrupt(bench);
        bench.recover_cut_at(Step::CorruptRenamed);
    };
    let (end, bench) = with(&died, &["claim", "export-receipt", "store-receipt", "remove-lock"]);
    let kept = bench.kept("run.json.corrupt-");
    assert_eq!(said(&end, &["recovery_preserved_artifact"]), kept_path(&bench, &kept[0]).to_str());
}

#[test]
fn a_run_without_a_journal_whose_recovery_died_at_the_end_is_ended_as_it_was_left() {
    let bench = Bench::new();
    bench.write(r#"{"status": "dispatching"}"#).unwrap();
    bench.die();
    bench.recover_cut_at(Step::ReceiptExported);
    let receipt = bench.on_disk();
    bench.clock.advance(60);
    assert_eq!(words(&bench.recover().unwrap()), ["remove-lock"]);
    assert_eq!(bench.on_disk(), receipt);
    assert_eq!(run::get(&bench.store, &bench.run_id).unwrap().status.as_deref(), Some("failed"));
    bench.check_no_op();
}

#[test]
fn a_run_directory_that_is_gone_is_made_anew() {
    let bench = Bench::stale();
    fs::remove_dir_all(bench.run_dir()).unwrap();
    let outcome = bench.recover().unwrap();
    assert!(words(&outcome).contains(&"make-directory"));
    bench.check_recovered("planning", 2);
}

#[test]
fn a_moved_workspace_is_recovered_where_it_is_now() {
    for ended in [false, true] {
        let bench = Bench::new();
        bench.write(&snapshot("planning", 2)).unwrap();
        if ended {
            run::finish(&bench.store, &bench.run_id, None, &bench.credentials).unwrap();
        }
        bench.die();
        let (old, new) = (bench.folder.path().join("workspace"), bench.folder.path().join("moved"));
        fs::rename(&old, &new).unwrap();
        let refusal = bench.recover().unwrap_err();
        assert!(matches!(refusal, Error::Recovery(RecoveryError::DirectoryGone { .. })), "{refusal}");
        assert!(!old.exists(), "no second directory is made");

        let options = Options { run_dir: Some(new.join("run")), ..Options::default() };
        let before = bench.picture();
        let planned = bench.recover_with(&Options { dry_run: true, ..options.clone() }).unwrap();
        assert!(bench.picture() == before);
        let outcome = bench.recover_with(&options).unwrap();
        assert_eq!(words(&planned), words(&outcome));
        assert!(words(&outcome).contains(&"relocate"));
        let end = json::parse_object(&fs::read(new.join("run/run.json")).unwrap()).unwrap();
        assert_eq!(said(&end, &["status"]), Some(if ended { "ok" } else { "failed" }));
        // The store knows where it is from now on.
        assert_eq!(words(&bench.recover().unwrap()), Vec::<&str>::new());
        assert_eq!((bench.locks(), old.exists()), (0, false));
    }
}

#[test]
fn the_directory_of_another_run_and_one_that_is_not_there_are_refused() {
    let bench = Bench::stale();
    let other = legbook::id::RunId::parse("other").unwrap();
    let dir = bench.folder.path().join("other");
    fs::create_dir(bench.folder.path().join("elsewhere")).unwrap();
    bench.processes.raise(owner());
    run::register(&bench.store, &other, &dir, &bench.folder.path().join("elsewhere"), owner()).unwrap();
    bench.die();
    let with = |path| {
        let options = Options { run_dir: Some(bench.folder.path().join(path)), ..Options::default() };
        bench.recover_with(&options).unwrap_err()
    };
    assert!(matches!(with("other"), Error::Run(RunError::DirectoryTaken { .. })));
    assert!(matches!(with("nowhere"), Error::Io { action: "resolve", .. }));
    assert!(matches!(with("store.db"), Error::Run(RunError::DirectoryTaken { .. })));
    assert_eq!((bench.receipts(), bench.locks()), (0, 2));
}
