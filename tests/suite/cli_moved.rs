//! A folder that was moved with its store and its runs: nothing is made where it was, and a command tells the store.

use std::fs;
use std::path::PathBuf;

use crate::support::{Answer, Process, Workspace, started};

/// A workspace in `folder`/before, with an ended run, moved to `folder`/after.
struct Moved {
    outer: Workspace,
}

impl Moved {
    fn new() -> Self {
        let outer = Workspace::new();
        let moved = Self { outer };
        fs::create_dir_all(moved.before().join(".git")).unwrap();
        moved.at(&moved.before(), &["run", "--run-id", "r1", "--", "true"]).expect(0);
        fs::rename(moved.before(), moved.after()).unwrap();
        moved
    }

    fn before(&self) -> PathBuf {
        self.outer.path().join("before")
    }

    fn after(&self) -> PathBuf {
        self.outer.path().join("after")
    }

    fn at(&self, folder: &std::path::Path, arguments: &[&str]) -> Answer {
        Answer::of(self.outer.command(arguments).current_dir(folder).output().unwrap())
    }

    fn legbook(&self, arguments: &[&str]) -> Answer {
        self.at(&self.after(), arguments)
    }

    /// The command that a remedy ends with, typed.
    fn typed(&self, text: &str) -> Answer {
        let command = &text[text.rfind("legbook ").unwrap()..];
        let words = shlex::split(command.trim_end()).unwrap();
        self.legbook(&words.iter().skip(1).map(String::as_str).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check_known(&self) {
        assert!(!self.before().exists());
        let show = self.legbook(&["runs", "show", "r1", "--json"]).json();
        let run_dir = self.after().join(".legbook/runs/r1");
        assert_eq!(show["run_dir"], run_dir.to_str().unwrap());
        assert_eq!(show["run_json_state"], "last");
        self.legbook(&["doctor"]).expect(0);
    }
}

#[test]
fn no_command_makes_the_run_directory_where_it_was() {
    let moved = Moved::new();
    for arguments in
        [&["runs", "export", "r1"][..], &["runs", "start", "r1", "--resume"], &["runs", "recover", "r1"]]
    {
        let refused = moved.legbook(arguments);
        refused.refused(2, "is gone, and so is the workspace");
        assert!(refused.stderr.contains("runs recover r1 --run-dir "), "{refused:?}");
        assert!(!moved.before().exists(), "{arguments:?}");
    }
    let refused = moved.legbook(&["runs", "export", "r1"]);
    moved.typed(&refused.stderr).expect(0);
    moved.check_known();
}

#[test]
fn show_and_doctor_tell_the_command_that_tells_the_store() {
    let moved = Moved::new();
    let show = moved.legbook(&["runs", "show", "r1"]);
    assert!(show.expect(0).contains("run.json   is missing"), "{show:?}");
    let doctor = moved.legbook(&["doctor"]);
    let remedy = doctor.expect(1).lines().last().unwrap();
    assert!(remedy.contains("runs recover r1 --run-dir "), "{doctor:?}");
    moved.typed(remedy).expect(0);
    moved.check_known();

    let moved = Moved::new();
    let show = moved.legbook(&["runs", "show", "r1"]);
    moved.typed(&show.stderr).expect(0);
    moved.check_known();
}

#[test]
fn a_resumed_run_goes_on_where_it_is_told() {
    let moved = Moved::new();
    let pid = std::process::id().to_string();
    let arguments = ["runs", "start", "r1", "--resume", "--pid", &pid, "--run-dir", ".legbook/runs/r1"];
    moved.legbook(&arguments).expect(0);
    assert!(!moved.before().exists());
}

#[test]
fn a_run_directory_that_was_removed_is_made_anew() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    fs::remove_dir_all(workspace.run_json("r1").parent().unwrap()).unwrap();
    workspace.legbook(["runs", "export", "r1"]).expect(0);
    assert!(workspace.run_json("r1").exists());

    // Beside the store it is made anew also where the workspace is gone.
    let elsewhere = Workspace::new();
    let store = workspace.store();
    let start = ["--store", store.to_str().unwrap(), "run", "--run-id", "r2", "--", "true"];
    elsewhere.legbook(start).expect(0);
    drop(elsewhere);
    fs::remove_dir_all(workspace.run_json("r2").parent().unwrap()).unwrap();
    workspace.legbook(["runs", "export", "r2"]).expect(0);
    assert!(workspace.run_json("r2").exists());
}

#[test]
fn a_stale_run_that_was_moved_is_recovered_where_it_is() {
    let outer = Workspace::new();
    let inner = outer.path().join("before");
    fs::create_dir_all(inner.join(".git")).unwrap();
    let owner = Process::new();
    let start =
        outer.command(["runs", "start", "r1", "--pid", &owner.pid()]).current_dir(&inner).output().unwrap();
    Answer::of(start).expect(0);
    drop(owner);
    let after = outer.path().join("after");
    fs::rename(&inner, &after).unwrap();
    let at = |arguments: &[&str]| Answer::of(outer.command(arguments).current_dir(&after).output().unwrap());
    let remedy = at(&["runs", "show", "r1"]).stderr;
    assert!(remedy.contains("--run-dir"), "{remedy}");
    at(&["runs", "recover", "r1", "--run-dir", ".legbook/runs/r1"]).expect(0);
    assert!(!inner.exists());
    assert_eq!(at(&["runs", "list", "--json"]).json()["runs"][0]["status"], "failed");
}
