//! A command that is tried again and again from one state of a workspace: what the tests of failing disks and of power cuts
//! share.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{Answer, Process, Workspace};

/// The token of each run that a trial starts.
pub(crate) const TOKEN: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// What earlier commands acknowledged, and nothing but the end of the pipeline takes away.
pub(crate) const ACKNOWLEDGED: [&str; 3] = [
    "SELECT run_id || line FROM events",
    "SELECT pipeline || name || sha256 FROM stages",
    "SELECT bundle_id FROM rounds",
];

/// A command that is tried.
pub(crate) struct Tried<'a> {
    pub(crate) words: &'a [&'a str],
    pub(crate) input: &'a str,
    /// The exit codes that a failure may give.
    pub(crate) codes: &'a [i32],
    /// Whether the command has done its work.
    pub(crate) done: &'a dyn Fn(&Workspace) -> bool,
}

/// A workspace whose state is kept and put back, and a folder beside it for what is not part of the state.
pub(crate) struct Bench {
    pub(crate) workspace: Workspace,
    pub(crate) aside: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self { workspace: Workspace::new(), aside: tempfile::tempdir().unwrap() }
    }

    /// Compiles `tests/shim/<name>.c`, to be preloaded.
    pub(crate) fn shim(&self, name: &str) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/shim/{name}.c"));
        let shim = self.aside.path().join(format!("{name}.so"));
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(source).arg("-ldl");
        assert!(cc.status().unwrap().success());
        shim
    }

    /// Where the state is kept.
    pub(crate) fn kept(&self) -> PathBuf {
        self.aside.path().join("before")
    }

    /// Keeps the workspace as it is now.
    pub(crate) fn keep(&self) {
        let _ = fs::remove_dir_all(self.kept());
        copy(&self.workspace.path(), &self.kept());
    }

    /// Puts the workspace back as it was kept, under the same path.
    pub(crate) fn put_back(&self) {
        let path = self.workspace.path();
        fs::remove_dir_all(&path).unwrap();
        copy(&self.kept(), &path);
    }

    /// Runs the command with these variables.
    pub(crate) fn call_with(&self, tried: &Tried<'_>, variables: &[(&str, PathBuf)]) -> Answer {
        let mut command = self.workspace.command(tried.words);
        command.env("LEGBOOK_TOKEN", TOKEN);
        for (name, value) in variables {
            command.env(name, value);
        }
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(tried.input.as_bytes());
        Answer::of(child.wait_with_output().unwrap())
    }

    /// The answers to `questions`; none without a store.
    pub(crate) fn rows(&self, questions: &[&str]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        if self.workspace.store().exists() {
            let plain = Connection::open(self.workspace.store()).unwrap();
            for sql in questions {
                let mut statement = plain.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
                found.extend(rows.map(Result::unwrap));
            }
        }
        found
    }

    /// Starts a run that the process `pid` owns.
    pub(crate) fn start(&self, run_id: &str, pid: &str) {
        let start = ["runs", "start", run_id, "--pid", pid, "--token", TOKEN];
        self.workspace.legbook(start).expect(0);
    }

    /// Starts a run in a folder of its own, whose owner dies.
    pub(crate) fn start_orphan_in(&self, folder: &str, run_id: &str) {
        fs::create_dir(self.workspace.path().join(folder)).unwrap();
        let owner = Process::new();
        let start = ["runs", "start", run_id, "--pid", &owner.pid(), "--workspace", folder];
        self.workspace.legbook(start).expect(0);
    }
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// The files below `folder` that have a temporary name.
pub(crate) fn temporary(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if name.contains(".tmp") {
            found.push(path.clone());
        }
        if path.is_dir() {
            found.extend(temporary(&path));
        }
    }
    found
}

/// The process of this test, as the owner of a run.
pub(crate) fn own_pid() -> String {
    std::process::id().to_string()
}

/// The status of the run, if run.json is its last snapshot, and a run that has ended holds no lock.
pub(crate) fn status(workspace: &Workspace, run_id: &str) -> Option<String> {
    let shown = workspace.legbook(["runs", "show", run_id, "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).ok()?;
    let status = shown["snapshot"]["status"].as_str()?.to_owned();
    let held = shown["lock_state"] != "absent" && matches!(&*status, "ok" | "failed");
    (shown["run_json_current"] == true && !held).then_some(status)
}
