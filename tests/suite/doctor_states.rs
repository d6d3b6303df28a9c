//! Every state that a crash can leave of a store's three files: doctor says what is committed, and changes nothing.
//!
//! A store gets commits that stay in its `-wal`. The states are made from it: the `-wal` cut at each length around its header
//! and its frames, and the database file in the middle of a checkpoint, with part of the pages moved and one page torn; each with
//! a `-shm` that is absent, empty, short, of another time, or good. What is committed is counted from the `-wal` itself:
//! a frame that ends a commit says so (SQLite's file format, 4.1).

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use legbook::doctor::{self, Options};
use rusqlite::Connection;

use crate::doctor::{Clinic, options};
use crate::doctor_open::{Shell, add_run, picture};
use crate::support::{Answer, LEGBOOK};

const HEADER: usize = 32;
const FRAME: usize = 24 + PAGE;
const PAGE: usize = 4096;
const RUNS_BEFORE: usize = 5;

/// The three files of a store whose writer was killed, and the database file as a whole checkpoint leaves it.
struct Killed {
    /// Holds the runs' directories.
    _clinic: Clinic,
    main: Vec<u8>,
    checkpointed: Vec<u8>,
    wal: Vec<u8>,
    shm: Vec<u8>,
    shm_before: Vec<u8>,
}

impl Killed {
    fn new() -> Self {
        let clinic = Clinic::new();
        let file = |suffix: &str| clinic.store().with_file_name(format!("store.db{suffix}"));
        let mut writer = Shell::on(&clinic.store());
        writer.run("PRAGMA wal_autocheckpoint = 0;");
        writer.run(&add_run("first"));
        let shm_before = fs::read(file("-shm")).unwrap();
        writer.run(&add_run("second"));
        writer.run(&add_run("third"));
        writer.run(&format!("BEGIN IMMEDIATE; {}", add_run("open")));
        writer.kill();
        let [main, wal, shm] = ["", "-wal", "-shm"].map(|suffix| fs::read(file(suffix)).unwrap());
        let other = tempfile::tempdir().unwrap();
        let copy = other.path().join("store.db");
        fs::write(&copy, &main).unwrap();
        fs::write(other.path().join("store.db-wal"), &wal).unwrap();
        drop(Connection::open(&copy).and_then(|copy| {
            copy.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
        }));
        let checkpointed = fs::read(&copy).unwrap();
        Self { _clinic: clinic, main, checkpointed, wal, shm, shm_before }
    }

    /// How many runs are committed in the first `length` bytes of the -wal.
    fn runs(&self, length: usize) -> usize {
        let whole = &self.wal[..length];
        let frames = whole.get(HEADER..).unwrap_or_default().chunks_exact(FRAME);
        RUNS_BEFORE + frames.filter(|frame| frame[4..8] != [0; 4]).count()
    }

    /// The database file with the first `moved` changed pages moved, and the first half of the next one.
    fn in_checkpoint(&self, moved: usize) -> Vec<u8> {
        let mut file = self.main.clone();
        file.resize(self.main.len().max(self.checkpointed.len()), 0);
        let page =
            |bytes: &[u8], number: usize| bytes.get(number * PAGE..(number + 1) * PAGE).map(<[u8]>::to_vec);
        let changed = (0..self.checkpointed.len() / PAGE)
            .filter(|number| page(&self.main, *number) != page(&self.checkpointed, *number));
        for (count, number) in changed.enumerate().take(moved + 1) {
            let bytes = if count < moved { PAGE } else { PAGE / 2 };
            let range = number * PAGE..number * PAGE + bytes;
            file[range.clone()].copy_from_slice(&self.checkpointed[range]);
        }
        file
    }

    fn states(&self) -> Vec<State> {
        let frames = (self.wal.len() - HEADER) / FRAME;
        assert!(frames > 5, "{frames}");
        // Where the header ends, and each commit; between two commits nothing depends on the length.
        let is_commit =
            |frame: &usize| self.runs(HEADER + frame * FRAME) > self.runs(HEADER + frame * FRAME - 1);
        let ends = (0..=frames).filter(|frame| *frame == 0 || is_commit(frame));
        let around =
            ends.map(|frame| HEADER + frame * FRAME).flat_map(|end| [end - 1, end, end + 1, end + 24]);
        let lengths: BTreeSet<usize> =
            around.chain([0, 1, 31]).filter(|length| *length <= self.wal.len()).collect();
        let shms = [
            ("absent", None),
            ("good", Some(self.shm.clone())),
            ("empty", Some(Vec::new())),
            ("short", Some(self.shm[..100].to_vec())),
            ("older", Some(self.shm_before.clone())),
        ];
        let mut states = Vec::new();
        for (shm_name, shm) in &shms {
            // SQLite believes nothing of a -shm that nobody holds, so the odd ones are tried with fewer states.
            let is_odd = !["absent", "good"].contains(shm_name);
            for &length in &lengths {
                if is_odd && length > HEADER + 1 && length != self.wal.len() {
                    continue;
                }
                states.push(State {
                    name: format!("-wal of {length} bytes, -shm {shm_name}"),
                    main: self.main.clone(),
                    wal: self.wal[..length].to_vec(),
                    shm: shm.clone(),
                    is_odd,
                    runs: self.runs(length),
                });
            }
            for moved in (0..frames).step_by(if is_odd { frames / 2 } else { 1 }) {
                states.push(State {
                    name: format!("{moved} pages moved, -shm {shm_name}"),
                    main: self.in_checkpoint(moved),
                    wal: self.wal.clone(),
                    shm: shm.clone(),
                    is_odd,
                    runs: self.runs(self.wal.len()),
                });
            }
            // The first sector of the -wal was lost: nothing in it counts, and nothing was moved.
            let mut garbage = self.wal.clone();
            garbage[..HEADER].fill(7);
            states.push(State {
                name: format!("a -wal with a damaged header, -shm {shm_name}"),
                main: self.main.clone(),
                wal: garbage,
                shm: shm.clone(),
                is_odd: true,
                runs: RUNS_BEFORE,
            });
        }
        states
    }
}

struct State {
    name: String,
    main: Vec<u8>,
    wal: Vec<u8>,
    shm: Option<Vec<u8>>,
    /// One that is also looked at as beside other users of this process.
    is_odd: bool,
    /// The runs that are committed.
    runs: usize,
}

impl State {
    /// Makes the files in a new folder below `parent`; gives the store's path.
    fn place(&self, parent: &Path, number: usize) -> PathBuf {
        let folder = parent.join(number.to_string());
        fs::DirBuilder::new().mode(0o700).create(&folder).unwrap();
        let store = folder.join("store.db");
        let write = |suffix: &str, bytes: &[u8]| {
            let path = folder.join(format!("store.db{suffix}"));
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
            file.write_all(bytes).unwrap();
        };
        write("", &self.main);
        write("-wal", &self.wal);
        if let Some(shm) = &self.shm {
            write("-shm", shm);
        }
        store
    }
}

#[test]
fn in_every_state_of_the_three_files_doctor_says_what_is_committed() {
    let killed = Killed::new();
    let folder = tempfile::tempdir().unwrap();
    for (number, state) in killed.states().iter().enumerate() {
        let store = state.place(folder.path(), number);
        let before = picture(&store);
        for alone in if state.is_odd { vec![true, false] } else { vec![true] } {
            let report = doctor::examine(&store, Options { alone, ..options(false, None) });
            let report = report.unwrap_or_else(|error| unreachable!("{}: {error}", state.name));
            assert_eq!(report.findings, [], "{}, alone: {alone}", state.name);
            assert_eq!(report.runs.len(), state.runs, "{}, alone: {alone}", state.name);
            if alone {
                assert_eq!(picture(&store), before, "{}", state.name);
            }
        }
        fs::remove_dir_all(store.parent().unwrap()).unwrap();
    }
}

#[test]
fn in_a_folder_that_cannot_be_written_every_state_is_read_as_well() {
    let killed = Killed::new();
    let folder = tempfile::tempdir().unwrap();
    let states = killed.states();
    let stores: Vec<PathBuf> =
        states.iter().enumerate().map(|(number, state)| state.place(folder.path(), number)).collect();
    let script = r#"set -e
        mount --bind "$1" "$1"
        mount -o remount,bind,ro "$1"
        if touch "$1/probe" 2>/dev/null; then exit 90; fi
        shift
        exec "$@""#;
    let mut unshare = Command::new("unshare");
    if !nix::unistd::geteuid().is_root() {
        unshare.arg("--map-root-user");
    }
    unshare.args(["--mount", "sh", "-c", script, "sh"]).arg(folder.path());
    let output = unshare.args([LEGBOOK, "doctor", "--json"]).args(&stores).output();
    let answer = match output {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("permitted") => Answer::of(output),
        refused => {
            eprintln!("skipped: no private mount can be made here: {refused:?}");
            return;
        }
    };
    let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    for (state, said) in states.iter().zip(said["stores"].as_array().unwrap()) {
        assert_eq!(said["outcome"], "ok", "{}: {said}", state.name);
        assert_eq!(said["runs"].as_array().unwrap().len(), state.runs, "{}", state.name);
    }
    assert_eq!(answer.code, 0);
}
