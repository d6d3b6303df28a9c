//! What the suites about recovery share: a store with one run whose owner can be declared dead, and pictures of all
//! that a refusal must leave as it was.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::error::Error;
use legbook::event::Event;
use legbook::id::RunId;
use legbook::json::{self, Object, Value};
use legbook::process::{Identity, Presence, ProcessTable, SystemProcesses};
use legbook::recovery::{self, Ending, Options, Outcome};
use legbook::run::{self, Credentials, Written};
use legbook::step::Step;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fakes::{CutAt, SetClock, cut_short, store_in};

/// The moment at which the clock of a [`Bench`] stands.
pub(crate) const NOW: &str = "2026-03-04T05:06:07.000008Z";

/// The real processes, of which some are said to be dead; and where they seem to run.
#[derive(Debug, Default)]
pub(crate) struct Graveyard {
    dead: Mutex<HashSet<u32>>,
    machine: Mutex<Option<String>>,
}

impl Graveyard {
    pub(crate) fn bury(&self, pid: u32) {
        self.dead.lock().unwrap().insert(pid);
    }

    pub(crate) fn raise(&self, pid: u32) {
        self.dead.lock().unwrap().remove(&pid);
    }

    /// From now on all processes seem to run on this machine.
    pub(crate) fn move_to(&self, machine: &str) {
        *self.machine.lock().unwrap() = Some(machine.to_owned());
    }
}

impl ProcessTable for Graveyard {
    fn current(&self) -> Identity {
        let here = SystemProcesses.current();
        match &*self.machine.lock().unwrap() {
            None => here,
            Some(machine) => Identity { machine_id: Some(machine.clone()), ..here },
        }
    }

    fn look_up(&self, pid: u32) -> Presence {
        if self.dead.lock().unwrap().contains(&pid) { Presence::Absent } else { SystemProcesses.look_up(pid) }
    }
}

/// A store with one run whose lock the test's parent process holds.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) cut: Arc<CutAt>,
    pub(crate) clock: Arc<SetClock>,
    pub(crate) processes: Arc<Graveyard>,
    pub(crate) store: Store,
    pub(crate) run_id: RunId,
    pub(crate) credentials: Credentials,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("workspace/.git")).unwrap();
        let (cut, clock) = (Arc::new(CutAt::default()), SetClock::at(NOW));
        let processes = Arc::new(Graveyard::default());
        let options =
            StoreOptions { clock: clock.clone(), observer: cut.clone(), processes: processes.clone() };
        let store = store_in(folder.path(), options);
        let run_id = RunId::parse("r").unwrap();
        let (run_dir, cwd) = (folder.path().join("workspace/run"), folder.path().join("workspace"));
        let token = run::register(&store, &run_id, &run_dir, &cwd, owner()).unwrap();
        let credentials = Credentials { token: Some(token), owner_pid: Some(owner()) };
        Self { folder, cut, clock, processes, store, run_id, credentials }
    }

    /// A run that was written `started` and `planning`, and whose owner is dead.
    pub(crate) fn stale() -> Self {
        let bench = Self::new();
        bench.write(&snapshot("started", 1)).unwrap();
        bench.write(&snapshot("planning", 2)).unwrap();
        bench.die();
        bench
    }

    pub(crate) fn die(&self) {
        self.processes.bury(owner());
    }

    pub(crate) fn write(&self, payload: &str) -> legbook::Result<Written> {
        run::write(&self.store, &self.run_id, payload.as_bytes(), &self.credentials)
    }

    /// Writes, and dies at `step`.
    pub(crate) fn write_cut_at(&self, step: Step, payload: &str) {
        self.cut.next(Some(step));
        cut_short(|| self.write(payload));
        self.cut.next(None);
    }

    pub(crate) fn recover(&self) -> legbook::Result<Outcome> {
        self.recover_with(&Options::default())
    }

    pub(crate) fn recover_with(&self, options: &Options) -> legbook::Result<Outcome> {
        recovery::recover(&self.store, &self.run_id, options)
    }

    pub(crate) fn dry_run(&self) -> legbook::Result<Outcome> {
        self.recover_with(&Options { dry_run: true, ..Options::default() })
    }

    /// Recovers, and dies at `step`: the process that had the claim is gone.
    pub(crate) fn recover_cut_at(&self, step: Step) {
        self.cut.next(Some(step));
        cut_short(|| self.recover());
        self.cut.next(None);
        self.sql("UPDATE locks SET claim_start_time = 'another process' WHERE claim_id IS NOT NULL");
    }

    pub(crate) fn run_dir(&self) -> PathBuf {
        self.folder.path().join("workspace/run")
    }

    pub(crate) fn run_json(&self) -> PathBuf {
        self.run_dir().join("run.json")
    }

    pub(crate) fn on_disk(&self) -> String {
        fs::read_to_string(self.run_json()).unwrap()
    }

    pub(crate) fn snapshot(&self) -> Object {
        json::parse_object(&fs::read(self.run_json()).unwrap()).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        run::events(&self.store, &self.run_id, 0, usize::MAX).unwrap()
    }

    /// The names in the run directory that begin with `prefix`.
    pub(crate) fn kept(&self, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(self.run_dir()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    /// SQL as an attacker with the file in hand runs it.
    pub(crate) fn sql(&self, sql: &str) {
        Connection::open(self.store.path()).unwrap().execute_batch(sql).unwrap();
    }

    pub(crate) fn count(&self, sql: &str) -> i64 {
        let plain = Connection::open(self.store.path()).unwrap();
        plain.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) fn locks(&self) -> i64 {
        self.count("SELECT count(*) FROM locks")
    }

    pub(crate) fn receipts(&self) -> i64 {
        self.count("SELECT count(*) FROM recoveries")
    }

    /// Requires that the run was brought to its end: the receipt is run.json and the store's last snapshot, the lock is
    /// gone, no event was added, and a second recovery changes nothing.
    #[track_caller]
    pub(crate) fn check_recovered(&self, prior_status: &str, n: i64) {
        let end = self.snapshot();
        assert_eq!(said(&end, &["status"]), Some("failed"));
        assert_eq!(said(&end, &["failure_phase"]), Some("stale-lock-recovery"));
        assert_eq!(said(&end, &["failure", "prior_status"]), Some(prior_status));
        assert_eq!(end.get("n".as_bytes()), Some(&Value::from(n)));
        assert_eq!(self.locks(), 0);
        assert_eq!(self.receipts(), 1);
        let details = run::show(&self.store, &self.run_id).unwrap();
        assert_eq!(details.run_json_current, Some(true));
        assert_eq!(details.last_snapshot, Some((Digest::of(self.on_disk().as_bytes()), true)));
        assert_eq!(details.run.status.as_deref(), Some("failed"));
        self.check_no_op();
    }

    /// Requires that a recovery finds an ended run and changes nothing.
    #[track_caller]
    pub(crate) fn check_no_op(&self) {
        let before = self.picture();
        let again = self.recover().unwrap();
        assert_eq!((again.ending, words(&again)), (Ending::AlreadyTerminal, vec![]));
        assert!(self.picture() == before, "a second recovery changed something");
    }

    /// Requires that recovery refuses and leaves all as it was: a dry one each byte, a real one each row and file. Gives
    /// the refusal.
    #[track_caller]
    pub(crate) fn refused(&self) -> Error {
        let before = self.picture();
        let dry = self.dry_run().unwrap_err();
        assert!(self.picture() == before, "a dry run changed something");
        let (rows, files) = (self.rows(), picture(&self.folder.path().join("workspace")));
        let refusal = self.recover().unwrap_err();
        assert_eq!(refusal.to_string(), dry.to_string());
        assert!(refusal.to_string().chars().count() <= 240, "{refusal}");
        assert_eq!(self.rows(), rows, "a refusal changed the store");
        assert!(picture(&self.folder.path().join("workspace")) == files, "a refusal changed a file");
        refusal
    }

    /// All that recovery may change in the store, and all that it must not.
    fn rows(&self) -> Vec<String> {
        let plain = Connection::open(self.store.path()).unwrap();
        let mut rows = Vec::new();
        for table in ["runs", "locks", "events", "checkpoints", "recoveries"] {
            let mut statement = plain.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = statement.column_count();
            let mut found = statement.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let values = (0..columns).map(|column| format!("{:?}", row.get_ref(column).unwrap()));
                rows.push(format!("{table} {}", values.collect::<Vec<_>>().join(" ")));
            }
        }
        rows
    }

    /// The bytes of the store and of every file below the workspace.
    pub(crate) fn picture(&self) -> Picture {
        picture(self.folder.path())
    }
}

pub(crate) type Picture = Vec<(PathBuf, Vec<u8>)>;

/// Every file below `folder`, but for the export lock and SQLite's own lock table.
pub(crate) fn picture(folder: &Path) -> Picture {
    let mut left = vec![folder.to_path_buf()];
    let mut seen = Vec::new();
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                seen.push((path.clone(), Vec::new()));
                left.push(path);
            } else if !path.ends_with(".run.json.lock") && !path.to_string_lossy().ends_with("-shm") {
                seen.push((path.clone(), fs::read(path).unwrap()));
            }
        }
    }
    seen.sort();
    seen
}

/// The process that owns the locks: one that lives as long as the tests.
pub(crate) fn owner() -> u32 {
    std::os::unix::process::parent_id()
}

pub(crate) fn snapshot(status: &str, n: u32) -> String {
    format!(r#"{{"status": "{status}", "n": {n}, "lifecycle_journal_requested": true}}"#)
}

/// The text under `path` of an object.
pub(crate) fn said<'a>(object: &'a Object, path: &[&str]) -> Option<&'a str> {
    let (first, rest) = path.split_first()?;
    let mut value = object.get(first.as_bytes())?;
    for key in rest {
        value = value.get(key)?;
    }
    Value::as_str(value)
}

/// The words of the steps.
pub(crate) fn words(outcome: &Outcome) -> Vec<&'static str> {
    outcome.steps.iter().map(recovery::Action::word).collect()
}
