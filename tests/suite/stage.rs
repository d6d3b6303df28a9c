//! The stage commands as a script meets them: whole transcripts, and what a person sees.

use std::fs;
use std::path::Path;
use std::process::Command;

use chrono::{Days, Utc};

use super::support::{Answer, Workspace};

/// One command of a transcript with all that it must answer.
#[derive(Debug, Default)]
struct Exchange {
    line: usize,
    command: String,
    stdin: Option<String>,
    stdout: String,
    stderr: String,
    code: i32,
}

/// Reads a transcript; tests/fixtures/stage/README says how one is written.
fn exchanges(text: &str) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            let (command, stdin) = match command.split_once(" <<<") {
                Some((command, stdin)) => (command, Some(stdin.trim_start().to_owned() + "\n")),
                None => (command, None),
            };
            exchanges.push(Exchange {
                line: at + 1,
                command: command.to_owned(),
                stdin,
                ..Exchange::default()
            });
            continue;
        }
        let Some(exchange) = exchanges.last_mut() else {
            assert!(line.starts_with('#'), "line {}: {line}", at + 1);
            continue;
        };
        if let Some(words) = line.strip_prefix("! ") {
            exchange.stderr = words.to_owned();
        } else if let Some(code) = line.strip_prefix("= ") {
            exchange.code = code.parse().unwrap();
        } else if !line.starts_with('#') {
            exchange.stdout += line;
            exchange.stdout.push('\n');
        }
    }
    exchanges
}

fn answer(workspace: &Workspace, exchange: &Exchange) -> Answer {
    if let Some(sql) = exchange.command.strip_prefix("sqlite3 ") {
        let store = workspace.store();
        let output = Command::new("sqlite3").arg("-batch").arg(store).arg(sql).output().unwrap();
        return Answer::of(output);
    }
    // A newline in a word is written as $'\n', which is the one escape that is needed here.
    let spelled = exchange.command.replace("$'fetch\\n'", "'fetch\n'");
    let words = shlex::split(&spelled).unwrap();
    let is_variable = |word: &String| word.starts_with("LEGBOOK_");
    let variables = words.iter().take_while(|word| is_variable(word)).count();
    let mut arguments = vec!["stage".to_owned()];
    arguments.extend_from_slice(&words[variables..]);
    let variables: Vec<(&str, &str)> =
        words[..variables].iter().map(|variable| variable.split_once('=').unwrap()).collect();
    let input = exchange.stdin.as_deref().unwrap_or_default();
    workspace.legbook_reading_with(arguments, input, &variables)
}

/// Plays the transcript; tells the first exchange that went otherwise.
fn play(name: &str, text: &str) {
    let workspace = Workspace::new();
    for exchange in exchanges(text) {
        let answer = answer(&workspace, &exchange);
        let place = format!("{name}:{}: {}", exchange.line, exchange.command);
        assert_eq!(answer.stdout, exchange.stdout, "{place}: {answer:?}");
        assert_eq!(answer.code, exchange.code, "{place}: {answer:?}");
        let first = answer.stderr.lines().next().unwrap_or_default();
        let fits =
            if exchange.stderr.is_empty() { first.is_empty() } else { first.starts_with(&exchange.stderr) };
        assert!(fits, "{place}: {answer:?}");
    }
    if name == "without-a-store.txt" {
        assert!(!workspace.store().exists(), "{name}: a store was made");
    }
}

#[test]
fn every_transcript_is_answered_to_the_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/stage");
    let mut played = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.ends_with(".txt") {
            continue;
        }
        played += 1;
        let text = fs::read_to_string(&path).unwrap();
        loop {
            let today = Utc::now().date_naive();
            let dated = text
                .replace("YESTERDAY", &(today - Days::new(1)).to_string())
                .replace("TODAY", &today.to_string())
                .replace("TOMORROW", &(today + Days::new(1)).to_string());
            let played = std::panic::catch_unwind(|| play(name, &dated));
            // A day that ended meanwhile made the transcript wrong, not the program.
            if Utc::now().date_naive() == today {
                if let Err(panic) = played {
                    std::panic::resume_unwind(panic);
                }
                break;
            }
        }
    }
    assert_eq!(played, 10, "transcripts");
}
