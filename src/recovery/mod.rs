//! Recovery: bringing the run of a dead owner to its end (contract recovery.md, Recovery).
//!
//! Owns no table. What is read is asked of the tables alone (`sql/`), never of a view, a trigger or a derived column;
//! what is written goes through the rooms that own it: `lock` (claim, row), `run` (receipt, run.json). No event is
//! appended. Not here: what a run's verdict is (doctor), and putting run.json back beside a living store (`run::export`).
//!
//! * `scene`: how the run stands, and which course to take. * `validate`: the whole check of a journal.
//! * `go_on`: start a run, or recover and resume it. * `mend`: what is to be done, and doing it. * `outcome`: what is asked and answered, as data.
//!
//! Each step is a transaction or an atomic replace of its own, and no transaction is open while a file is written. From
//! the claim to the lock's removal no write is accepted. The run's export lock is held from before the claim until then:
//!
//! * A writer that was stopped between its commit and its export cannot come between.
//! * Recoveries of one run wait for each other. When the winner is done the others look again, see a run that has ended,
//!   and succeed.
//!
//! A crash releases the export lock.
//!
//! What a crash leaves, by the numbers of [`Step`], and how recovery ends from there. In each case a
//! second recovery finds a run that has ended, changes nothing and succeeds.
//!
//! | crash | the store holds | run.json is | recovery |
//! | --- | --- | --- | --- |
//! | 1 write, before the commit | nothing of the write | as before the write | ends the run as of the write before; a first write leaves a run without a journal, whose receipt is made of run.json or of nothing |
//! | 2 write, committed | the write | the snapshot before it, or missing | restores the write's snapshot, then the receipt of it |
//! | 3 export, temp file written | the write | as 2, with a `.run.json.*.tmp` that nobody reads | as 2 |
//! | 4 export, renamed | the write | the write's snapshot | the receipt of it |
//! | 2 to 4 of a finish | a terminal snapshot, the lock | the snapshot before it, missing, or the terminal one | restores where it is not there; no receipt, for the run has ended; the lock goes |
//! | 5 finish, before the lock is let go | a terminal snapshot, the lock | the terminal one | the dead lock goes |
//! | 6 recovery, claimed | the claim of a dead recoverer | as its owner left it | takes the claim over and begins anew |
//! | 7 recovery, a corrupt run.json is renamed | the claim | missing; the file is kept as `run.json.corrupt-<32 hex>` | as 6: a missing run.json is restored |
//! | 8 recovery, restored | the claim | the store's last snapshot | as 6: the receipt is made of it |
//! | 9 recovery, the receipt is stored | the claim and the receipt | the snapshot that the receipt was made of | exports that very receipt, makes none |
//! | 10 recovery, the receipt is exported | the claim and the receipt | the receipt | the run has ended: the dead lock goes |
//!
//! Without a journal there is no 8 and no 9: the receipt goes to run.json first, and into the store with the removal of
//! the lock. After 7 the receipt names the file that was kept last.
//!
//! A run directory that is gone is made anew, since the store alone holds all that is needed. Where the workspace is gone
//! as well, it was moved or is not mounted: recovery refuses and has to be told the directory ([`Options::run_dir`]),
//! which the store then knows.

mod go_on;
mod mend;
mod outcome;
mod scene;
mod validate;

use rusqlite::Transaction;

use crate::db::{Store, schema};
use crate::error::{Error, RecoveryError, Result};
use crate::id::RunId;
use crate::lock::{self, Claim};
use crate::publish;
use crate::run::file::{ExportLock, OnDisk, RUN_JSON};
use crate::run::table;
use crate::run::terminalize::{self, Place};
use crate::step::Step;

use scene::{Course, Scene, judge, status_of};
use validate::validate;

pub use go_on::{GoneOn, Way, start_or_resume};
pub use outcome::{Action, Ending, Options, Outcome};

/// Recovers `run_id`: where its owner is dead, run.json is restored, the failure receipt written and the lock removed.
/// For a run that has ended there is at most its run.json to be exported again and its dead lock to be removed.
///
/// With [`Options::dry_run`] the same checks are made in one read transaction and the steps are listed.
///
/// # Errors
/// [`RecoveryError`]; [`LockError::Claimed`](crate::error::LockError::Claimed) beside another
/// recovery that lives; [`StoreError::Schema`](crate::error::StoreError::Schema) where a table or trigger of the store is
/// not the schema's; [`RunError`](crate::error::RunError) for a run or directory that is none. Nothing has changed
/// then, and the claim is given back. [`RecoveryError::Unfinished`]: the first steps are done, and the same call goes on
/// from there.
pub fn recover(store: &Store, run_id: &RunId, options: &Options) -> Result<Outcome> {
    store.read(|tx| schema::refuse_changed(tx))?;
    if options.dry_run {
        return store.read(|tx| planned(tx, store, run_id, options));
    }
    let (scene, course) = look(store, run_id, options)?;
    publish::remove_leftovers(&scene.place.run_dir, RUN_JSON);
    if course != Course::Stale {
        return ended(store, run_id, options, &scene, course);
    }
    let made = scene.lacks_directory();
    if made && scene.journaled {
        // No directory is made for a run that would be refused afterwards.
        store.read(|tx| validate(tx, run_id))?;
    }
    let export = scene.place.lock(store)?;
    match store.write(|tx| claim(tx, store, run_id, options))? {
        Found::Stale(claimed) => under_claim(store, run_id, &claimed, &export, made),
        Found::Other(scene, course) => {
            drop(export);
            ended(store, run_id, options, &scene, course)
        }
    }
}

fn look(store: &Store, run_id: &RunId, options: &Options) -> Result<(Scene, Course)> {
    store.read(|tx| {
        let scene = Scene::look(tx, store, run_id, options)?;
        let course = scene.course()?;
        Ok((scene, course))
    })
}

/// What a recovery finds once it has the export lock.
enum Found {
    Stale(Claimed),
    /// Another recovery has ended the run meanwhile.
    Other(Scene, Course),
}

/// A claimed run, as it was in the transaction that set the claim.
struct Claimed {
    claim: Claim,
    journaled: bool,
    place: Place,
}

/// Claims the run where it still is stale.
fn claim(tx: &Transaction<'_>, store: &Store, run_id: &RunId, options: &Options) -> Result<Found> {
    let scene = Scene::look(tx, store, run_id, options)?;
    let course = scene.course()?;
    if course != Course::Stale {
        return Ok(Found::Other(scene, course));
    }
    let claimer = store.processes().current();
    let claim = lock::claim(tx, store.clock(), &judge(store, options), run_id, &claimer)?;
    Ok(Found::Stale(Claimed { claim, journaled: scene.journaled, place: scene.place }))
}

fn under_claim(
    store: &Store,
    run_id: &RunId,
    claimed: &Claimed,
    export: &ExportLock,
    made: bool,
) -> Result<Outcome> {
    let Claimed { claim, journaled, place } = claimed;
    store.reached(Step::Claimed);
    let mut steps = vec![Action::Claim { owner_pid: claim.lock().owner.pid }];
    let status = if *journaled {
        mend::mend(store, run_id, claim, place, export, made, &mut steps).map(|end| status_of(&end))
    } else {
        steps.extend(made.then_some(Action::MakeDirectory));
        without_journal(store, run_id, claim, place, export, &mut steps)
    };
    let status = status.inspect_err(|_| {
        // The first error is the one to tell; a claim that stays is taken over by the next recovery.
        let _ = store.write(|tx| lock::unclaim(tx, claim));
    });
    let status = status.map_err(|source| unfinished(run_id, &steps, source))?;
    Ok(Outcome {
        run_id: run_id.clone(),
        run_dir: place.run_dir.clone(),
        ending: Ending::Recovered,
        status,
        steps,
        dry_run: false,
    })
}

/// An error of the machine, once something was changed.
fn unfinished(run_id: &RunId, steps: &[Action], source: Error) -> Error {
    if steps.iter().all(is_check) || !matches!(source, Error::Store(_) | Error::Io { .. }) {
        return source;
    }
    let done = steps.iter().map(Action::word).collect::<Vec<_>>().join(", ");
    RecoveryError::Unfinished { run_id: run_id.clone(), done, source: Box::new(source) }.into()
}

fn without_journal(
    store: &Store,
    run_id: &RunId,
    claim: &Claim,
    place: &Place,
    export: &ExportLock,
    steps: &mut Vec<Action>,
) -> Result<Option<String>> {
    let ended = terminalize::under_claim(store, run_id, claim, place, export)?;
    steps.extend(ended.kept_as.map(|name| Action::KeepFile { label: "corrupt", name: Some(name) }));
    if let Some(sha256) = ended.receipt {
        steps.push(Action::ExportReceipt { sha256: Some(sha256) });
        steps.push(Action::StoreReceipt { sha256: Some(sha256) });
    }
    if place.moved {
        steps.push(Action::Relocate);
    }
    steps.push(Action::RemoveLock);
    store.read(|tx| Ok(table::get(tx, run_id)?.status))
}

/// A run that has ended: run.json is exported again where it has to be, and the run's own dead lock goes.
fn ended(store: &Store, run_id: &RunId, options: &Options, scene: &Scene, course: Course) -> Result<Outcome> {
    let mut steps = Vec::new();
    if course == Course::ExportAgain {
        mend::export_again(store, run_id, &scene.place, &mut steps)?;
    }
    if scene.has_dead_lock() || scene.place.moved {
        let before = steps.clone();
        let cleared = store.write(|tx| clear(tx, store, run_id, options, &mut steps));
        cleared.map_err(|source| unfinished(run_id, &before, source))?;
    }
    Ok(Outcome {
        run_id: run_id.clone(),
        run_dir: scene.place.run_dir.clone(),
        ending: Ending::AlreadyTerminal,
        status: scene.ended_as().and_then(status_of),
        steps,
        dry_run: false,
    })
}

/// Removes the dead lock of a run that has ended, in a transaction that sees that it still has.
fn clear(
    tx: &Transaction<'_>,
    store: &Store,
    run_id: &RunId,
    options: &Options,
    steps: &mut Vec<Action>,
) -> Result<()> {
    let scene = Scene::look(tx, store, run_id, options)?;
    if scene.course()? != Course::Ended {
        return Ok(());
    }
    if scene.place.moved {
        table::relocate(tx, run_id, &scene.place.run_dir)?;
        steps.push(Action::Relocate);
    }
    if lock::clear_dead(tx, &judge(store, options), run_id)? {
        // The recovery that wrote the receipt of a run without a journal may have died before it noted the status.
        if let (false, Some(object)) = (scene.journaled, scene.ended_as()) {
            table::note_snapshot(tx, run_id, object)?;
        }
        steps.push(Action::RemoveLock);
    }
    Ok(())
}

/// What [`recover`] would do.
fn planned(tx: &Transaction<'_>, store: &Store, run_id: &RunId, options: &Options) -> Result<Outcome> {
    let scene = Scene::look(tx, store, run_id, options)?;
    let course = scene.course()?;
    let mut steps = Vec::new();
    let mut removes_lock = scene.has_dead_lock();
    if course == Course::Stale {
        let lock = lock::claimable(tx, &judge(store, options), run_id)?;
        steps.push(Action::Claim { owner_pid: lock.owner.pid });
    } else if removes_lock {
        // A dead lock that a living recovery has claimed is left to it.
        removes_lock = lock::claimable(tx, &judge(store, options), run_id).is_ok();
    }
    let mut status = scene.ended_as().and_then(status_of);
    match course {
        Course::Ended => {}
        Course::Stale if !scene.journaled => {
            status = Some("failed".to_owned());
            if *scene.on_disk() != OnDisk::Missing && scene.on_disk().object().is_none() {
                steps.push(Action::KeepFile { label: "corrupt", name: None });
            }
            steps.push(Action::ExportReceipt { sha256: None });
            steps.push(Action::StoreReceipt { sha256: None });
        }
        Course::Stale | Course::ExportAgain => {
            let actions = mend::planned(tx, run_id, scene.on_disk())?;
            if actions.iter().any(|action| matches!(action, Action::StoreReceipt { .. })) {
                status = Some("failed".to_owned());
            }
            steps.extend(actions);
        }
    }
    if course != Course::Ended && scene.lacks_directory() {
        let after_checks = steps.iter().take_while(|step| is_check(step)).count();
        steps.insert(after_checks, Action::MakeDirectory);
    }
    if scene.place.moved {
        steps.push(Action::Relocate);
    }
    if removes_lock {
        steps.push(Action::RemoveLock);
    }
    let ending = if course == Course::Stale { Ending::Recovered } else { Ending::AlreadyTerminal };
    let run_dir = scene.place.run_dir.clone();
    Ok(Outcome { run_id: run_id.clone(), run_dir, ending, status, steps, dry_run: true })
}

fn is_check(step: &Action) -> bool {
    matches!(step, Action::Claim { .. } | Action::Validate { .. })
}
