//! A store full of hostile text: whatever a command prints for people has its hidden characters escaped, on stdout and on
//! stderr, and with `--json` too. The real program, and rows as somebody with a plain shell could write them.

use std::fs;
use std::process::{Command, Stdio};

use legbook::text::is_hidden;
use rusqlite::Connection;

use crate::handoff_cli::{POOL, judgments, report};
use crate::support::{LEGBOOK, Workspace, orphaned};

/// Drives a terminal, ends a line, turns the direction of writing, and writes in the block of tags.
const HOSTILE: &str = "a\u{1b}[2J\u{7}\r\nb\u{9b}1m\u{202e}c\u{2028}d\u{2029}\u{200b}\u{e0041}\u{7f}";

const COMMANDS: &[&str] = &[
    "runs list",
    "runs show r1",
    "runs show r2",
    "runs lock r1",
    "runs lock r2",
    "runs events r1",
    "runs readiness r1",
    "runs diff r1 1 2",
    "runs at r1 1",
    "runs recover r2 --dry-run",
    "runs export r1 --to out",
    "stage status --pipeline p",
    "handoff status",
    "handoff show BUNDLE",
    "handoff queue",
    "handoff queue cover gemma",
    "handoff judge judgments.json",
    "handoff report report.json",
    "handoff finalize",
    "doctor",
    "db info",
];

/// A workspace with runs, stages and a finalized round, each with hostile text where a command takes it.
fn filled() -> (Workspace, String) {
    let workspace = Workspace::new();
    let pid = std::process::id().to_string();
    let start = ["runs", "start", "r1", "--task", HOSTILE, "--pid", &pid, "--json"];
    let token = workspace.legbook(start).json()["token"].as_str().unwrap().to_owned();
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    orphaned(&workspace, "r2");
    workspace.legbook_reading(["stage", "save", "--pipeline", "p", "collect"], "{}");
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    let pool = POOL
        .replace("\"gemma\"", &hostile)
        .replace("\"Gemma 4 is out\"", &hostile)
        .replace("\"old news\"", &hostile);
    let nominated = workspace.legbook_reading(["handoff", "nominate", "--json"], &pool).json();
    let bundle_id = nominated["bundle_id"].as_str().unwrap().to_owned();
    let judgments = judgments(&bundle_id).replace("\"Gemma 4 chat\"", &hostile);
    workspace.legbook_reading(["handoff", "judge", "-"], &judgments).expect(0);
    let report = report(&bundle_id).replace("\"Gemma 4 chat\"", &hostile);
    workspace.legbook_reading(["handoff", "report", "-"], &report).expect(0);
    workspace.legbook(["handoff", "finalize"]).expect(0);
    fs::write(workspace.path().join("judgments.json"), judgments).unwrap();
    fs::write(workspace.path().join("report.json"), report).unwrap();
    (workspace, bundle_id)
}

fn check(workspace: &Workspace, bundle_id: &str, what: &str, forms: &[bool]) {
    for command in COMMANDS {
        // With --json this one gives a nomination back as it was spelled: contract handoff.md, the pool.
        let may_be_json = !command.starts_with("handoff judge");
        for &json in forms.iter().filter(|json| may_be_json || !**json) {
            let command = command.replace("BUNDLE", bundle_id);
            let arguments = command.split(' ').chain(json.then_some("--json"));
            let answer = workspace.legbook(arguments);
            for (stream, said) in [("stdout", &answer.stdout), ("stderr", &answer.stderr)] {
                let hidden = said.chars().find(|character| is_hidden(*character) && *character != '\n');
                assert_eq!(hidden, None, "{what}: {command}, json {json}, {stream}: {said:?}");
            }
            assert!(!answer.stderr.contains("panicked"), "{what}: {command}: {answer:?}");
            assert!(!answer.stderr.contains("Usage:"), "{command}: {answer:?}");
        }
    }
}

#[test]
fn text_that_was_given_to_a_command_is_printed_escaped() {
    let (workspace, bundle_id) = filled();
    let list = workspace.legbook(["runs", "list"]);
    assert!(list.expect(0).contains("\\u{1b}[2J"), "{list:?}");
    check(&workspace, &bundle_id, "as given", &[false, true]);
}

#[test]
fn text_that_a_shell_wrote_into_any_table_is_printed_escaped() {
    let (workspace, bundle_id) = filled();
    let kept = workspace.path().join("kept.db");
    let store = workspace.store();
    let plain = Connection::open(&store).unwrap();
    plain.execute("VACUUM INTO ?1", [kept.to_str().unwrap()]).unwrap();
    drop(plain);
    let names = |connection: &Connection, sql: &str| -> Vec<String> {
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = names(
        &Connection::open(&kept).unwrap(),
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    );
    assert!(tables.len() > 12, "{tables:?}");
    for table in tables {
        for side in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{side}", store.display()));
        }
        fs::copy(&kept, &store).unwrap();
        let plain = Connection::open(&store).unwrap();
        plain.pragma_update(None, "foreign_keys", false).unwrap();
        for trigger in names(&plain, "SELECT name FROM sqlite_schema WHERE type = 'trigger'") {
            plain.execute_batch(&format!("DROP TRIGGER \"{trigger}\"")).unwrap();
        }
        let columns =
            names(&plain, &format!("SELECT name FROM pragma_table_info('{table}') WHERE type = 'TEXT'"));
        for column in columns {
            let sql = format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = \"{column}\" || ?1");
            let _ = plain.execute(&sql, [HOSTILE]);
        }
        drop(plain);
        check(&workspace, &bundle_id, &table, &[false]);
    }
}

#[test]
fn on_a_terminal_only_legbooks_own_colours_come_through() {
    let (workspace, bundle_id) = filled();
    let plain = Connection::open(workspace.store()).unwrap();
    plain.execute_batch("DROP TRIGGER pending_reports_update").unwrap();
    let hostile = format!("{HOSTILE}\u{1b}[8mx");
    plain.execute("UPDATE pending_reports SET run_ref = ?1", [&hostile]).unwrap();
    drop(plain);
    let mut coloured = 0;
    for command in ["handoff status", "doctor", "runs list", "runs show r1", "handoff show BUNDLE"] {
        // The bar of doctor is on stderr.
        let line = format!("{LEGBOOK} {} 2>/dev/null", command.replace("BUNDLE", &bundle_id));
        let output = Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .env("SHELL", "/bin/sh")
            .env_remove("NO_COLOR")
            .env_remove("LEGBOOK_STORE")
            .current_dir(workspace.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let said = said.replace("\r\n", "\n");
        let without = ["\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"]
            .iter()
            .fold(said.clone(), |said, own| said.replace(own, ""));
        coloured += usize::from(without != said);
        let hidden = without.chars().find(|character| is_hidden(*character) && *character != '\n');
        assert_eq!(hidden, None, "{command}: {said:?}");
        assert!(!without.is_empty(), "{command}");
    }
    assert!(coloured > 0, "doctor's verdict has a colour");
}
