//! The triggers against the library: what they accept the library would have written so, and what it writes they accept.
//!
//! Lines are changed at random, a few places at a time, with the pieces that JSON readers disagree about. Digests are not
//! compared: SQL cannot compute them.

use legbook::digest::Digest;
use legbook::event::{Event, EventInput};
use legbook::json;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rusqlite::{Connection, params};

use super::attacks::quoted;
use super::{Seed, object, shell};

/// What is put in the place of a few characters of a line.
const PIECES: &[&str] = &[
    "",
    "\"",
    "\\",
    "\\\\",
    "\\\"",
    "\\/",
    "\\b",
    "\\n",
    "\\u0000",
    "\\u0001",
    "\\u000a",
    "\\u001F",
    "\\u0041",
    "\\ud800",
    "\\x41",
    "\0",
    "\u{1}",
    "\t",
    "\n",
    "\r",
    " ",
    "\u{7f}",
    "\u{a0}",
    "é",
    "\u{2028}",
    "\u{feff}",
    "\u{1F600}",
    "0",
    "1",
    "-",
    "+",
    ".",
    "e1",
    "00",
    "1.0",
    "-0",
    "null",
    "true",
    "NaN",
    "Infinity",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "'",
    "/**/",
    "//",
    "a",
    "\"a\":1,",
    "\"detail\":\"d\",",
    ",\"seat\":\"s\"",
    "{}",
    "[]",
    "9223372036854775807",
    "9223372036854775808",
    "run-2",
];

/// One change: where (as a share of the line), how many characters go, and what comes.
fn change() -> impl Strategy<Value = (f64, usize, &'static str)> {
    (0.0..1.0, 0..4_usize, prop::sample::select(PIECES))
}

fn changed(line: &str, changes: &[(f64, usize, &str)]) -> String {
    let mut characters: Vec<char> = line.chars().collect();
    for (place, gone, piece) in changes {
        let from = (*place * characters.len() as f64) as usize;
        let to = characters.len().min(from + gone);
        characters.splice(from..to, piece.chars());
    }
    characters.into_iter().collect()
}

/// A few changes of a line, most of them within what the rules are about: its key and payload.
fn lines(line: String) -> impl Strategy<Value = String> {
    let start = line.find("\"idempotency_key\"").unwrap();
    let end = line.find(",\"previous_digest\"").unwrap();
    let (head, inner, tail) = (line[..start].to_owned(), line[start..end].to_owned(), line[end..].to_owned());
    prop_oneof![
        1 => prop::collection::vec(change(), 1..3).prop_map(move |changes| changed(&line, &changes)),
        4 => prop::collection::vec(change(), 1..4).prop_map(move |changes| format!("{head}{}{tail}", changed(&inner, &changes))),
    ]
}

/// Whether the triggers of the carried engine accept `line` as the next of `run-1`.
fn accepted(connection: &Connection, seed: &Seed, line: &str) -> bool {
    connection.execute_batch("SAVEPOINT attempt").unwrap();
    let sql = "INSERT OR REPLACE INTO events (line, journal_bytes) VALUES (?1, ?2)";
    let accepted = connection.execute(sql, params![line, (seed.bytes + line.len() + 1) as i64]).is_ok();
    connection.execute_batch("ROLLBACK TO attempt; RELEASE attempt").unwrap();
    accepted
}

/// Which of `lines` the shell accepts.
fn accepted_by_shell(seed: &Seed, lines: &[String]) -> Vec<bool> {
    let mut script = "PRAGMA foreign_keys = OFF;\n".to_owned();
    for (number, line) in lines.iter().enumerate() {
        // A zero byte would end the shell's statement.
        let literal = quoted(line).replace('\0', "' || char(0) || '");
        script.push_str(&format!(
            "SAVEPOINT attempt;\n\
             INSERT OR REPLACE INTO events (line, journal_bytes) VALUES ({literal}, {});\n\
             SELECT {number} FROM events WHERE run_id = 'run-1' AND sequence > 2;\n\
             ROLLBACK TO attempt; RELEASE attempt;\n",
            seed.bytes + line.len() + 1
        ));
    }
    let output = shell(&seed.path, &format!(".bail off\n{script}"));
    let mut accepted = vec![false; lines.len()];
    for number in String::from_utf8(output.stdout).unwrap().lines() {
        accepted[number.parse::<usize>().unwrap()] = true;
    }
    accepted
}

/// Whether the library would have written `line` just so, whatever its digests.
fn is_what_the_library_writes(line: &str) -> bool {
    let Ok(envelope) = json::parse_object(line.as_bytes()) else { return false };
    let text = |name: &str| envelope.get(name.as_bytes()).and_then(json::Value::as_str).unwrap_or_default();
    let made = Event::new(EventInput {
        run_id: text("run_id"),
        sequence: envelope.get("sequence".as_bytes()).and_then(json::Value::as_i64).unwrap_or_default(),
        event_type: text("event_type"),
        recorded_at: text("recorded_at"),
        idempotency_key: text("idempotency_key"),
        previous_digest: Digest::parse(text("previous_digest")),
        payload: match envelope.get("payload".as_bytes()) {
            Some(json::Value::Object(payload)) => payload.clone(),
            _ => return false,
        },
    });
    let Ok(event) = made else { return false };
    let place = |name: &str, value: &str| format!("\"{name}\":\"{value}\"");
    let same = event
        .line()
        .replace(
            &place("event_digest", &event.event_digest().to_hex()),
            &place("event_digest", text("event_digest")),
        )
        .replace(
            &place("request_digest", &event.request_digest().to_hex()),
            &place("request_digest", text("request_digest")),
        )
        .replace(&place("event_id", event.event_id()), &place("event_id", text("event_id")));
    same == line
}

/// The same cases in every run of the tests.
fn runner(config: Config) -> TestRunner {
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn a_changed_line_that_is_accepted_is_one_that_the_library_writes() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    let mut runner =
        runner(Config { failure_persistence: None, max_shrink_iters: 0, ..Config::with_cases(1) });
    let payload =
        object([("attempt", 7.into()), ("detail", "d".repeat(60).into()), ("seat", json::Value::Null)]);
    let line = seed.next("run.dispatch.observed", &"k".repeat(60), payload).line().to_owned();
    let strategy = prop::collection::vec(lines(line), 2000);
    runner
        .run(&strategy, |lines| {
            let by_engine: Vec<bool> = lines.iter().map(|line| accepted(&connection, &seed, line)).collect();
            let by_shell = accepted_by_shell(&seed, &lines);
            for ((line, by_engine), by_shell) in lines.iter().zip(&by_engine).zip(&by_shell) {
                prop_assert_eq!(by_engine, by_shell, "the engines differ on {:?}", line);
                if *by_engine {
                    prop_assert!(is_what_the_library_writes(line), "accepted: {:?}", line);
                }
            }
            // Changes within a text are allowed ones, often enough for this to mean something.
            prop_assert!(by_engine.iter().filter(|accepted| **accepted).count() > 50);
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_event_of_the_library_is_accepted() {
    let seed = Seed::new();
    let connection = Connection::open(&seed.path).unwrap();
    let text = || prop_oneof![".{0,20}", "[\u{0}-\u{20}\"\\\\/u0-9a-f]{0,128}", any::<String>()];
    let mut runner = runner(Config { failure_persistence: None, ..Config::with_cases(1000) });
    runner
        .run(&(text(), text(), any::<i64>()), |(key, detail, attempt)| {
            let event = Event::new(EventInput {
                run_id: "run-1",
                sequence: 3,
                event_type: "run.dispatch.observed",
                recorded_at: "2026-03-04T05:06:07.000008Z",
                idempotency_key: &key,
                previous_digest: seed.events.last().map(Event::event_digest),
                payload: object([("detail", detail.as_str().into()), ("attempt", attempt.into())]),
            });
            if let Ok(event) = event {
                prop_assert!(accepted(&connection, &seed, event.line()), "refused: {}", event.line());
            }
            Ok(())
        })
        .unwrap();
}
