//! `legbook doctor`: whether what stores say can be relied on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;
use legbook::clock::SystemClock;
use legbook::doctor::{
    self, Examined, Finding, Heads, Options, Outcome, Progress, Remedy, Report, RunVerdict, Severity, Verdict,
};
use legbook::error::Error;
use legbook::json::Value;
use legbook::legacy;
use legbook::process::SystemProcesses;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::render::{Render, Tone, nullable, object, printable, progress_bar};
use super::values;

/// Check stores: journals, checkpoints, run.json, the files; changes nothing
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 ok; 1 warn; 2 fail; 3 could not check (no store, busy, unreadable, a wrong
option). Of many stores the worst, in the order 2, 3, 1, 0.
docs/OPERATIONS.md tells what each finding asks of you.

  legbook doctor                                  the store that is found by looking upwards
  legbook doctor --full --quiet --warn-ok /srv/*/.legbook/store.db
  legbook doctor --heads ~/heads.json             and compare with what was seen before
  legbook doctor --legacy ~/projects              the runs of a legacy program, where they are")]
pub(crate) struct Arguments {
    /// The stores' files; without any, the one that other commands would use
    #[arg(value_name = "STORE", value_parser = values::path())]
    stores: Vec<PathBuf>,
    /// Check every run, every checkpoint's digest and every index; the default is the newest 50 runs and all that are locked or have not ended
    #[arg(long)]
    full: bool,
    /// Compare each journal with the last sequence and digest kept in FILE, and keep the new ones there; fail if a known store is gone
    #[arg(long, value_name = "FILE", value_parser = values::path())]
    heads: Option<PathBuf>,
    /// Keep the current heads of the named stores, even if a journal went backwards or a store is gone
    #[arg(long, requires = "heads")]
    accept_heads: bool,
    /// Look at legacy run directories instead: a workspace (its .brigade/runs), a folder of them, or one
    #[arg(long, value_name = "DIR", value_parser = values::path(), conflicts_with_all = ["stores", "heads"])]
    legacy: Vec<PathBuf>,
    /// Exit 0 instead of 1 where there are warnings only
    #[arg(long)]
    warn_ok: bool,
}

pub(crate) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let absolute = |paths: &[PathBuf]| paths.iter().map(|path| context.cwd().join(path)).collect();
    let paths: Vec<PathBuf> = match (&arguments.legacy[..], &arguments.stores[..]) {
        ([], []) => vec![context.location()?.path],
        ([], stores) => absolute(stores),
        (directories, _) => absolute(directories),
    };
    // A heads file that cannot be read or written must not hide what was found: its error is told last.
    let heads_file = arguments.heads.as_deref().map(|file| context.cwd().join(file));
    let (heads, unread) = match heads_file.as_deref().map(Heads::read).transpose() {
        Ok(heads) => (heads, None),
        Err(error) => (None, Some(error)),
    };
    let bar = Bar(progress_bar(context.render, "doctor"));
    let options = Options {
        full: arguments.full,
        // This process opens the stores in no other way.
        alone: true,
        heads: heads.as_ref(),
        accept_heads: arguments.accept_heads,
        clock: &SystemClock,
        processes: &SystemProcesses,
        progress: &bar,
    };
    let stores = if arguments.legacy.is_empty() {
        doctor::examine_all(&paths, options)
    } else {
        let examined = |path: PathBuf| Examined { result: legacy::examine(&path, options), path };
        paths.into_iter().map(examined).collect()
    };
    bar.0.finish_and_clear();
    let kept = match unread {
        Some(error) => Some(Err(error)),
        None => heads.map(|heads| keep(heads, &stores)),
    };
    let outcome = match &kept {
        Some(Err(_)) => doctor::worst(&stores).max(Outcome::Unchecked),
        _ => doctor::worst(&stores),
    };
    let exit = exit(outcome, arguments.warn_ok);
    if context.render.json() {
        let heads = heads_file.as_deref().zip(kept.as_ref());
        answer(context.render, outcome, exit, &stores, heads)?;
    } else {
        for store in stores {
            tell(context, store, arguments)?;
        }
    }
    match kept {
        Some(Err(source)) => context.report(&Failure::HeadsNotKept { source: Box::new(source) }),
        Some(Ok(kept)) if !context.render.json() => context.render.note(&kept.says()),
        _ => {}
    }
    Ok(exit)
}

fn exit(outcome: Outcome, warn_ok: bool) -> Exit {
    match outcome {
        Outcome::Ok => Exit::DONE,
        Outcome::Warn if warn_ok => Exit::DONE,
        Outcome::Warn => Exit::FAILED,
        Outcome::Fail => Exit::REFUSED,
        Outcome::Unchecked => Exit::UNCHECKED,
    }
}

/// What became of the heads file.
struct Kept {
    file: PathBuf,
    made: bool,
    replaced: bool,
}

impl Kept {
    fn says(&self) -> String {
        let file = self.file.display();
        match (self.made, self.replaced) {
            (true, _) => {
                format!("heads: {file} did not exist and was created; there was nothing to compare with")
            }
            (_, true) => format!("heads: {file} holds the current heads"),
            (_, false) => {
                format!("heads: {file} keeps the old heads of each store in which something went backwards")
            }
        }
    }
}

fn keep(mut heads: Heads, stores: &[Examined]) -> Result<Kept, Error> {
    let replaced = !Heads::went_back(stores);
    heads.take_over(stores);
    heads.write()?;
    Ok(Kept { file: heads.file().to_path_buf(), made: heads.is_new(), replaced })
}

fn answer(
    render: Render,
    outcome: Outcome,
    exit: Exit,
    stores: &[Examined],
    heads: Option<(&Path, &Result<Kept, Error>)>,
) -> Result<(), Failure> {
    let heads = heads.map(|(file, kept)| {
        let is = |what: fn(&Kept) -> bool| kept.as_ref().is_ok_and(what).into();
        object([
            ("file", file.display().to_string().into()),
            ("made", is(|kept| kept.made)),
            ("replaced", is(|kept| kept.replaced)),
            ("error", nullable(kept.as_ref().err().map(ToString::to_string))),
        ])
    });
    let object = object([
        ("outcome", outcome.word().into()),
        ("exit_code", i64::from(exit.code()).into()),
        ("stores", Value::Array(stores.iter().map(Examined::to_json).collect())),
        ("heads", nullable(heads)),
    ]);
    render.answer(&object, "")
}

/// Tells people about one store. With `--quiet` nothing if it is well; else its line and one line for each warning and failure.
fn tell(context: &Context, store: Examined, arguments: &Arguments) -> Result<(), Failure> {
    let render = context.render;
    let outcome = store.outcome();
    let report = match store.result {
        Ok(report) => report,
        Err(source) => {
            let named = !arguments.stores.is_empty() || context.names_store();
            context.report(&Failure::Unchecked { store: store.path, named, source: Box::new(source) });
            return Ok(());
        }
    };
    let line = line(render, &store.path, outcome, &report);
    if render.quiet() {
        if exit(outcome, arguments.warn_ok) == Exit::DONE {
            return Ok(());
        }
        let findings = report.findings.iter().filter(|finding| finding.kind.severity() > Severity::Note);
        let findings = findings.map(|finding| told_finding(render, finding));
        let runs = report.runs.iter().filter(|run| run.reason.is_some()).map(|run| told_run(render, run));
        return render.text(&(line + &findings.chain(runs).collect::<String>()));
    }
    let mut text = line;
    for finding in &report.findings {
        text.push_str(&told_finding(render, finding));
        text.push_str(&told_remedy(&finding.remedy));
    }
    for run in report.runs.iter().filter(|run| run.reason.is_some()) {
        text.push_str(&told_run(render, run));
        text.push_str(&run.remedy.as_ref().map(told_remedy).unwrap_or_default());
    }
    if let Some(why) = &report.not_judged {
        text.push_str(&format!("  the runs were not judged: {why}\n"));
    }
    if report.skipped > 0 {
        let newest = doctor::NEWEST;
        let skipped = report.skipped;
        text.push_str(&format!(
            "  {skipped} runs older than the newest {newest} were not checked; --full checks them\n"
        ));
    }
    render.text(&text)
}

fn line(render: Render, store: &Path, outcome: Outcome, report: &Report) -> String {
    let word = render.paint(tone(outcome), outcome.word());
    let count = report.findings.len();
    let kinds: BTreeSet<&str> = report.findings.iter().map(|finding| finding.kind.word()).collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let found =
        if kinds.is_empty() { String::new() } else { format!("; findings: {count} ({})", kinds.join(", ")) };
    format!(
        "{}: {word}: runs {}{}\n",
        printable(&store.to_string_lossy()),
        printable(&report.detail()),
        found
    )
}

fn told_finding(render: Render, finding: &Finding) -> String {
    let severity = finding.kind.severity();
    let word = render.paint(tone(severity.into()), severity.word());
    let run = finding.run_id.as_deref().map(|run_id| format!("run {}: ", printable(run_id)));
    let run = run.unwrap_or_default();
    format!("  {word} {}: {run}{}\n", finding.kind.word(), printable(&finding.what))
}

fn told_run(render: Render, run: &RunVerdict) -> String {
    let tone = if run.verdict == Verdict::Fail { Tone::Bad } else { Tone::Doubtful };
    let word = render.paint(tone, run.verdict.word());
    let detail = if run.detail.is_empty() { String::new() } else { format!(" ({})", printable(&run.detail)) };
    format!("  {word} run {}: {}{detail}\n", printable(&run.run_id), run.says)
}

fn told_remedy(remedy: &Remedy) -> String {
    let text = match remedy {
        Remedy::Command(_) => format!("do: {}", printable(&remedy.text())),
        Remedy::Sql(_) => "do: run in sqlite3 the statements that --json has under remedy.sql".to_owned(),
        Remedy::Deletion(_) => {
            "do: read the statements that --json has under remedy.deletion, then run them in sqlite3"
                .to_owned()
        }
        Remedy::Advice(text) => printable(text).into_owned(),
    };
    format!("       {text}\n")
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Ok => Tone::Good,
        Outcome::Warn => Tone::Doubtful,
        Outcome::Unchecked | Outcome::Fail => Tone::Bad,
    }
}

/// A bar on stderr, where that is a terminal.
#[derive(Debug)]
struct Bar(ProgressBar);

impl Progress for Bar {
    fn more(&self, steps: u64) {
        self.0.inc_length(steps);
    }

    fn step(&self) {
        self.0.inc(1);
    }
}
