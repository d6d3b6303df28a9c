//! Real child processes that do one thing with a store and may die or stop at a numbered step of it.
//!
//! A child is this very test binary, told by an environment variable to run the test [`the_child`] and nothing else.
//! The shipped program has no such switch.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use legbook::db::{Store, StoreOptions};
use legbook::error::Error;
use legbook::id::RunId;
use legbook::legacy;
use legbook::lock::OwnerToken;
use legbook::recovery::{self, Options};
use legbook::run::{self, Credentials};
use legbook::step::{Observer, Step};
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::recovery_bench::snapshot;

const ROLE: &str = "LEGBOOK_TEST_CHILD";
const TEST: &str = "crash_child::the_child";

/// What a child does, and where it comes to an end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cut {
    /// The step, and at which of its occurrences, from 1.
    pub(crate) at: Option<(Step, u32)>,
    /// To stop there until it is continued, not to die.
    pub(crate) stop: bool,
}

/// A running child.
pub(crate) struct Crasher {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Crasher {
    /// Starts a child. It does nothing before [`Crasher::go`].
    pub(crate) fn spawn(store: &Path, role: &str, arguments: &[&str], cut: Cut) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture", "--test-threads=1", "-q"]);
        command.env(ROLE, role).env("STORE", store).env("ARGUMENTS", arguments.join("\n"));
        if let Some((step, occurrence)) = cut.at {
            command.env("CUT_STEP", step.number().to_string()).env("CUT_OCCURRENCE", occurrence.to_string());
            command.env("CUT_STOPS", if cut.stop { "yes" } else { "no" });
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { stdin: child.stdin.take(), child, lines }
    }

    /// A child that begins at once.
    pub(crate) fn start(store: &Path, role: &str, arguments: &[&str], cut: Cut) -> Self {
        let mut crasher = Self::spawn(store, role, arguments, cut);
        crasher.go();
        crasher
    }

    pub(crate) fn go(&mut self) {
        self.stdin.take().unwrap().write_all(b"\n").unwrap();
    }

    /// Waits until it stands at the gate.
    pub(crate) fn ready(&mut self) {
        assert_eq!(self.words().as_deref(), Some("ready"));
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Waits until the child has stopped itself.
    pub(crate) fn stopped(&self) {
        let status = waitpid(self.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert!(matches!(status, WaitStatus::Stopped(_, Signal::SIGSTOP)), "{status:?}");
    }

    /// The next thing that the child says, once it is through the gate. `None` at its end.
    pub(crate) fn hear(&mut self) -> Option<String> {
        std::iter::from_fn(|| self.words()).find(|words| words != "ready")
    }

    fn words(&mut self) -> Option<String> {
        // The test harness talks too, and a child that is killed may leave half a line.
        self.lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.strip_prefix("say ")?.to_owned()))
    }

    /// All that it still says, and how it ended.
    pub(crate) fn end(mut self) -> (Vec<String>, ExitStatus) {
        let said = std::iter::from_fn(|| self.hear()).collect();
        (said, self.child.wait().unwrap())
    }

    /// Requires that it dies of the cut; gives what it said.
    pub(crate) fn cut(self) -> Vec<String> {
        use std::os::unix::process::ExitStatusExt;
        let (said, status) = self.end();
        assert_eq!(status.signal(), Some(Signal::SIGKILL as i32), "{said:?} {status:?}");
        said
    }

    /// Requires that it comes to a good end; gives what it said.
    pub(crate) fn done(self) -> Vec<String> {
        let (said, status) = self.end();
        assert!(status.success(), "{said:?} {status:?}");
        said
    }
}

/// Kills or stops its own process at one occurrence of a step: nothing is flushed, no destructor runs.
#[derive(Debug)]
struct CutsShort {
    step: u8,
    left: AtomicU32,
    signal: Signal,
}

impl Observer for CutsShort {
    fn reached(&self, step: Step) {
        if step.number() == self.step && self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            // To this thread: a stop of the process alone would let it go on for a moment.
            raise(self.signal).unwrap();
        }
    }
}

fn say(words: impl std::fmt::Display) {
    let mut stdout = std::io::stdout().lock();
    // Whoever started this process may be gone.
    let _ = stdout.write_all(format!("\nsay {words}\n").as_bytes()).and_then(|()| stdout.flush());
}

fn options() -> StoreOptions {
    let text = |name| std::env::var(name).ok();
    let Some(step) = text("CUT_STEP") else { return StoreOptions::default() };
    let observer = CutsShort {
        step: step.parse().unwrap(),
        left: AtomicU32::new(text("CUT_OCCURRENCE").unwrap().parse().unwrap()),
        signal: if text("CUT_STOPS").as_deref() == Some("yes") { Signal::SIGSTOP } else { Signal::SIGKILL },
    };
    StoreOptions { observer: Arc::new(observer), ..StoreOptions::default() }
}

/// What a child process does; without the variable that makes it one, nothing.
#[test]
fn the_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let store = std::env::var("STORE").unwrap();
    let arguments = std::env::var("ARGUMENTS").unwrap();
    let arguments: Vec<&str> = arguments.split('\n').collect();
    say("ready");
    let mut gate = [0];
    std::io::stdin().read_exact(&mut gate).unwrap();
    if role == "open" {
        Store::open(store, options()).unwrap();
        return say("open");
    }
    let store = Store::open_existing(store, options()).unwrap();
    match (role.as_str(), arguments.as_slice()) {
        ("write", [run_id, workspace, plan]) => write(&store, run_id, Path::new(workspace), plan),
        ("load", [run_id, workspace, count]) => load(&store, run_id, Path::new(workspace), count),
        ("endless", [run_id, workspace, count]) => {
            load(&store, run_id, Path::new(workspace), count);
            // It ends by a signal alone, however fast the machine is.
            loop {
                std::thread::park();
            }
        }
        ("share", [run_id, token, name, count]) => share(&store, run_id, token, name, count),
        ("one", [run_id, token, owner_pid, payload]) => one(&store, run_id, token, owner_pid, payload),
        ("recover", [run_id]) => recover(&store, run_id),
        ("import", [folder]) => import(&store, Path::new(folder)),
        other => panic!("no such child: {other:?}"),
    }
}

fn id(run_id: &str) -> RunId {
    RunId::parse(run_id).unwrap()
}

/// Enters the run; its owner is this process. Says the token.
fn register(store: &Store, run_id: &RunId, workspace: &Path) -> Credentials {
    let run_dir = workspace.join("run");
    let token = run::register(store, run_id, &run_dir, workspace, std::process::id()).unwrap();
    say(format_args!("token {}", token.expose()));
    Credentials { token: Some(token), owner_pid: None }
}

/// Writes the snapshots of a plan: `status:n` with blanks between, `finish` for a finish. Says each that is done.
fn write(store: &Store, run_id: &str, workspace: &Path, plan: &str) {
    let run_id = id(run_id);
    let credentials = register(store, &run_id, workspace);
    for part in plan.split(' ') {
        let written = match part.split_once(':') {
            None => run::finish(store, &run_id, None, &credentials).unwrap().written.unwrap(),
            Some((status, n)) => {
                let payload = snapshot(status, n.parse().unwrap());
                run::write(store, &run_id, payload.as_bytes(), &credentials).unwrap()
            }
        };
        say(format_args!("ack {}", written.sha256));
    }
}

/// Writes `count` snapshots as fast as it can.
fn load(store: &Store, run_id: &str, workspace: &Path, count: &str) {
    let run_id = id(run_id);
    let credentials = register(store, &run_id, workspace);
    for n in 0..count.parse().unwrap() {
        let status = ["planning", "dispatching"][n as usize % 2];
        let written = run::write(store, &run_id, snapshot(status, n).as_bytes(), &credentials).unwrap();
        say(format_args!("ack {}", written.sha256));
    }
}

/// Writes `count` snapshots of its own to a run that others write to with the same token. Says each answer.
fn share(store: &Store, run_id: &str, token: &str, name: &str, count: &str) {
    let credentials = Credentials { token: Some(OwnerToken::parse(token).unwrap()), owner_pid: None };
    for n in 0..count.parse::<u32>().unwrap() {
        let payload = format!(
            r#"{{"status": "planning", "who": "{name}", "n": {n}, "lifecycle_journal_requested": true}}"#
        );
        match run::write(store, &id(run_id), payload.as_bytes(), &credentials) {
            Ok(written) => say(format_args!("ack {} {}", written.sequence.unwrap(), written.sha256)),
            Err(error) => say(format_args!("refused {error}")),
        }
    }
}

/// Writes one snapshot, as a call of a run of many short ones does.
fn one(store: &Store, run_id: &str, token: &str, owner_pid: &str, payload: &str) {
    let credentials = Credentials {
        token: Some(OwnerToken::parse(token).unwrap()),
        owner_pid: Some(owner_pid.parse().unwrap()),
    };
    match run::write(store, &id(run_id), payload.as_bytes(), &credentials) {
        Ok(written) => say(format_args!("ack {}", written.sha256)),
        Err(error) => say(format_args!("refused {error}")),
    }
}

/// Imports the run directories in `folder`. Says each that is taken.
fn import(store: &Store, folder: &Path) {
    let found = legacy::run_directories(folder).unwrap();
    let directories: Vec<PathBuf> = found.into_iter().map(|directory| directory.path).collect();
    let ended = legacy::import_all(store, &directories, false, |_, outcome| {
        outcome.map(|taken| say(format_args!("{} {}", taken.run_id, taken.outcome.word())))
    });
    ended.unwrap();
}

fn recover(store: &Store, run_id: &str) {
    match recovery::recover(store, &id(run_id), &Options::default()) {
        Ok(outcome) => say(outcome.ending.word()),
        Err(Error::Lock(error)) => say(format_args!("refused {error}")),
        Err(error) => panic!("{error}"),
    }
}
