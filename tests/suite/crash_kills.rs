//! Random SIGKILLs under load: 300 processes are killed somewhere in their work, and nothing that they had been told is
//! done is lost.
//!
//! When a process dies is chance; what must hold afterwards is not, so that a run of this suite may fail only for cause.

use std::time::Duration;

use legbook::clock::{Clock, SystemClock};
use legbook::recovery::Ending;
use legbook::run;
use nix::sys::signal::Signal;

use crate::crash::{Scene, heard, id};
use crate::crash_child::{Crasher, Cut};

/// How many writers work at once.
const WRITERS: usize = 6;
const ROUNDS: usize = 35;
/// How many recoverers of each round are killed.
const RECOVERERS: usize = 90;

/// A pause of up to `most` microseconds.
fn pause(most: u64) {
    let mut bytes = [0; 8];
    SystemClock.random(&mut bytes).unwrap();
    std::thread::sleep(Duration::from_micros(u64::from_le_bytes(bytes) % most));
}

#[test]
fn three_hundred_kills_under_load_lose_nothing_that_was_acknowledged() {
    let scene = Scene::new();
    let mut kills = 0;
    let mut acknowledged_in_all = 0;
    for round in 0..ROUNDS {
        let names: Vec<String> = (0..WRITERS).map(|writer| format!("kill-{round}-{writer}")).collect();
        let mut writers: Vec<Crasher> = names.iter().map(|name| writer(&scene, name)).collect();
        writers.iter_mut().for_each(Crasher::ready);
        writers.iter_mut().for_each(Crasher::go);
        // All are at work before the first one is killed: each has its token, and has written.
        let mut said: Vec<Vec<String>> =
            writers.iter_mut().map(|writer| vec![writer.hear().unwrap(), writer.hear().unwrap()]).collect();
        for (writer, said) in writers.into_iter().zip(&mut said) {
            pause(6_000);
            writer.signal(Signal::SIGKILL);
            said.extend(writer.cut());
            kills += 1;
        }
        for (at, (name, said)) in names.iter().zip(&said).enumerate() {
            let (_, acknowledged) = heard(said);
            acknowledged_in_all += acknowledged.len();
            scene.check_journal(name, &acknowledged);
            if (round * WRITERS + at) * RECOVERERS / (ROUNDS * WRITERS)
                < (round * WRITERS + at + 1) * RECOVERERS / (ROUNDS * WRITERS)
            {
                let recoverer = scene.recoverer(name, Cut::default());
                pause(30_000);
                recoverer.signal(Signal::SIGKILL);
                recoverer.end();
                kills += 1;
            }
            check_end(&scene, name);
        }
    }
    assert_eq!(kills, 300);
    assert!(acknowledged_in_all >= ROUNDS * WRITERS, "the writers were at work: {acknowledged_in_all}");
    assert_eq!(scene.count("SELECT count(*) FROM locks"), 0);
}

fn writer(scene: &Scene, name: &str) -> Crasher {
    let workspace = scene.workspace(name);
    let arguments = [name, workspace.to_str().unwrap(), "250"];
    Crasher::spawn(scene.store.path(), "endless", &arguments, Cut::default())
}

/// Recovers a run, perhaps after a recovery that was killed, and requires that it has ended as its last snapshot.
#[track_caller]
fn check_end(scene: &Scene, name: &str) {
    let before = run::show(&scene.store, &id(name)).unwrap();
    scene.recover(name);
    let details = run::show(&scene.store, &id(name)).unwrap();
    assert_eq!((details.events, details.last_digest), (before.events, before.last_digest), "{name}");
    assert_eq!(details.run_json_current, Some(true), "{name}");
    assert_eq!(details.last_snapshot.map(|(_, is_receipt)| is_receipt), Some(true), "{name}");
    assert_eq!(scene.recover(name).ending, Ending::AlreadyTerminal, "{name}");
    assert_eq!(scene.count(&format!("SELECT count(*) FROM recoveries WHERE run_id = '{name}'")), 1);
}
