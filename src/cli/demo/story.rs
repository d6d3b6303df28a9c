//! How the demo tells what happens: paragraphs, commands with their output, and what was expected of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use legbook::Error;
use legbook::digest::Digest;
use legbook::json::Value;

use crate::cli::exit::{Exit, Failure};
use crate::cli::render::{Render, Tone, object};

/// What one may ask the store afterwards.
const QUESTIONS: [&str; 3] = [
    "SELECT run_id, status, state, events, checkpoints, receipts FROM run_overview",
    "SELECT at, what, detail FROM run_timeline WHERE run_id = 'letters'",
    "SELECT * FROM run_recoveries",
];

/// A story that is being told.
#[derive(Debug)]
pub(super) struct Story {
    render: Render,
    folder: PathBuf,
    program: PathBuf,
    parts: u32,
    steps: Vec<Step>,
}

/// Something that was done and looked at.
#[derive(Debug)]
struct Step {
    what: String,
    exit_code: Option<i32>,
    as_expected: bool,
}

impl Story {
    /// Makes the folder in which it happens, and says what will.
    pub(super) fn begin(render: Render) -> Result<Self, Failure> {
        let temp = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("legbook-demo-")
            .tempdir()
            .map_err(Error::io("make a folder in", &temp))?
            .keep();
        let folder = fs::canonicalize(&folder).map_err(Error::io("resolve", &folder))?;
        let program = std::env::current_exe().map_err(Error::io("find", "the program itself"))?;
        let story = Self { render, folder, program, parts: 0, steps: Vec::new() };
        story.say(&format!("What a killed process leaves behind, and what legbook makes of it.\nAll of it happens in {}, which stays.", story.folder.display()))?;
        Ok(story)
    }

    /// The folder: the runs' workspace, with the store in it.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A heading.
    pub(super) fn part(&mut self, title: &str) -> Result<(), Failure> {
        self.parts += 1;
        self.say(&format!("\n{}. {title}", self.parts))
    }

    /// A paragraph.
    pub(super) fn tell(&self, text: &str) -> Result<(), Failure> {
        self.say(&format!("\n{text}"))
    }

    /// Calls legbook in the folder and shows the command with its output. Expects `code`, and `words` in the output.
    pub(super) fn command(&mut self, arguments: &[&str], code: i32, words: &str) -> Result<(), Failure> {
        let typed = format!("legbook {}", arguments.join(" "));
        let output = self.call(arguments)?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        let lines: String = said.lines().map(|line| format!("  {line}\n")).collect();
        self.say(&format!("\n$ {typed}\n{}", lines.trim_end()))?;
        let ended = output.status.code();
        if ended != Some(0) {
            self.say(&format!("  (exit code {})", ended.map_or("none".to_owned(), |code| code.to_string())))?;
        }
        let as_expected = ended == Some(code) && said.contains(words);
        self.note(Step { what: typed, exit_code: ended, as_expected })
    }

    /// Compares run.json with the run's snapshot at event `sequence`, byte by byte.
    pub(super) fn compare(&mut self, run_id: &str, sequence: i64) -> Result<(), Failure> {
        let checkpoint = self.call(&["runs", "at", run_id, &sequence.to_string()])?.stdout;
        let path = self.run_json(run_id);
        let run_json = fs::read(&path).map_err(Error::io("read", &path))?;
        let as_expected = run_json == checkpoint && !checkpoint.is_empty();
        let shown = path.strip_prefix(&self.folder).unwrap_or(&path).display();
        let typed = format!("legbook runs at {run_id} {sequence} | cmp - {shown}");
        let word = if as_expected { "the same" } else { "not the same" };
        self.say(&format!(
            "\n$ {typed}\n  {word}: the checkpoint of event {sequence} and run.json, {} bytes, SHA-256 {}",
            run_json.len(),
            Digest::of(&run_json)
        ))?;
        self.note(Step { what: typed, exit_code: None, as_expected })
    }

    /// Removes a run's run.json.
    pub(super) fn remove_run_json(&self, run_id: &str) -> Result<(), Failure> {
        let path = self.run_json(run_id);
        fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        let shown = path.strip_prefix(&self.folder).unwrap_or(&path).display();
        self.say(&format!("\n$ rm {shown}"))
    }

    /// Says how it ended and how to look on.
    pub(super) fn end(self) -> Result<Exit, Failure> {
        let all_as_expected = self.steps.iter().all(|step| step.as_expected);
        let verdict = if all_as_expected {
            self.render.paint(Tone::Good, "Every step ended as it should.")
        } else {
            self.render.paint(Tone::Bad, "Not every step ended as it should.")
        };
        let folder = self.folder.display();
        self.say(&format!(
            "\n{verdict}\n\nLook on, with legbook or without:\n  cd {folder}\n  legbook runs list\n{}\n\
             When you have seen enough: rm -r {folder}",
            QUESTIONS.map(|sql| format!("  sqlite3 -box .legbook/store.db \"{sql}\"")).join("\n")
        ))?;
        let steps = self.steps.iter().map(|step| {
            object([
                ("step", step.what.as_str().into()),
                ("exit_code", step.exit_code.map_or(Value::Null, |code| i64::from(code).into())),
                ("as_expected", step.as_expected.into()),
            ])
        });
        let answer = object([
            ("folder", folder.to_string().into()),
            ("store", self.folder.join(super::STORE).display().to_string().into()),
            ("steps", Value::Array(steps.collect())),
            ("as_expected", all_as_expected.into()),
        ]);
        if self.render.json() {
            self.render.answer(&answer, "")?;
        }
        Ok(if all_as_expected { Exit::DONE } else { Exit::FAILED })
    }

    fn run_json(&self, run_id: &str) -> PathBuf {
        self.folder.join(".legbook/runs").join(run_id).join("run.json")
    }

    /// Calls this program in the folder, as somebody would who has just come there.
    fn call(&self, arguments: &[&str]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder);
        for name in ["LEGBOOK_STORE", "LEGBOOK_RUN", "LEGBOOK_TOKEN"] {
            command.env_remove(name);
        }
        Ok(command.output().map_err(Error::io("run", &self.program))?)
    }

    /// Keeps a step, and says so where it did not end as it should.
    fn note(&mut self, step: Step) -> Result<(), Failure> {
        let said = if step.as_expected {
            Ok(())
        } else {
            self.say(&self.render.paint(Tone::Bad, "  This is not what should have happened."))
        };
        self.steps.push(step);
        said
    }

    /// Prints a paragraph; with `--json` or `--quiet` nothing is told.
    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.render.json() || self.render.quiet() {
            Ok(())
        } else {
            self.render.raw(format!("{text}\n").as_bytes())
        }
    }
}
