//! The documentation says what is so: each command in docs/FORMAT.md and docs/SQL.md is run in a real shell and its output
//! compared, and each table and column is described.
//!
//! A block that begins with ```` ```console ```` is one shell session: `$ ` begins a command, `> ` goes on with it, other
//! lines are what it prints. The blocks of a document run in one folder, in order. With LEGBOOK_BLESS=1 the outputs are
//! written into the document instead; what was written is to be read before it is kept.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::event::{self, Event, EventInput};
use legbook::json::Object;

use crate::support::LEGBOOK;

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// A command of a document and what it printed there.
struct Step {
    command: String,
    output: String,
}

/// The text between the sessions, and the sessions: always one text more.
struct Sessions {
    texts: Vec<String>,
    sessions: Vec<Vec<Step>>,
}

impl Sessions {
    fn read(text: &str) -> Self {
        let mut found = Self { texts: vec![String::new()], sessions: Vec::new() };
        let mut inside = false;
        for line in text.split_inclusive('\n') {
            if inside && line != "```\n" {
                let steps = found.sessions.last_mut().unwrap();
                if let Some(command) = line.strip_prefix("$ ") {
                    steps.push(Step { command: command.to_owned(), output: String::new() });
                } else if let Some(more) = line.strip_prefix("> ") {
                    steps.last_mut().unwrap().command.push_str(more);
                } else {
                    steps.last_mut().unwrap().output.push_str(line);
                }
                continue;
            }
            if inside {
                inside = false;
                found.texts.push(String::new());
            }
            found.texts.last_mut().unwrap().push_str(line);
            if line == "```console\n" {
                inside = true;
                found.sessions.push(Vec::new());
            }
        }
        found
    }

    fn write(&self) -> String {
        let mut text = self.texts[0].clone();
        for (steps, after) in self.sessions.iter().zip(&self.texts[1..]) {
            for step in steps {
                let command = step.command.trim_end().replace('\n', "\n> ");
                text.push_str(&format!("$ {command}\n{}", step.output));
            }
            text.push_str(after);
        }
        text
    }
}

/// Runs one session in `folder`; gives what each command printed, errors included.
fn run(folder: &Path, steps: &[Step]) -> Vec<String> {
    let script: String = steps.iter().map(|step| format!("{}printf '\\001'\n", step.command)).collect();
    let program = Path::new(LEGBOOK).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env("HOME", folder)
        .env_remove("LEGBOOK_STORE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut outputs: Vec<String> = printed.split('\u{1}').map(str::to_owned).collect();
    let rest = outputs.pop().unwrap();
    assert_eq!((outputs.len(), rest.as_str()), (steps.len(), ""), "a session has ended early");
    outputs
}

/// Runs the sessions of a document in `folder`. Outputs are compared after `normal` was put on both.
fn hold(name: &str, folder: &Path, normal: impl Fn(&str) -> String) {
    let path = document(name);
    let mut document = Sessions::read(&fs::read_to_string(&path).unwrap());
    let bless = std::env::var_os("LEGBOOK_BLESS").is_some();
    let mut failures = Vec::new();
    for steps in &mut document.sessions {
        let outputs = run(folder, steps);
        for (step, output) in steps.iter_mut().zip(outputs) {
            let (said, prints) = (normal(&step.output), normal(&output));
            if said != prints {
                failures.push(format!("{}says:\n{said}\nprints:\n{prints}", step.command));
                step.output = output;
            }
        }
    }
    if bless {
        fs::write(path, document.write()).unwrap();
    } else {
        assert!(failures.is_empty(), "{name}:\n{}", failures.join("\n"));
    }
}

#[test]
fn the_format_worked_through_by_hand_comes_out_as_written() {
    let folder = tempfile::tempdir().unwrap();
    hold("FORMAT.md", folder.path(), str::to_owned);
}

#[test]
fn the_handoff_prints_what_its_page_says() {
    let folder = tempfile::tempdir().unwrap();
    hold("HANDOFF.md", folder.path(), str::to_owned);
}

#[test]
fn the_readme_prints_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    hold("../README.md", folder.path(), without_the_moment);
}

#[test]
fn each_question_gets_its_answer_on_the_store_of_the_demo() {
    let output =
        Command::new(LEGBOOK).arg("demo").env_remove("LEGBOOK_STORE").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let story = String::from_utf8(output.stdout).unwrap();
    let left = story
        .lines()
        .find_map(|line| line.strip_prefix("All of it happens in ")?.strip_suffix(", which stays."));
    let demo = Removed(left.unwrap().into());
    hold("SQL.md", &demo.0, without_the_moment);
}

/// The folder that the demo leaves for its reader, removed when dropped.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `text` without what differs from one demo to the next: moments and spans, digests, processes and their host, paths,
/// numbers of more than one digit, and the width of the columns that hold them.
fn without_the_moment(text: &str) -> String {
    let part = |character: char| character.is_ascii_alphanumeric() || "-:./+_".contains(character);
    let mut words: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let end = rest.find(|character| part(character) != part(first)).unwrap_or(rest.len());
            let (run, after) = rest.split_at(end);
            rest = after;
            if part(first) {
                let before = |back: usize| words.len().checked_sub(back).map_or("", |at| words[at].as_str());
                let word = kind(run, before(1), before(2));
                words.push(word);
            } else {
                // Frames and blanks are as wide as what they hold.
                let marks =
                    run.chars().filter(|mark| !mark.is_whitespace() && !"─│┌┬┐├┼┤└┴┘".contains(*mark));
                words.extend(marks.map(String::from));
            }
        }
        words.push("\n".to_owned());
    }
    words.join(" ")
}

/// What stands for `run`, which comes behind the words `last` and, before that, `earlier`.
fn kind(run: &str, last: &str, earlier: &str) -> String {
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let stands_for = if matches!(last, "pid" | "process") {
        "PID"
    } else if last == "on" && earlier == "PID" {
        "HOST"
    } else if run.starts_with('/') {
        "PATH"
    } else if digits > 3 && run.contains(':') || digits >= 8 && run.contains('-') {
        "MOMENT"
    } else if run.len() >= 12 && run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "DIGEST"
    } else if run.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && (digits > 1 || run.contains('.'))
    {
        "NUMBER"
    } else {
        run
    };
    stands_for.to_owned()
}

#[test]
fn the_stages_print_what_their_page_says() {
    let folder = tempfile::tempdir().unwrap();
    hold("STAGE.md", folder.path(), str::to_owned);
}

#[test]
fn the_event_made_by_hand_is_the_one_that_the_library_makes() {
    let text = fs::read_to_string(document("FORMAT.md")).unwrap();
    let snapshot = b"{\n  \"status\": \"started\"\n}\n";
    let sha256 = Digest::of(snapshot);
    let paired = Some("run.created");
    let status: Object = event::status_payload("run.created", "started");
    let made = |sequence, event_type, key: String, previous_digest, payload| {
        Event::new(EventInput {
            run_id: "run-1",
            sequence,
            event_type,
            recorded_at: "2026-03-04T05:06:07.000008Z",
            idempotency_key: &key,
            previous_digest,
            payload,
        })
        .unwrap()
    };
    let payload = event::checkpoint_payload(sha256, snapshot.len() as i64, paired);
    let first = made(1, event::CHECKPOINT_EVENT_TYPE, event::checkpoint_key(sha256, paired), None, payload);
    let key = event::status_key("run.created", &status, None).unwrap();
    let second = made(2, "run.created", key, Some(first.event_digest()), status);
    for event in [first, second] {
        assert!(text.contains(&format!("\n{}\n", event.line())), "{}", event.line());
    }
}

#[test]
fn every_table_and_column_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(Store::open(&path, StoreOptions::default()).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT schema.name, columns.name FROM sqlite_schema AS schema, pragma_table_xinfo(schema.name) AS columns
               WHERE schema.type = 'table'";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let columns: BTreeSet<(String, String)> = rows.map(Result::unwrap).collect();

    let text = fs::read_to_string(document("FORMAT.md")).unwrap();
    let mut described = BTreeSet::new();
    for section in text.split("\n### ").skip(1) {
        let section = section.split("\n## ").next().unwrap();
        let (tables, rest) = section.split_once('\n').unwrap();
        let names = rest.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
        for name in names.flat_map(|cell| cell.split("`, `")) {
            for table in tables.split(", ") {
                described.insert((table.to_owned(), name.trim_matches('`').to_owned()));
            }
        }
    }
    let missing: Vec<_> = columns.difference(&described).collect();
    assert!(missing.is_empty(), "not described: {missing:?}");
    // The four tables of the registry share one section.
    let registry = ["event_types", "event_payload_keys", "event_statuses", "status_events"];
    let unknown: Vec<_> =
        described.difference(&columns).filter(|(table, _)| !registry.contains(&table.as_str())).collect();
    assert!(unknown.is_empty(), "not there: {unknown:?}");
}

#[test]
fn every_step_of_a_crash_is_in_the_table() {
    let text = fs::read_to_string(document("FORMAT.md")).unwrap();
    let rows: Vec<&str> = text
        .split("\n| step | ")
        .nth(1)
        .unwrap()
        .lines()
        .skip(2)
        .take_while(|row| row.starts_with('|'))
        .collect();
    let numbers: Vec<String> =
        rows.iter().map(|row| row.split(" | ").next().unwrap()[2..].to_owned()).collect();
    assert_eq!(numbers, legbook::step::Step::ALL.map(|step| step.number().to_string()));
}
