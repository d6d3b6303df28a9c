//! How doctor opens a store: nothing of it changes, no writer is disturbed, and what is committed is seen.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use legbook::doctor::{self, Options, Outcome, Progress};
use legbook::error::{Error, StoreError};
use rusqlite::Connection;

use crate::doctor::{Clinic, look, options};
use crate::support::{Answer, LEGBOOK};

/// Bytes, modes and times of every file in the store's folder.
pub(crate) fn picture(store: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, std::time::SystemTime)> {
    let files = fs::read_dir(store.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files
        // Git's, not the store's.
        .filter(|path| path.is_file() && !path.ends_with(".gitignore"))
        .map(|path| {
            let metadata = fs::metadata(&path).unwrap();
            let seen =
                (fs::read(&path).unwrap(), metadata.permissions().mode(), metadata.modified().unwrap());
            (path, seen)
        })
        .collect()
}

fn names(store: &Path) -> Vec<String> {
    picture(store).keys().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
}

/// A sqlite3 shell that has the store open, as another process.
pub(crate) struct Shell {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<std::process::ChildStdout>,
}

impl Shell {
    pub(crate) fn on(store: &Path) -> Self {
        let mut child = Command::new("sqlite3")
            .arg(store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Runs `sql` and waits until it has been run.
    pub(crate) fn run(&mut self, sql: &str) {
        writeln!(self.stdin, "{sql}\nSELECT 'done';").unwrap();
        let mut line = String::new();
        while line.trim() != "done" {
            line.clear();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the shell has ended");
        }
    }

    /// Ends it as a crash does: the side files stay.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn close(self) {
        drop(self.stdin);
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

pub(crate) fn add_run(name: &str) -> String {
    format!("INSERT INTO runs (run_id, created_at) VALUES ('{name}', '2026-01-01T00:00:00.000000Z');")
}

fn run_ids(store: &Path) -> Vec<String> {
    look(store, true, None).unwrap().runs.into_iter().map(|run| run.run_id).collect()
}

/// The command line's doctor.
fn command(store: &Path) -> Answer {
    Answer::of(Command::new(LEGBOOK).arg("doctor").arg("--full").arg("--json").arg(store).output().unwrap())
}

fn run_count(answer: &Answer) -> usize {
    let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    said["stores"][0]["runs"].as_array().unwrap().len()
}

#[test]
fn a_closed_store_gets_no_side_files() {
    let clinic = Clinic::new();
    let before = picture(&clinic.store());
    assert_eq!(before.len(), 1, "{before:?}");
    assert_eq!(command(&clinic.store()).code, 0);
    assert_eq!(look(&clinic.store(), false, None).unwrap().outcome(), Outcome::Ok);
    assert_eq!(picture(&clinic.store()), before);
}

#[test]
fn a_path_with_every_character_of_an_uri_is_read() {
    let clinic = Clinic::new();
    let folder = clinic.path().join("a b?c=1#d%41&e\u{e9}'\"");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let store = folder.join("store.db");
    fs::rename(clinic.store(), &store).unwrap();
    assert_eq!(look(&store, false, None).unwrap().runs.len(), 5);
}

#[test]
fn beside_a_live_writer_what_is_committed_is_seen_and_the_writer_goes_on() {
    let clinic = Clinic::new();
    let mut writer = Shell::on(&clinic.store());
    writer.run(&add_run("committed"));
    writer.run(&format!("BEGIN IMMEDIATE; {}", add_run("open")));
    let before = picture(&clinic.store());
    for _ in 0..2 {
        let answer = command(&clinic.store());
        assert_eq!((answer.code, run_count(&answer)), (0, 6), "{answer:?}");
        assert_eq!(look(&clinic.store(), true, None).unwrap().runs.len(), 6);
    }
    let after = picture(&clinic.store());
    for name in ["store.db", "store.db-wal"] {
        let path = clinic.store().with_file_name(name);
        assert_eq!(after[&path], before[&path], "{name}");
    }
    writer.run("COMMIT;");
    writer.run(&add_run("later"));
    writer.close();
    assert_eq!(run_ids(&clinic.store()).len(), 8);
    assert_eq!(names(&clinic.store()), ["store.db"], "the writer closed as if nobody had looked");
}

#[test]
fn in_a_writers_own_process_no_lock_of_it_is_dropped() {
    let clinic = Clinic::new();
    let mut writer = Connection::open(clinic.store()).unwrap();
    let steal = || {
        let sql = "PRAGMA journal_mode = DELETE;";
        let output = Command::new("sqlite3").arg(clinic.store()).arg(sql).output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    // Opened and idle: no side file yet, so doctor looks at an immutable file.
    assert_eq!(look(&clinic.store(), false, None).unwrap().runs.len(), 5);
    let transaction = writer.transaction().unwrap();
    transaction.execute_batch(&add_run("mine")).unwrap();
    for _ in 0..3 {
        assert_eq!(look(&clinic.store(), false, None).unwrap().runs.len(), 5);
    }
    assert!(steal().contains("database is locked"), "{}", steal());
    transaction.commit().unwrap();
    assert_eq!(run_ids(&clinic.store()).len(), 6);
    // Between transactions only the lock on the database file is left, the one that closing a descriptor would drop.
    assert!(steal().contains("database is locked"), "{}", steal());
    drop(writer);
    assert_eq!(names(&clinic.store()), ["store.db"]);
}

#[test]
fn a_writer_of_this_process_never_fails_for_doctor() {
    let clinic = Clinic::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Opened anew each time, so that every state of the side files comes up.
            for number in 0..40 {
                let writer = Connection::open(clinic.store()).unwrap();
                writer.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
                writer.execute_batch(&add_run(&format!("run-{number}"))).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            match look(&clinic.store(), true, None) {
                Ok(report) => assert_eq!(report.findings, [], "{report:?}"),
                // Opened and closed at each of five looks.
                Err(Error::Store(StoreError::Unsettled { .. })) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    assert_eq!(run_ids(&clinic.store()).len(), 45);
}

#[test]
fn what_a_killed_writer_left_is_read_and_stays_byte_for_byte() {
    let clinic = Clinic::new();
    let mut writer = Shell::on(&clinic.store());
    writer.run(&add_run("committed"));
    writer.run(&format!("BEGIN IMMEDIATE; {}", add_run("open")));
    writer.kill();
    assert_eq!(names(&clinic.store()), ["store.db", "store.db-shm", "store.db-wal"]);
    let before = picture(&clinic.store());
    let answer = command(&clinic.store());
    assert_eq!((answer.code, run_count(&answer)), (0, 6), "{answer:?}");
    assert_eq!(picture(&clinic.store()), before);
}

#[test]
fn a_wal_without_its_shm_is_read_from_a_copy() {
    let clinic = Clinic::new();
    let mut writer = Shell::on(&clinic.store());
    writer.run(&add_run("committed"));
    writer.kill();
    fs::remove_file(clinic.store().with_file_name("store.db-shm")).unwrap();
    let before = picture(&clinic.store());
    assert!(run_ids(&clinic.store()).contains(&"committed".to_owned()));
    assert_eq!(run_count(&command(&clinic.store())), 6);
    assert_eq!(picture(&clinic.store()), before);
}

#[test]
fn a_wal_that_cannot_be_copied_is_exit_3() {
    let clinic = Clinic::new();
    let mut writer = Shell::on(&clinic.store());
    writer.run(&add_run("committed"));
    writer.kill();
    fs::remove_file(clinic.store().with_file_name("store.db-shm")).unwrap();
    let answer = Answer::of(
        Command::new(LEGBOOK)
            .arg("doctor")
            .arg(clinic.store())
            .env("TMPDIR", clinic.path().join("no-such-folder"))
            .output()
            .unwrap(),
    );
    answer.refused(3, "cannot make a folder for a private copy");
}

#[test]
fn a_rollback_journal_beside_the_store_is_left_to_its_writer() {
    let clinic = Clinic::new();
    fs::write(clinic.store().with_file_name("store.db-journal"), "").unwrap();
    let error = look(&clinic.store(), false, None).unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::RollbackJournal { .. })), "{error}");
}

/// Opens, changes and closes the store at doctor's first step.
#[derive(Debug)]
struct Intruder {
    store: PathBuf,
    came: AtomicBool,
}

impl Progress for Intruder {
    fn more(&self, _steps: u64) {}

    fn step(&self) {
        if !self.came.swap(true, Ordering::SeqCst) {
            let mut shell = Shell::on(&self.store);
            shell.run(&add_run("intruder"));
            shell.close();
        }
    }
}

#[test]
fn a_store_that_another_process_opens_meanwhile_is_read_again() {
    let clinic = Clinic::new();
    let intruder = Intruder { store: clinic.store(), came: AtomicBool::new(false) };
    let options = Options { progress: &intruder, ..options(true, None) };
    let report = doctor::examine(&clinic.store(), options).unwrap();
    assert!(intruder.came.load(Ordering::SeqCst));
    assert!(report.runs.iter().any(|run| run.run_id == "intruder"), "{report:?}");
}

#[test]
fn on_a_read_only_mount_a_store_is_read_whether_it_was_closed_or_not() {
    for state in ["closed", "killed", "killed, no -shm"] {
        let clinic = Clinic::new();
        let mut writer = Shell::on(&clinic.store());
        writer.run(&add_run("committed"));
        if state == "closed" {
            writer.close()
        } else {
            writer.kill()
        }
        if state == "killed, no -shm" {
            fs::remove_file(clinic.store().with_file_name("store.db-shm")).unwrap();
        }
        let before = picture(&clinic.store());
        let script = r#"set -e
            mount --bind "$1" "$1"
            mount -o remount,bind,ro "$1"
            if touch "$1/probe" 2>/dev/null; then exit 90; fi
            exec "$2" doctor --full --json "$1/store.db""#;
        let mut unshare = Command::new("unshare");
        if !nix::unistd::geteuid().is_root() {
            unshare.arg("--map-root-user");
        }
        let folder = clinic.store().parent().unwrap().to_owned();
        let output = unshare.args(["--mount", "sh", "-c", script, "sh"]).arg(folder).arg(LEGBOOK).output();
        let answer = match output {
            Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("permitted") => {
                Answer::of(output)
            }
            refused => {
                eprintln!("skipped: no private mount can be made here: {refused:?}");
                return;
            }
        };
        assert_eq!((answer.code, run_count(&answer)), (0, 6), "{state}: {answer:?}");
        assert_eq!(picture(&clinic.store()), before, "{state}");
    }
}
