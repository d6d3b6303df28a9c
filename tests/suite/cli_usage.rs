//! A command line that can't be understood, and words that are none: what is said, and what to type instead.

use crate::support::{Workspace, started};

#[test]
fn every_parser_error_ends_with_help() {
    let workspace = Workspace::new();
    for (arguments, code, help) in [
        (&["start", "r1"][..], 2, "did you mean `legbook runs start`?"),
        (&["recover", "r1"], 2, "did you mean `legbook runs recover`?"),
        (&["list"], 2, "did you mean `legbook runs list`?"),
        (&["show", "r1"], 2, "did you mean `legbook runs show` or `legbook handoff show`?"),
        (&["nonsense"], 2, "`legbook --help` tells what it takes"),
        (&["runs", "start", "r1", "r2"], 2, "`legbook runs start --help` tells what it takes"),
        (&["runs", "nonsense"], 2, "`legbook runs --help` tells what it takes"),
        (&["doctor", "--nonsense"], 3, "`legbook doctor --help` tells what it takes"),
        (&["stage", "save"], 1, "`legbook stage save --help` tells what it takes"),
        (&["run", "true"], 2, "`legbook run --help` tells what it takes"),
    ] {
        let answer = workspace.legbook(arguments);
        assert_eq!(answer.expect(code), "", "{arguments:?}");
        assert!(answer.stderr.starts_with("error: "), "{answer:?}");
        assert_eq!(answer.stderr.lines().last().unwrap(), format!("help: {help}"), "{arguments:?}");
        assert!(!answer.stderr.contains("try '--help'"), "{answer:?}");
    }
    let status = workspace.legbook(["status"]);
    assert!(status.stderr.contains("help: did you mean `legbook runs status` or "), "{status:?}");
    let escape = workspace.legbook(["runs", "start", "r1", "--pid", "\u{1b}[31m"]);
    assert!(!escape.stderr.contains('\u{1b}'), "{escape:?}");
}

#[test]
fn an_assignment_that_is_none_says_how_it_is_typed() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let set = |assignment: &str| {
        workspace.legbook(["runs", "status", "r1", "planning", "--token", &token, "--set", assignment])
    };
    for (wrong, words) in [
        ("task=new", "a string needs its quotes, as in --set 'task=\"new\"'"),
        ("task={\"a\": $}", "a string needs its quotes"),
        ("status=3", "can't be set"),
        ("status=\"ok\"", "can't be set"),
    ] {
        let answer = set(wrong);
        answer.expect(2);
        assert!(answer.stderr.contains(words), "{answer:?}");
    }
    set("task=\"new\"").expect(0);
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let resumed = workspace.legbook(["runs", "start", "r1", "--resume", "--task", "other"]);
    resumed.expect(2);
    assert!(resumed.stderr.contains("'--resume' cannot be used with '--task <TASK>'"), "{resumed:?}");
}

#[test]
fn a_word_that_is_none_is_quoted_and_bounded() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let status = |word: &str| workspace.legbook(["runs", "status", "r1", word, "--token", &token]);
    status("sleeping").refused(2, "unknown status \"sleeping\"; known are started, planning");
    let long = "z".repeat(500);
    let answer = status(&long);
    assert!(answer.refused(2, "unknown status \"zzz").lines().next().unwrap().len() < 260, "{answer:?}");
    workspace.legbook(["runs", "start", "a b"]).refused(2, "invalid run id \"a b\": ");
    workspace.legbook_reading(["stage", "save", "A B"], "{}").refused(1, "invalid stage name \"A B\"");
    workspace.legbook(["stage", "--pipeline", "A/B", "begin"]).refused(1, "invalid pipeline name \"A/B\"");
}

#[test]
fn times_are_taken_in_the_forms_that_the_messages_name() {
    let workspace = Workspace::new();
    for (option, wrong, words) in [
        ("--lease", "2", "give a duration with its unit, like 90s, 30m, 2h"),
        ("--lease", "soon", "give a duration with its unit, like 90s, 30m, 2h"),
        ("--wait", "soon", "give seconds, or a duration like 90s, 30m, 2h"),
    ] {
        let answer = workspace.legbook(["runs", "start", "r1", option, wrong]);
        answer.expect(2);
        assert!(answer.stderr.contains(words), "{answer:?}");
    }
    for (run_id, wait) in [("r1", "5"), ("r2", "5s"), ("r3", "0.5"), ("r4", "1m 30s")] {
        workspace
            .legbook(["run", "--run-id", run_id, "--wait", wait, "--timeout", wait, "--", "true"])
            .expect(0);
    }
    let zero = workspace.legbook(["run", "--timeout", "0s", "--", "true"]);
    assert!(zero.stderr.contains("it is not above zero"), "{zero:?}");
}
