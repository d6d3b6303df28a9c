//! `legbook runs export`: the store's last snapshot back as run.json, or runs as legacy run directories.

use std::path::{Path, PathBuf};

use clap::Args;
use legbook::db::Store;
use legbook::id::RunId;
use legbook::json::Value;
use legbook::legacy::{self, Exported};
use legbook::run::{self, Listed};

use super::{note_kept, resolve};
use crate::cli::context::Context;
use crate::cli::exit::{self, Exit, Failure};
use crate::cli::render::{nullable, object, progress_bar};
use crate::cli::values::path;

/// Put the store's last snapshot back as run.json, or write runs as legacy run directories
#[derive(Debug, Args)]
#[command(after_help = "\
Without --to: a run.json that is different is kept beside it as run.json.replaced-<32 hex>. Refused beside a live owner.

With --to: make DIR/<run id>, with the names and modes that legacy programs read. An equal DIR/<run id> is left as it is, so
the same call again finishes an export that was interrupted. A different one is refused. What was imported and has not gone on comes out as it was, byte for byte.

Example:
  legbook runs export --all --to ~/export")]
pub(crate) struct Arguments {
    /// A run id, a run directory, or `latest` [default: LEGBOOK_RUN]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Make a legacy run directory in DIR instead
    #[arg(long, value_name = "DIR", value_parser = path())]
    to: Option<PathBuf>,
    /// All runs of the store, one directory each; goes on after one that can't be written
    #[arg(long, requires = "to", conflicts_with = "run")]
    all: bool,
}

pub(super) fn run(context: &Context, arguments: &Arguments) -> Result<Exit, Failure> {
    let store = if arguments.to.is_some() { context.open()? } else { context.open_to_write()? };
    let named = || resolve(context, &store, arguments.run.as_deref());
    match &arguments.to {
        None => put_back(context, &store, &named()?),
        Some(parent) if arguments.all => all(context, &store, &context.cwd().join(parent)),
        Some(parent) => {
            let exported = legacy::export(&store, &named()?, &context.cwd().join(parent))?;
            let text = text(&exported);
            warn_beyond_legacy(context, &exported);
            context.render.done(&summary(vec![answer(&exported)], 0), &text)?;
            Ok(Exit::DONE)
        }
    }
}

fn put_back(context: &Context, store: &Store, run_id: &RunId) -> Result<Exit, Failure> {
    let exported = run::export(store, run_id)?;
    note_kept(context, run_id, exported.kept_as.as_deref());
    let text = match exported.unchanged {
        true => format!("run.json of {run_id} was the store's last snapshot already"),
        false => format!("run.json of {run_id} is the store's last snapshot again"),
    };
    let answer = object([
        ("run_id", run_id.as_str().into()),
        ("sha256", exported.sha256.to_hex().into()),
        ("unchanged", exported.unchanged.into()),
        ("kept_as", nullable(exported.kept_as)),
    ]);
    context.render.done(&answer, &text)?;
    Ok(Exit::DONE)
}

/// Every run, the oldest first.
fn all(context: &Context, store: &Store, parent: &Path) -> Result<Exit, Failure> {
    let render = context.render;
    let Listed { runs, invalid_ids, damaged } = run::list(store)?;
    super::list::note_invalid_ids(context, invalid_ids);
    let bar = progress_bar(render, "export");
    bar.set_length(runs.len() as u64);
    let mut exported = Vec::new();
    let (mut refused, mut failed) = (damaged.len() as u64, 0_u64);
    damaged.into_iter().for_each(|error| context.report(&error.into()));
    let mut count = 0_u64;
    for run in runs.iter().rev() {
        match legacy::export(store, &run.run_id, parent) {
            Ok(done) => {
                count += 1;
                bar.suspend(|| warn_beyond_legacy(context, &done));
                if render.json() {
                    exported.push(answer(&done));
                } else if !render.quiet() {
                    bar.suspend(|| render.text(&text(&done)))?;
                }
            }
            Err(error) => {
                if exit::is_the_machines(&error) {
                    failed += 1;
                } else {
                    refused += 1;
                }
                bar.suspend(|| context.report(&error.into()));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    render.done(
        &summary(exported, refused + failed),
        &format!("{count} runs written, {} not", refused + failed),
    )?;
    Ok(match (refused, failed) {
        (0, 0) => Exit::DONE,
        (0, _) => Exit::FAILED,
        _ => Exit::REFUSED,
    })
}

fn summary(runs: Vec<Value>, failed: u64) -> Value {
    object([
        ("exported", number(runs.len() as u64)),
        ("failed", number(failed)),
        ("runs", Value::Array(runs)),
    ])
}

fn answer(exported: &Exported) -> Value {
    object([
        ("run_id", exported.run_id.as_str().into()),
        ("directory", exported.directory.display().to_string().into()),
        ("events", number(exported.events)),
        ("checkpoints", number(exported.checkpoints)),
        ("unchanged", exported.unchanged.into()),
        ("within_legacy_bounds", exported.within_legacy_bounds.into()),
    ])
}

fn warn_beyond_legacy(context: &Context, exported: &Exported) {
    if !exported.within_legacy_bounds {
        context.render.warn(&format!(
            "{} has {} events; the legacy programs refuse more than 512 events, 8 MiB of journal, or 16 MiB of a checkpoint",
            exported.run_id, exported.events
        ));
    }
}

fn text(exported: &Exported) -> String {
    let Exported { run_id, directory, events, checkpoints, unchanged, .. } = exported;
    let unchanged = if *unchanged { ", unchanged" } else { "" };
    format!("{run_id}: {events} events and {checkpoints} checkpoints in {}{unchanged}", directory.display())
}

fn number(count: u64) -> Value {
    Value::from(i64::try_from(count).unwrap_or(i64::MAX))
}
