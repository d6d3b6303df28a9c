//! Importing many legacy run directories, many of them in one transaction.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use legbook::db::StoreOptions;
use legbook::digest::Digest;
use legbook::event;
use legbook::legacy::{self, Imported, Outcome};
use legbook::step::{Observer, Step};
use rusqlite::Connection;

use crate::crash_child::{Crasher, Cut};
use crate::fakes::SetClock;
use crate::legacy_trees::{Home, LegacyRun, write_files};
use crate::support::Workspace;

/// How many directories share a transaction.
const SHARED: usize = 128;

/// Counts transactions that are about to be committed.
#[derive(Debug, Default)]
struct Commits(AtomicUsize);

impl Observer for Commits {
    fn reached(&self, step: Step) {
        if step == Step::BeforeCommit {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A store whose clock stands: what two of them took of the same directories is the same.
fn home() -> Home {
    Home::with(StoreOptions { clock: SetClock::at("2026-03-04T05:06:07Z"), ..StoreOptions::default() })
}

/// Small run directories, by name.
fn write_runs(folder: &Path, count: usize) -> Vec<PathBuf> {
    (0..count).map(|number| LegacyRun::new(&format!("r{number:03}"), &["started"]).write(folder)).collect()
}

/// Spoils the directory so that the fault shows after much of it was written, or before, or it is gone.
fn spoil(directory: &Path, how: usize) {
    match how % 3 {
        0 => {
            let name = format!("events/recovery-checkpoints/{}.json", "0".repeat(64));
            fs::write(directory.join(name), "{}\n").unwrap();
        }
        1 => {
            let journal = directory.join("events/lifecycle.jsonl");
            let text = fs::read_to_string(&journal).unwrap();
            fs::write(&journal, text.replacen("}\n{", "}x\n{", 1)).unwrap();
        }
        _ => fs::remove_dir_all(directory).unwrap(),
    }
}

/// Imports all; gives what was told, in order.
fn import_all(
    home: &Home,
    directories: &[PathBuf],
    keep_going: bool,
) -> Vec<(PathBuf, legbook::Result<Imported>)> {
    let mut told = Vec::new();
    let ended: Result<(), ()> =
        legacy::import_all(&home.store, directories, keep_going, |directory, outcome| {
            told.push((directory.to_path_buf(), outcome));
            Ok(())
        });
    ended.unwrap();
    told
}

/// What a store holds that took these, each by itself.
fn taken_alone<'a>(directories: impl IntoIterator<Item = &'a PathBuf>) -> String {
    let home = home();
    directories.into_iter().for_each(|directory| {
        home.import(directory).unwrap();
    });
    home.dump()
}

/// Requires that all but those at `faults` are in the store, and that of each was told in its turn.
#[track_caller]
fn all_but(
    home: &Home,
    directories: &[PathBuf],
    told: &[(PathBuf, legbook::Result<Imported>)],
    faults: &[usize],
) {
    assert_eq!(told.len(), directories.len());
    for (at, ((named, outcome), directory)) in told.iter().zip(directories).enumerate() {
        assert_eq!(named, directory);
        assert_eq!(outcome.is_err(), faults.contains(&at), "{at}: {outcome:?}");
    }
    let good = directories.iter().enumerate().filter(|(at, _)| !faults.contains(at));
    assert_eq!(home.dump(), taken_alone(good.map(|(_, directory)| directory)));
}

#[test]
fn a_fault_keeps_out_its_own_directory_and_no_other() {
    let (home, folder) = (home(), tempfile::tempdir().unwrap());
    let directories = write_runs(folder.path(), 200);
    let faults = [0, 17, 18, 19, 127, 128, 130, 199];
    faults.iter().enumerate().for_each(|(how, at)| spoil(&directories[*at], how));
    let told = import_all(&home, &directories, true);
    all_but(&home, &directories, &told, &faults);
    let again = import_all(&home, &directories, true);
    assert!(again.iter().flat_map(|(_, outcome)| outcome).all(|taken| taken.outcome == Outcome::Unchanged));
    all_but(&home, &directories, &again, &faults);
}

#[test]
fn a_run_that_comes_twice_is_compared_with_itself() {
    let (home, one, other) = (home(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut directories = write_runs(one.path(), 6);
    directories.extend(write_runs(other.path(), 6));
    let grown = LegacyRun::new("r003", &["started", "planning"]).write(&other.path().join("later"));
    directories.insert(9, grown);
    let told = import_all(&home, &directories, true);
    let outcomes: Vec<_> =
        told.iter().map(|(_, outcome)| outcome.as_ref().ok().map(|it| it.outcome)).collect();
    let mut expected = vec![Some(Outcome::New); 6];
    expected.extend([Some(Outcome::Unchanged); 3]);
    // The journal has grown, and then the one of before comes again.
    expected.extend([Some(Outcome::Extended), None, Some(Outcome::Unchanged), Some(Outcome::Unchanged)]);
    assert_eq!(outcomes, expected);
}

#[test]
fn a_checkpoint_that_is_named_again_is_what_the_run_says_last() {
    let (home, folder) = (home(), tempfile::tempdir().unwrap());
    let directories: Vec<PathBuf> = (0..5)
        .map(|number| {
            let mut run = LegacyRun::new(&format!("r{number}"), &["started"]);
            let (sha256, body) =
                run.checkpoints.first_key_value().map(|(k, v)| (k.clone(), v.clone())).unwrap();
            run.step("planning");
            let sha256 = Digest::parse(&sha256).unwrap();
            let payload = event::checkpoint_payload(sha256, body.len() as i64, None);
            run.append(event::CHECKPOINT_EVENT_TYPE, "again", payload);
            run.run_json = Some(body);
            run.write(folder.path())
        })
        .collect();
    assert!(import_all(&home, &directories, false).iter().all(|(_, outcome)| outcome.is_ok()));
    assert_eq!(home.dump(), taken_alone(&directories));
    let plain = Connection::open(home.store.path()).unwrap();
    let said = "SELECT group_concat(DISTINCT status) FROM runs";
    assert_eq!(plain.query_row(said, [], |row| row.get::<_, String>(0)).unwrap(), "started");
}

#[test]
fn without_keep_going_what_is_before_the_fault_is_taken_and_nothing_behind_it() {
    for (how, fault) in [0, 1, 127, 128, 100].into_iter().enumerate() {
        let (home, folder) = (home(), tempfile::tempdir().unwrap());
        let directories = write_runs(folder.path(), 130);
        spoil(&directories[fault], how);
        let told = import_all(&home, &directories, false);
        all_but(&home, &directories[..=fault], &told, &[fault]);
    }
}

#[test]
fn nobody_is_told_of_a_directory_that_is_not_committed() {
    let (home, folder) = (home(), tempfile::tempdir().unwrap());
    let directories = write_runs(folder.path(), 2 * SHARED);
    spoil(&directories[70], 0);
    let other = Connection::open(home.store.path()).unwrap();
    let mut told = 0;
    let ended: Result<(), ()> = legacy::import_all(&home.store, &directories, true, |_, outcome| {
        if let Ok(taken) = outcome {
            let sql = "SELECT count(*) FROM events WHERE run_id = ?1";
            let events: u64 = other.query_row(sql, [taken.run_id.as_str()], |row| row.get(0)).unwrap();
            assert_eq!(events, taken.events, "{}", taken.run_id);
            told += 1;
        }
        Ok(())
    });
    ended.unwrap();
    assert_eq!(told, directories.len() - 1);
}

#[test]
fn who_is_told_can_end_it() {
    let (home, folder) = (home(), tempfile::tempdir().unwrap());
    let directories = write_runs(folder.path(), 2 * SHARED);
    let mut told = 0;
    let ended = legacy::import_all(&home.store, &directories, true, |_, _| {
        told += 1;
        if told == 5 { Err("enough") } else { Ok(()) }
    });
    assert_eq!((ended, told), (Err("enough"), 5));
    assert_eq!(home.dump(), taken_alone(&directories[..SHARED]), "no further transaction was begun");
}

#[test]
fn a_transaction_holds_128_directories_or_those_of_4_mib() {
    let (commits, folder) = (Arc::new(Commits::default()), tempfile::tempdir().unwrap());
    let home = Home::with(StoreOptions { observer: commits.clone(), ..StoreOptions::default() });
    let directories = write_runs(folder.path(), 2 * SHARED + 2);
    import_all(&home, &directories, true);
    assert_eq!(commits.0.swap(0, Ordering::SeqCst), 3);
    let large: Vec<PathBuf> = (0..7).map(|number| folder.path().join(format!("large-{number}"))).collect();
    let run_json = format!(r#"{{"notes": "{}"}}"#, "x".repeat(3 << 19));
    for directory in &large {
        write_files(directory, [("run.json", run_json.as_bytes())]);
    }
    assert!(import_all(&home, &large, true).iter().all(|(_, outcome)| outcome.is_ok()));
    assert_eq!(commits.0.load(Ordering::SeqCst), 3, "of 3, 3 and 1 directories of 1.5 MiB");
}

#[test]
fn a_killed_import_leaves_whole_transactions_and_the_same_call_again_takes_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let directories = write_runs(folder.path(), 3 * SHARED);
    for (step, in_store) in [(Step::BeforeCommit, SHARED), (Step::Committed, 2 * SHARED)] {
        let home = home();
        let arguments = [folder.path().to_str().unwrap()];
        let cut = Cut { at: Some((step, 2)), stop: false };
        let told = Crasher::start(home.store.path(), "import", &arguments, cut).cut();
        let names: Vec<&str> = told.iter().map(String::as_str).collect();
        let first: Vec<String> = (0..SHARED).map(|number| format!("r{number:03} new")).collect();
        assert_eq!(names, first, "of the second transaction nothing was told");
        let plain = Connection::open(home.store.path()).unwrap();
        let counts = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM imports), (SELECT count(*) FROM events),
                             (SELECT count(*) FROM checkpoints)";
        let count =
            plain.query_row(counts, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]));
        let [runs, imports, events, checkpoints]: [usize; 4] = count.unwrap();
        assert_eq!((runs, imports, events, checkpoints), (in_store, in_store, 2 * in_store, in_store));

        let again = import_all(&home, &directories, false);
        let outcomes: Vec<Outcome> = again.into_iter().map(|(_, outcome)| outcome.unwrap().outcome).collect();
        assert!(outcomes[..in_store].iter().all(|outcome| *outcome == Outcome::Unchanged));
        assert!(outcomes[in_store..].iter().all(|outcome| *outcome == Outcome::New));
        let before = home.dump();
        let third = import_all(&home, &directories, false);
        assert!(third.into_iter().all(|(_, outcome)| outcome.unwrap().outcome == Outcome::Unchanged));
        assert_eq!(home.dump(), before);
    }
}

/// Imports with this change to the store's schema, which strikes at the run r070; takes the change back before looking.
#[track_caller]
fn strikes_at_one(make: &str, undo: &str, said: &str) {
    let (home, folder) = (home(), tempfile::tempdir().unwrap());
    let directories = write_runs(folder.path(), 2 * SHARED + 10);
    let other = Connection::open(home.store.path()).unwrap();
    other.execute_batch(make).unwrap();
    let told = import_all(&home, &directories, true);
    other.execute_batch(undo).unwrap();
    all_but(&home, &directories, &told, &[70]);
    let error = told[70].1.as_ref().unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
}

#[test]
fn a_statement_that_the_store_refuses_keeps_out_one_directory() {
    strikes_at_one(
        "CREATE TRIGGER strike AFTER INSERT ON imported_files WHEN NEW.run_id = 'r070' AND NEW.path = 'run.json'
         BEGIN SELECT RAISE(ABORT, 'struck'); END",
        "DROP TRIGGER strike",
        "struck",
    );
}

#[test]
fn a_statement_that_ends_the_whole_transaction_keeps_out_one_directory() {
    strikes_at_one(
        "CREATE TRIGGER strike AFTER INSERT ON imported_files WHEN NEW.run_id = 'r070' AND NEW.path = 'run.json'
         BEGIN SELECT RAISE(ROLLBACK, 'struck'); END",
        "DROP TRIGGER strike",
        "struck",
    );
}

#[test]
fn a_commit_that_fails_keeps_out_one_directory() {
    strikes_at_one(
        "CREATE TABLE above (id INTEGER PRIMARY KEY);
         CREATE TABLE below (id INTEGER REFERENCES above DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER strike AFTER INSERT ON imports WHEN NEW.run_id = 'r070'
         BEGIN INSERT INTO below VALUES (1); END",
        "DROP TRIGGER strike; DROP TABLE below; DROP TABLE above",
        "FOREIGN KEY",
    );
}

#[test]
fn the_command_tells_in_order_and_ends_at_the_fault_unless_told_to_go_on() {
    let workspace = Workspace::new();
    let runs = workspace.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let directories = write_runs(&runs, 70);
    spoil(&directories[66], 1);
    let first = workspace.legbook(["runs", "import", "runs"]);
    assert_eq!(first.code, 2, "{first:?}");
    let expected: String = (0..66).map(|number| format!("r{number:03}: new, 2 events\n")).collect();
    assert_eq!(first.stdout, expected);
    assert!(first.stderr.contains("/r066 is refused: events/lifecycle.jsonl: "), "{}", first.stderr);
    let second = workspace.legbook(["runs", "import", "runs", "--keep-going", "--json"]);
    assert_eq!(second.code, 2, "{}", second.stderr);
    let answer: serde_json::Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(
        (&answer["unchanged"], &answer["new"], &answer["refused"]),
        (&66.into(), &3.into(), &1.into())
    );
    let words: Vec<&str> =
        answer["runs"].as_array().unwrap().iter().map(|run| run["outcome"].as_str().unwrap()).collect();
    assert_eq!(words[65..], ["unchanged", "refused", "new", "new", "new"]);
}
