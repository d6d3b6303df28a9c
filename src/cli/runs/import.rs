//! `legbook runs import`: legacy run directories into the store.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;
use legbook::Error;
use legbook::db::Store;
use legbook::error::LegacyError;
use legbook::json::{Object, Value};
use legbook::legacy::{self, Imported, Outcome, Partial, RunDirectory};

use crate::cli::context::Context;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::render::{nullable, object, printable, progress_bar};
use crate::cli::values::path;

/// Take in legacy run directories: run.json, events/lifecycle.jsonl, checkpoints, evidence
#[derive(Debug, Args)]
#[command(after_help = "\
Each directory is taken whole or not at all; many share a transaction, and each is told once it is on disk. Taken again, \
nothing happens, or what has grown since is added; a journal that differs is refused. A partial last line is kept in \
quarantine, and said. The directories are only read.

Example:
  legbook runs import ~/projects/.brigade/runs --keep-going")]
pub(crate) struct Arguments {
    /// Run directories; or folders of them, or workspaces with a .brigade/runs
    #[arg(value_name = "DIR", required = true, value_parser = path())]
    directories: Vec<PathBuf>,
    /// Go on after a directory that is refused, and tell of each
    #[arg(long)]
    keep_going: bool,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let mut work = Work::new(context);
    let mut directories = Vec::new();
    for path in &arguments.directories {
        match found(&context.cwd().join(path)) {
            Ok((found, others)) => {
                directories.extend(found);
                others.iter().for_each(|other| work.passed_over(other));
            }
            Err(error) if arguments.keep_going => work.failed(path, error),
            Err(error) => return Err(error.into()),
        }
    }
    let mut seen = HashSet::new();
    directories.retain(|directory| seen.insert(directory.clone()));
    let store = context.open_or_make()?;
    work.bar.set_length(directories.len() as u64);
    let ended = legacy::import_all(&store, &directories, arguments.keep_going, |directory, outcome| {
        match outcome {
            Ok(imported) => work.done(directory, &imported)?,
            Err(error) if arguments.keep_going => work.failed(directory, error),
            Err(error) => return Err(Failure::from(error)),
        }
        Ok(())
    });
    work.bar.finish_and_clear();
    ended?;
    work.finish(&store)
}

/// The run directories that a path means, and the directories beside them that hold no run.
fn found(path: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Error> {
    let (runs, others): (Vec<_>, Vec<_>) =
        legacy::run_directories(path)?.into_iter().partition(|directory| directory.holds_run);
    if runs.is_empty() {
        return Err(LegacyError::NotARun { directory: path.to_path_buf() }.into());
    }
    let paths = |found: Vec<RunDirectory>| found.into_iter().map(|directory| directory.path).collect();
    Ok((paths(runs), paths(others)))
}

/// What has been done so far.
struct Work<'a> {
    context: &'a Context,
    bar: ProgressBar,
    runs: Vec<Value>,
    counts: [u64; 4],
    passed_over: u64,
    refused: u64,
    failed: u64,
}

impl<'a> Work<'a> {
    fn new(context: &'a Context) -> Self {
        let bar = progress_bar(context.render, "import");
        Self { context, bar, runs: Vec::new(), counts: [0; 4], passed_over: 0, refused: 0, failed: 0 }
    }

    fn passed_over(&mut self, directory: &Path) {
        self.passed_over += 1;
        let directory = directory.display();
        self.context
            .render
            .note(&format!("{directory}: passed over: it has neither run.json nor events/lifecycle.jsonl"));
    }

    fn done(&mut self, directory: &Path, imported: &Imported) -> Result<(), Failure> {
        self.counts[place(imported.outcome)] += 1;
        self.bar.inc(1);
        let render = self.context.render;
        if render.json() {
            self.runs.push(answer(directory, imported));
            return Ok(());
        }
        if render.quiet() {
            return Ok(());
        }
        self.bar.suspend(|| render.text(&text(imported)))
    }

    fn failed(&mut self, directory: &Path, error: Error) {
        self.bar.inc(1);
        if self.context.render.json() {
            self.runs.push(refusal(directory, &error));
        }
        if exit::is_the_machines(&error) {
            self.failed += 1;
        } else {
            self.refused += 1;
        }
        self.bar.suspend(|| self.context.report(&error.into()));
    }

    fn finish(self, store: &Store) -> Result<Exit, Failure> {
        let [new, extended, updated, unchanged] = self.counts;
        let number = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
        let answer = object([
            ("store", store.path().display().to_string().into()),
            ("new", number(new)),
            ("extended", number(extended)),
            ("updated", number(updated)),
            ("unchanged", number(unchanged)),
            ("passed_over", number(self.passed_over)),
            ("refused", number(self.refused)),
            ("failed", number(self.failed)),
            ("runs", Value::Array(self.runs)),
        ]);
        let text = format!(
            "{new} new, {extended} extended, {updated} updated, {unchanged} unchanged; {} refused, {} failed",
            self.refused, self.failed
        );
        self.context.render.done(&answer, &text)?;
        Ok(match (self.refused, self.failed) {
            (0, 0) => Exit::DONE,
            (0, _) => Exit::FAILED,
            _ => Exit::REFUSED,
        })
    }
}

fn place(outcome: Outcome) -> usize {
    match outcome {
        Outcome::New => 0,
        Outcome::Extended => 1,
        Outcome::Updated => 2,
        Outcome::Unchanged => 3,
    }
}

fn answer(directory: &Path, imported: &Imported) -> Value {
    let number = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    object([
        ("directory", directory.display().to_string().into()),
        ("run_id", imported.run_id.as_str().into()),
        ("outcome", imported.outcome.word().into()),
        ("journaled", imported.journaled.into()),
        ("events", number(imported.events)),
        ("new_events", number(imported.new_events)),
        ("partial_line", imported.partial.as_ref().map_or(Value::Null, partial_answer)),
        ("left_out", number(imported.left_out)),
        ("error", Value::Null),
        ("file", Value::Null),
        ("line", Value::Null),
    ])
}

fn partial_answer(partial: &Partial) -> Value {
    let number = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    object([
        ("whole_lines", number(partial.whole_lines)),
        ("sha256", partial.sha256.to_hex().into()),
        ("byte_size", number(partial.byte_size)),
    ])
}

/// The object of a directory that was not taken: the same keys.
fn refusal(directory: &Path, error: &Error) -> Value {
    let (file, line) = match error {
        Error::Legacy(LegacyError::Refused { file, line, .. }) => (Some(file.as_str()), *line),
        _ => (None, None),
    };
    let outcome = if exit::is_the_machines(error) { "failed" } else { "refused" };
    let mut members: Object =
        legbook::json::object([("directory", Value::from(directory.display().to_string()))]);
    let nothing = ["run_id", "journaled", "events", "new_events", "partial_line", "left_out"];
    members.insert("outcome".into(), outcome.into());
    members.extend(nothing.map(|key| (key.into(), Value::Null)));
    members.insert("error".into(), error.to_string().into());
    members.insert("file".into(), nullable(file));
    members.insert("line".into(), nullable(line.and_then(|line| i64::try_from(line).ok())));
    Value::Object(members)
}

fn text(imported: &Imported) -> String {
    let Imported { run_id, outcome, .. } = imported;
    let what = match outcome {
        Outcome::New if imported.journaled => format!("new, {} events", imported.events),
        Outcome::New => "new, without a journal".to_owned(),
        Outcome::Extended => format!("extended by {} to {} events", imported.new_events, imported.events),
        Outcome::Updated => "updated: something beside the journal was new".to_owned(),
        Outcome::Unchanged => "unchanged".to_owned(),
    };
    let partial = imported.partial.as_ref().map(|partial| {
        format!(
            "; a partial line of {} bytes after {} whole lines is kept in quarantine, sha256 {}",
            partial.byte_size, partial.whole_lines, partial.sha256
        )
    });
    printable(&format!("{run_id}: {what}{}", partial.unwrap_or_default())).into_owned()
}
