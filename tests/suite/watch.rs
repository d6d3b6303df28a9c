//! `runs watch`: each change as it comes, the command for a dead owner, and how it ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::Value;

use crate::support::{Workspace, orphaned, started};

/// A watch that runs while the test goes on.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn begin(workspace: &Workspace, arguments: &[&str]) -> Self {
        let mut command = workspace.command(["runs", "watch", "r1"].iter().chain(arguments));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line; waits for it.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    fn object(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Reads objects until one is like that, which must come before the end.
    fn until(&mut self, like: impl Fn(&Value) -> bool) -> Value {
        loop {
            let object = self.object();
            if like(&object) {
                return object;
            }
        }
    }

    /// Reads to the end; the exit code, what came on stdout and on stderr.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.lines.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

#[test]
fn each_change_is_a_line_until_the_run_ends() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let mut watch = Watch::begin(&workspace, &["--json"]);
    let first = watch.object();
    assert_eq!(
        (&first["status"], &first["events"], &first["ended"]),
        (&"started".into(), &2.into(), &false.into())
    );
    assert_eq!((&first["lock_state"], &first["recover"]), (&"live".into(), &Value::Null));
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
    let next = watch.object();
    assert_eq!((&next["status"], &next["events"]), (&"planning".into(), &4.into()));
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let last = watch.object();
    assert_eq!((&last["status"], &last["ended"]), (&"ok".into(), &true.into()));
    let (code, out, err) = watch.end();
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""), "nothing comes after the end");
}

#[test]
fn a_run_that_has_ended_badly_is_exit_code_1() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "failed", "--token", &token]).expect(0);
    let before = workspace.picture();
    let watched = workspace.legbook(["runs", "watch", "r1"]);
    assert!(watched.expect(1).contains("failed"), "{watched:?}");
    assert_eq!(watched.stdout.lines().count(), 1);
    assert!(workspace.picture() == before);
    workspace.legbook(["runs", "watch", "r9"]).refused(2, "there is no run r9");
    let token = started(&workspace, "r2");
    workspace.legbook(["runs", "finish", "r2", "dry-run", "--token", &token]).expect(0);
    workspace.legbook(["runs", "watch", "r2"]).expect(0);
}

#[test]
fn a_dead_owner_is_told_with_the_command_that_runs_as_printed() {
    let workspace = Workspace::new();
    let token = orphaned(&workspace, "r1");
    let mut watch = Watch::begin(&workspace, &["--json"]);
    let stale = watch.until(|object| object["lock_state"] == "stale");
    let recover = stale["recover"].as_str().unwrap().to_owned();
    // Another change under the same dead owner is a line without another note.
    let nobody = i32::MAX.to_string();
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token, "--pid", &nobody]).expect(0);
    watch.until(|object| object["status"] == "planning" && object["lock_state"] == "stale");
    let arguments: Vec<&str> = recover.strip_prefix("legbook ").unwrap().split(' ').collect();
    workspace.legbook(&arguments).expect(0);
    watch.until(|object| object["ended"] == true);
    let (code, _, err) = watch.end();
    assert_eq!(code, Some(1), "the receipt says failed");
    assert_eq!(err, format!("the owner is dead; end the run with: {recover}\n"), "told once");
}

#[test]
fn a_dead_owners_run_that_is_written_to_goes_on() {
    let workspace = Workspace::new();
    let token = orphaned(&workspace, "r1");
    let mut watch = Watch::begin(&workspace, &[]);
    assert!(watch.line().trim_end().ends_with("lock stale"));
    let pid = std::process::id().to_string();
    workspace.legbook(["runs", "status", "r1", "ok", "--token", &token, "--pid", &pid]).expect(0);
    let (code, out, _) = watch.end();
    assert_eq!(code, Some(0));
    assert!(out.trim_end().contains("  ok  "), "{out}");
}

#[test]
fn a_watch_whose_reader_has_gone_ends_though_nothing_changes() {
    let workspace = Workspace::new();
    let _token = started(&workspace, "r1");
    let mut watch = Watch::begin(&workspace, &[]);
    assert!(watch.line().contains("started"));
    let Watch { mut child, lines } = watch;
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
