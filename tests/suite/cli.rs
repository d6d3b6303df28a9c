//! What holds for the whole command line: usage, absent stores, closed and full outputs, the store's own commands.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::support::{Answer, Workspace, started};

#[test]
fn looking_at_an_absent_store_makes_nothing() {
    let workspace = Workspace::new();
    let before = workspace.picture();
    workspace.legbook(["db", "info"]).refused(2, "there is no store at ");
    let path = workspace.legbook(["db", "path", "--json"]).json();
    assert_eq!(path["path"], workspace.store().to_str().unwrap());
    assert_eq!(path["exists"], false);
    assert_eq!(workspace.picture(), before);
}

#[test]
fn a_bound_moves_and_only_within_what_it_allows() {
    let workspace = Workspace::new();
    let moved = workspace.legbook(["db", "set", "max-journal-events", "4096", "--json"]).json();
    assert_eq!(moved, serde_json::json!({"key": "max-journal-events", "value": 4096, "previous": 2048}));
    workspace.legbook(["db", "set", "max-journal-events", "7"]).refused(2, "from 8 to 10000000");
    workspace.legbook(["db", "set", "max-journal-events", "-1"]).refused(2, "from 8 to 10000000");
    workspace.legbook(["db", "set", "max-nonsense", "8"]).refused(2, "no such setting");
    let info = workspace.legbook(["db", "info", "--json"]).json();
    assert_eq!(info["settings"]["max-journal-events"], 4096);
    assert_eq!(info["path"], workspace.store().to_str().unwrap());
}

#[test]
fn json_answers_are_in_pythons_default_form() {
    let workspace = Workspace::new();
    let answer = workspace.legbook(["db", "set", "max-artifact-bytes", "1024", "--json"]);
    assert_eq!(
        answer.expect(0),
        "{\"key\": \"max-artifact-bytes\", \"value\": 1024, \"previous\": 268435456}\n"
    );
}

#[test]
fn quiet_says_nothing_of_what_was_done() {
    let workspace = Workspace::new();
    let answer = workspace.legbook(["-q", "db", "set", "max-journal-events", "600"]);
    assert_eq!((answer.expect(0), answer.stderr.as_str()), ("", ""));
}

#[test]
fn a_command_line_that_makes_no_sense_is_refused_with_2() {
    let workspace = Workspace::new();
    for arguments in
        [&["nonsense"][..], &["db"], &["db", "set", "max-journal-events"], &["--nonsense", "db", "info"]]
    {
        let answer = workspace.legbook(arguments);
        answer.expect(2);
        assert!(!answer.stderr.is_empty(), "{answer:?}");
    }
    let not_text = OsStr::from_bytes(b"\xff.db");
    let answer = workspace.legbook([OsStr::new("--store"), not_text, OsStr::new("db"), OsStr::new("info")]);
    answer.expect(2);
    assert!(answer.stderr.starts_with("error: invalid UTF-8"), "{answer:?}");
}

#[test]
fn each_group_has_its_own_code_for_a_line_that_makes_no_sense() {
    let workspace = Workspace::new();
    let cases: [(&[&str], i32); 6] = [
        (&["runs", "show"], 2),
        (&["doctor", "--nonsense"], 3),
        (&["--json", "doctor", "--accept-heads"], 3),
        (&["--store", "x.db", "doctor", "--nonsense"], 3),
        (&["stage", "nonsense"], 1),
        (&["handoff", "nonsense"], 2),
    ];
    for (arguments, code) in cases {
        workspace.legbook(arguments).expect(code);
    }
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly_and_a_full_disk_does_not() {
    let workspace = Workspace::new();
    workspace.legbook(["db", "set", "max-journal-events", "600"]).expect(0);
    for arguments in [&["db", "info"][..], &["completions", "bash"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = workspace.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let answer = Answer::of(output);
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{arguments:?}");
    }
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = workspace.command(["db", "info"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    Answer::of(output).refused(1, "cannot write to the standard output");
}

/// What the program prints where its stdout is a terminal.
fn on_a_terminal(workspace: &Workspace, arguments: &[&str], no_colour: &str) -> String {
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut command = workspace.command(arguments);
    let child =
        command.env("NO_COLOR", no_colour).env("TERM", "xterm").stdout(terminal.slave).spawn().unwrap();
    // The command holds the terminal's other end too; reading ends when nobody does.
    drop(command);
    let mut printed = Vec::new();
    // Linux ends the reading of a terminal that nobody holds any more with an error.
    let _ = fs::File::from(terminal.master).read_to_end(&mut printed);
    assert!(child.wait_with_output().unwrap().status.success());
    String::from_utf8(printed).unwrap()
}

#[test]
fn colour_is_for_terminals_and_not_with_no_color() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let show = ["runs", "show", "r1"];
    assert!(on_a_terminal(&workspace, &show, "").contains("\u{1b}["));
    assert!(!on_a_terminal(&workspace, &show, "1").contains('\u{1b}'));
    assert!(!workspace.legbook(show).expect(0).contains('\u{1b}'));
}
