//! Running the real program in a folder of its own.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The built program.
pub(crate) const LEGBOOK: &str = env!("CARGO_BIN_EXE_legbook");

/// A folder with a `.git`, so that it is a workspace, with nothing else in it. Goes when dropped.
pub(crate) struct Workspace {
    folder: TempDir,
}

impl Workspace {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        Self { folder }
    }

    /// Its path, links resolved.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// Where a command run here makes its store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path().join(".legbook/store.db")
    }

    /// Where the run has its run.json.
    pub(crate) fn run_json(&self, run_id: &str) -> PathBuf {
        self.path().join(".legbook/runs").join(run_id).join("run.json")
    }

    /// The program, to be run here, without an environment that names another store.
    pub(crate) fn command<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(LEGBOOK);
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"LEGBOOK_") || name == "NO_COLOR" {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs the program here.
    pub(crate) fn legbook<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Answer {
        Answer::of(self.command(arguments).output().unwrap())
    }

    /// Runs the program here with `input` on its stdin.
    pub(crate) fn legbook_reading<I: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = I>,
        input: impl AsRef<[u8]>,
    ) -> Answer {
        self.legbook_reading_with(arguments, input, &[])
    }

    /// Runs the program here with `input` on its stdin and these variables.
    pub(crate) fn legbook_reading_with<I: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = I>,
        input: impl AsRef<[u8]>,
        variables: &[(&str, &str)],
    ) -> Answer {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        // A program that refuses before it reads closes the pipe; its answer tells why.
        let _ = child.stdin.take().unwrap().write_all(input.as_ref());
        Answer::of(child.wait_with_output().unwrap())
    }

    /// Every file and folder below, with the bytes of each file: what a refused command must leave as it was.
    pub(crate) fn picture(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut seen = Vec::new();
        look(self.folder.path(), &mut seen);
        seen.sort();
        seen
    }
}

fn look(folder: &Path, seen: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look(&path, seen);
            seen.push((path, None));
        } else {
            seen.push((path.clone(), Some(std::fs::read(&path).unwrap())));
        }
    }
}

/// What the program said.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Its exit code; -1 where a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The one JSON object of an answer that succeeded.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.code, 0, "{self:?}");
        assert_eq!(self.stdout.matches('\n').count(), 1, "one line: {self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// Requires this exit code, and returns stdout.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        &self.stdout
    }

    /// Requires a failure with this exit code that says `error: …` with `words` in it, then a remedy, and nothing on
    /// stdout.
    #[track_caller]
    pub(crate) fn refused(&self, code: i32, words: &str) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let mut lines = self.stderr.lines();
        let first = lines.next().unwrap_or_default();
        assert!(first.starts_with("error: ") && first.contains(words), "{self:?}");
        let remedy = lines.next().unwrap_or_default();
        assert!(remedy.starts_with("help: ") && remedy.len() > 12, "a remedy: {self:?}");
        assert_eq!(lines.next(), None, "{self:?}");
        &self.stderr
    }
}

/// A process that lives until it is dropped: the owner of a lock.
pub(crate) struct Process(std::process::Child);

impl Process {
    pub(crate) fn new() -> Self {
        Self(Command::new("sleep").arg("100000").stdout(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A run that this test process owns, with its token.
pub(crate) fn started(workspace: &Workspace, run_id: &str) -> String {
    let pid = std::process::id().to_string();
    let answer =
        workspace.legbook(["runs", "start", run_id, "--task", "sort", "--pid", &pid, "--json"]).json();
    answer["token"].as_str().unwrap().to_owned()
}

/// A run whose owner has died, with its token.
pub(crate) fn orphaned(workspace: &Workspace, run_id: &str) -> String {
    let owner = Process::new();
    let answer = workspace.legbook(["runs", "start", run_id, "--pid", &owner.pid(), "--json"]).json();
    answer["token"].as_str().unwrap().to_owned()
}

/// Stores the receipt `bytes` of a locked run behind its journal as a recovery does: under a claim, which then ends.
pub(crate) fn keep_receipt(connection: &rusqlite::Connection, run_id: &str, bytes: &[u8]) {
    let object = legbook::json::parse_object(bytes).unwrap();
    let failure = object.get("failure".as_bytes()).unwrap();
    let said = |key: &str| failure.get(key).and_then(legbook::json::Value::as_str).unwrap().to_owned();
    let claim =
        "UPDATE locks SET claim_id = 'c', claimed_at = last_write_at, claim_pid = 1 WHERE run_id = ?1";
    connection.execute(claim, [run_id]).unwrap();
    let insert = "INSERT INTO recoveries
            (run_id, after_sequence, recovered_at, owner_pid, prior_status, sha256, byte_size, receipt)
        VALUES (?1, (SELECT count(*) FROM events WHERE run_id = ?1), ?2, ?3, ?4, ?5, length(?6), ?6)";
    let owner_pid = failure.get("owner_pid").and_then(legbook::json::Value::as_i64);
    let sha256 = legbook::digest::Digest::of(bytes).to_hex();
    let row = rusqlite::params![run_id, said("recovered_at"), owner_pid, said("prior_status"), sha256, bytes];
    connection.execute(insert, row).unwrap();
    let unclaim = "UPDATE locks SET claim_id = NULL, claimed_at = NULL, claim_pid = NULL WHERE run_id = ?1";
    connection.execute(unclaim, [run_id]).unwrap();
}
