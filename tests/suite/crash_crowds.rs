//! Many processes at once on one store: none of them is lost, forked or left waiting.

use std::collections::HashSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::recovery::{self, Ending, Options};
use legbook::run::{self, Credentials};

use crate::crash::{Scene, heard, id};
use crate::crash_child::{Crasher, Cut};
use crate::recovery_bench::{Graveyard, owner, snapshot};

#[test]
fn twenty_processes_that_open_an_absent_store_at_once_all_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/store.db");
    let mut openers: Vec<Crasher> =
        (0..20).map(|_| Crasher::spawn(&path, "open", &[], Cut::default())).collect();
    openers.iter_mut().for_each(Crasher::ready);
    openers.iter_mut().for_each(Crasher::go);
    for opener in openers {
        assert_eq!(opener.done(), ["open"]);
    }
    let plain = rusqlite::Connection::open(&path).unwrap();
    let ask = |sql: &str| plain.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(ask("PRAGMA integrity_check"), "ok");
    assert_eq!(ask("SELECT CAST(count(*) AS TEXT) FROM store"), "1");
    let left: Vec<_> = fs::read_dir(path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with("store.db"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn eight_processes_with_two_hundred_writes_each_all_land_in_whole_chains() {
    let scene = Scene::new();
    let names: Vec<String> = (0..8).map(|writer| format!("writer-{writer}")).collect();
    let writers: Vec<Crasher> =
        names.iter().map(|name| scene.child("load", name, "200", Cut::default())).collect();
    for (name, writer) in names.iter().zip(writers) {
        let (_, acknowledged) = heard(&writer.done());
        assert_eq!(acknowledged.len(), 200, "{name}");
        scene.check_journal(name, &acknowledged);
        assert_eq!(run::events(&scene.store, &id(name), 0, usize::MAX).unwrap().len(), 400);
        assert_eq!(Digest::of(&fs::read(scene.run_json(name)).unwrap()), acknowledged[199]);
        assert_eq!(run::show(&scene.store, &id(name)).unwrap().run_json_current, Some(true));
    }
}

#[test]
fn two_processes_with_one_token_lose_and_fork_nothing_and_each_is_answered() {
    const WRITES: usize = 100;
    let scene = Scene::new();
    let workspace = scene.workspace("r");
    let token = run::register(&scene.store, &id("r"), &workspace.join("run"), &workspace, std::process::id())
        .unwrap();
    let count = WRITES.to_string();
    let mut writers: Vec<Crasher> = ["a", "b"]
        .iter()
        .map(|name| {
            let arguments = ["r", token.expose(), name, &count];
            Crasher::spawn(scene.store.path(), "share", &arguments, Cut::default())
        })
        .collect();
    writers.iter_mut().for_each(Crasher::ready);
    writers.iter_mut().for_each(Crasher::go);
    let mut sequences = HashSet::new();
    let mut acknowledged = Vec::new();
    for writer in writers {
        let said = writer.done();
        assert_eq!(said.len(), WRITES, "an answer each");
        for line in said {
            let (sequence, sha256) = line.strip_prefix("ack ").unwrap().split_once(' ').unwrap();
            assert!(sequences.insert(sequence.parse::<i64>().unwrap()), "a forked sequence: {line}");
            acknowledged.push(Digest::parse(sha256).unwrap());
        }
    }
    scene.check_journal("r", &acknowledged);
    // One status event for the first write, and a checkpoint for each.
    assert_eq!(run::events(&scene.store, &id("r"), 0, usize::MAX).unwrap().len(), 2 * WRITES + 1);
    let last = run::show(&scene.store, &id("r")).unwrap();
    assert_eq!((last.run_json_current, last.events), (Some(true), 2 * WRITES as i64 + 1));
}

#[test]
fn of_fifty_recoverers_at_once_one_wins_twenty_times() {
    const RECOVERERS: usize = 50;
    const RUNS: usize = 20;
    let scene = Scene::new();
    let names: Vec<String> = (0..RUNS).map(|run| format!("stale-{run}")).collect();
    for name in &names {
        let workspace = scene.workspace(name);
        let run_dir = workspace.join("run");
        let token = run::register(&scene.store, &id(name), &run_dir, &workspace, owner()).unwrap();
        let credentials = Credentials { token: Some(token), owner_pid: Some(owner()) };
        run::write(&scene.store, &id(name), snapshot("planning", 1).as_bytes(), &credentials).unwrap();
        if name.ends_with(['1', '4', '7']) {
            fs::remove_file(scene.run_json(name)).unwrap();
        }
    }
    let gate = Barrier::new(RECOVERERS);
    let unexpected = Mutex::new(Vec::new());
    let winners: Vec<AtomicUsize> = (0..RUNS).map(|_| AtomicUsize::new(0)).collect();
    std::thread::scope(|scope| {
        for _ in 0..RECOVERERS {
            scope.spawn(|| {
                let processes = Graveyard::default();
                processes.bury(owner());
                let options = StoreOptions { processes: Arc::new(processes), ..StoreOptions::default() };
                let store = Store::open(scene.store.path(), options).unwrap();
                for (name, winners) in names.iter().zip(&winners) {
                    gate.wait();
                    match recovery::recover(&store, &id(name), &Options::default()) {
                        Ok(outcome) if outcome.ending == Ending::Recovered => {
                            winners.fetch_add(1, Ordering::SeqCst);
                        }
                        Ok(_) => {}
                        // A panic here would leave the others at the gate.
                        Err(error) => unexpected.lock().unwrap().push(error.to_string()),
                    }
                }
            });
        }
    });
    assert_eq!(*unexpected.lock().unwrap(), Vec::<String>::new());
    for (name, winners) in names.iter().zip(&winners) {
        assert_eq!(winners.load(Ordering::SeqCst), 1, "{name}");
        assert_eq!(scene.count(&format!("SELECT count(*) FROM recoveries WHERE run_id = '{name}'")), 1);
        let details = run::show(&scene.store, &id(name)).unwrap();
        assert_eq!(details.run_json_current, Some(true));
        assert_eq!(details.run.status.as_deref(), Some("failed"));
    }
    assert_eq!(scene.count("SELECT count(*) FROM locks"), 0);
}
