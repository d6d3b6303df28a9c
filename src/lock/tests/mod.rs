//! The lock inside a transaction, on made-up machines and at made-up moments.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tempfile::TempDir;

mod claim;
mod own;
mod state;

use super::*;
use crate::clock::Clock;
use crate::db::{Store, StoreOptions};
use crate::error::{Error, LockError, Result};
use crate::id::RunId;
use crate::process::{Identity, Presence, ProcessTable};

/// The time and the processes of a machine, as a test sets them.
#[derive(Debug)]
struct World {
    now: Mutex<DateTime<Utc>>,
    here: Mutex<Identity>,
    /// Which processes run, and their start times.
    running: Mutex<HashMap<u32, Option<String>>>,
    drawn: AtomicU64,
}

impl Clock for World {
    fn now(&self) -> DateTime<Utc> {
        *self.now.lock().unwrap()
    }

    fn random(&self, buffer: &mut [u8]) -> std::io::Result<()> {
        let number = self.drawn.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        for (byte, drawn) in buffer.iter_mut().rev().zip(number.iter().rev()) {
            *byte = *drawn;
        }
        Ok(())
    }

    fn sleep(&self, _duration: Duration) {}
}

impl ProcessTable for World {
    fn current(&self) -> Identity {
        self.here.lock().unwrap().clone()
    }

    fn look_up(&self, pid: u32) -> Presence {
        match self.running.lock().unwrap().get(&pid) {
            Some(start_time) => Presence::Running { start_time: start_time.clone() },
            None => Presence::Absent,
        }
    }
}

/// A store in a world, with the runs that a test names.
struct Scene {
    folder: TempDir,
    world: Arc<World>,
    store: Store,
}

const OWNER: u32 = 100;
const OTHER: u32 = 200;

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let told = |text: &str| Some(text.to_owned());
        let world = Arc::new(World {
            now: Mutex::new("2026-01-02T03:04:05Z".parse().unwrap()),
            here: Mutex::new(Identity {
                pid: 1,
                start_time: told("1"),
                boot_id: told("boot-1"),
                machine_id: told("machine-1"),
                host_name: told("host-1"),
                pid_namespace: told("pid:[1]"),
            }),
            running: Mutex::new(HashMap::new()),
            drawn: AtomicU64::new(1),
        });
        let store = open(&folder, &world);
        let scene = Self { folder, world, store };
        scene.start(OWNER);
        scene.start(OTHER);
        for run in ["one", "two"] {
            scene.sql(&format!("INSERT INTO runs (run_id, created_at) VALUES ('{run}', 'now')"));
        }
        scene
    }

    /// The store once more, as another process has it.
    fn open(&self) -> Store {
        open(&self.folder, &self.world)
    }

    /// Starts a process that has `pid`: another than the one that had it before.
    fn start(&self, pid: u32) {
        let start_time = self.world.drawn.fetch_add(1, Ordering::Relaxed).to_string();
        self.world.running.lock().unwrap().insert(pid, Some(start_time));
    }

    fn kill(&self, pid: u32) {
        self.world.running.lock().unwrap().remove(&pid);
    }

    fn set_clock(&self, by: TimeDelta) {
        *self.world.now.lock().unwrap() += by;
    }

    fn move_to(&self, change: impl FnOnce(&mut Identity)) {
        change(&mut self.world.here.lock().unwrap());
    }

    fn sql(&self, statements: &str) {
        self.store.write(|transaction| Ok(transaction.execute_batch(statements)?)).unwrap();
    }

    /// All that the table holds, as text.
    fn rows(&self) -> Vec<String> {
        self.store
            .read(|transaction| {
                let mut statement = transaction.prepare(include_str!("dump.sql"))?;
                let rows = statement.query_map([], |row| row.get(0))?;
                Ok(rows.collect::<std::result::Result<_, _>>()?)
            })
            .unwrap()
    }

    /// Writes to the table what its triggers refuse.
    fn damage(&self, change: &str) {
        self.sql(&format!("DROP TRIGGER IF EXISTS locks_update; UPDATE locks SET {change}"));
    }

    fn judge(&self) -> Judge<'_> {
        Judge::new(&self.store)
    }

    fn take(&self, workspace: &str, run: &str, pid: u32, lease: Option<Duration>) -> Result<Taken> {
        let owner = Identity::of(pid, &*self.world);
        let request =
            Request { token: None, workspace: Path::new(workspace), run_id: &id(run), owner: &owner, lease };
        self.store.write(|transaction| take(transaction, &*self.world, &self.judge(), &request))
    }

    fn token(&self, workspace: &str, run: &str, pid: u32) -> OwnerToken {
        self.leased(workspace, run, pid, None)
    }

    fn leased(&self, workspace: &str, run: &str, pid: u32, lease: Option<Duration>) -> OwnerToken {
        match self.take(workspace, run, pid, lease).unwrap() {
            Taken::Token(token) => token,
            Taken::DeadOwner(lock) => panic!("dead owner: {lock:?}"),
        }
    }

    fn hold(&self, run: &str, token: Option<&OwnerToken>) -> Result<Held> {
        self.store.write(|transaction| hold(transaction, &id(run), token))
    }

    /// A write by a caller whose process is `pid`.
    fn write(&self, run: &str, token: &OwnerToken, pid: u32) {
        self.store
            .write(|transaction| {
                let held = hold(transaction, &id(run), Some(token))?;
                rehome(transaction, &held, &self.judge(), pid)
            })
            .unwrap();
    }

    fn release(&self, run: &str, token: &OwnerToken) -> Result<()> {
        self.store.write(|transaction| {
            let held = hold(transaction, &id(run), Some(token))?;
            release(transaction, held)
        })
    }

    fn stands(&self, claim: &Claim) -> bool {
        self.store.write(|transaction| claim_stands(transaction, claim)).unwrap()
    }

    /// The owner of run one's lock.
    fn owner(&self) -> Identity {
        self.state("/w", "one").lock().unwrap().owner.clone()
    }

    fn claim(&self, run: &str, pid: u32) -> Result<Claim> {
        self.claim_by(&self.judge(), run, pid)
    }

    fn claim_by(&self, judge: &Judge<'_>, run: &str, pid: u32) -> Result<Claim> {
        let claimer = Identity::of(pid, &*self.world);
        self.store.write(|transaction| claim(transaction, &*self.world, judge, &id(run), &claimer))
    }

    /// The word of the state of `run`'s lock in `/w`.
    fn word(&self, run: &str) -> &'static str {
        self.state("/w", run).word()
    }

    fn state(&self, workspace: &str, run: &str) -> LockState {
        state(&self.store, Some(Path::new(workspace)), &id(run)).unwrap()
    }
}

fn open(folder: &TempDir, world: &Arc<World>) -> Store {
    let options = StoreOptions { clock: world.clone(), processes: world.clone(), ..StoreOptions::default() };
    Store::open(folder.path().join("store.db"), options).unwrap()
}

fn id(run: &str) -> RunId {
    RunId::parse(run).unwrap()
}

fn refused<T: std::fmt::Debug>(answer: Result<T>) -> LockError {
    match answer {
        Err(Error::Lock(error)) => error,
        other => panic!("no refusal of the lock: {other:?}"),
    }
}
