//! The stage commands as a script meets them: whole transcripts, and what a person sees.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// What the program shows on a terminal of 80 columns.
fn on_a_terminal(workspace: &Workspace, arguments: &[&str]) -> String {
    let size = nix::pty::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let terminal = nix::pty::openpty(Some(&size), None).unwrap();
    let mut command = workspace.command(arguments);
    command.env("NO_COLOR", "1").stdout(Stdio::from(terminal.slave));
    let mut child = command.spawn().unwrap();
    // The command keeps the terminal's other end open; reading ends where nobody has it any more.
    drop(command);
    let mut shown = Vec::new();
    let _ = File::from(terminal.master).read_to_end(&mut shown);
    assert!(child.wait().unwrap().success());
    String::from_utf8(shown).unwrap().replace('\r', "")
}

#[test]
fn status_is_a_table_for_people_on_a_terminal_and_json_elsewhere() {
    let workspace = Workspace::new();
    let plan = ["stage", "status", "--plan", "fetch,verify,working_set"];
    assert_eq!(on_a_terminal(&workspace, &plan[..2]), "pipeline  default\nrun       none\n");
    workspace.legbook_reading(["stage", "save", "fetch"], format!("\"{}\"", "x".repeat(5000))).expect(0);
    workspace.legbook_reading(["stage", "save", "evidence", "--marker"], "1").expect(0);
    // Saved a long time ago, as an age is shown.
    let sql =
        "UPDATE stages SET saved_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-26 hours', '-10 minutes')";
    assert!(Command::new("sqlite3").arg(workspace.store()).arg(sql).status().unwrap().success());
    let shown = on_a_terminal(&workspace, &plan);
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["pipeline", "default"], "{shown}");
    assert_eq!((lines[1][0], lines[1][1], lines[1][3]), ("run", "of", "(UTC)"), "{shown}");
    assert_eq!(lines[2], ["next", "verify"], "{shown}");
    assert_eq!(lines[4], ["STAGE", "STATE", "SIZE", "SAVED"], "{shown}");
    assert_eq!(lines[5], ["fetch", "completed", "4.9", "KiB", "1day", "2h", "ago"], "{shown}");
    assert_eq!(lines[6], ["verify", "to", "do", "-", "-"], "{shown}");
    assert_eq!(lines[7], ["working_set", "to", "do", "-", "-"], "{shown}");
    assert_eq!(lines[8][..4], ["evidence", "marker", "1", "B"], "{shown}");
    assert_eq!(lines.len(), 9, "{shown}");
    let shown = on_a_terminal(&workspace, &["stage", "status", "--plan", "fetch"]);
    assert!(shown.contains("nothing: all of the plan is completed"), "{shown}");

    let answer = workspace.legbook(plan).json();
    assert_eq!(answer["next"], "verify");
    assert_eq!(answer["completed"][0]["stage"], "fetch");
    assert_eq!(answer["completed"][0]["byte_size"], 5002);
    assert_eq!(answer["completed"][0]["age_seconds"].as_u64().unwrap() / 3600, 26);
    assert_eq!(answer["markers"][0]["stage"], "evidence");
    // With --json a terminal gets the line too.
    assert!(on_a_terminal(&workspace, &["stage", "status", "--json"]).starts_with("{\"pipeline\": "));
}
