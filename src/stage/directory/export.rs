//! Writing a legacy directory (contract stages.md, export).
//!
//! The directory is filled under a private name beside its own and then renamed, so it is there whole or not at all. A
//! crash before the rename leaves only a folder `.stage-export.*`, which nobody reads.

use std::io::Write;
use std::path::Path;

use chrono::NaiveDate;
use rusqlite::Transaction;

use super::manifest;
use super::{MANIFEST, file_name};
use crate::db::Store;
use crate::error::{Error, Result, StageError};
use crate::publish::{self, NewFolder};
use crate::stage::begin;
use crate::stage::name::{PipelineName, StageName};
use crate::stage::save;
use crate::stage::{Kind, rows};

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The UTC day on which the run began.
    pub run_date: NaiveDate,
    /// The stages written, in the order of completion.
    pub completed: Vec<StageName>,
    /// The markers written, by name.
    pub markers: Vec<StageName>,
}

/// Writes the pipeline's run as a directory that the legacy script reads: 0700, its files 0600, whatever the umask. At
/// `directory` there may be nothing or an empty directory, which is replaced.
///
/// # Errors
/// [`StageError::NoRun`]; [`StageError::Taken`]; [`StageError::DigestMismatch`] and [`StageError::Damaged`]; [`Error::Io`];
/// the store's own. Nothing is at `directory` then that was not before.
pub fn export(store: &Store, pipeline: &PipelineName, directory: &Path) -> Result<Exported> {
    let taken = || StageError::Taken { path: directory.to_path_buf() };
    directory.file_name().ok_or_else(taken)?;
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let new = NewFolder::begin(parent, "stage-export")?;
    let exported = store.read(|transaction| fill(transaction, pipeline, new.path()))?;
    publish::sync_folder(new.path())?;
    if !new.place_over_empty(directory)? {
        return Err(taken().into());
    }
    Ok(exported)
}

/// Writes the files into an empty folder.
fn fill(transaction: &Transaction<'_>, pipeline: &PipelineName, folder: &Path) -> Result<Exported> {
    let run = rows::run(transaction, pipeline)?
        .ok_or_else(|| StageError::NoRun { pipeline: pipeline.to_string() })?;
    let run_date =
        begin::run_date(&run.run_date).ok_or_else(|| rows::damaged(pipeline, "its run_date is no day"))?;
    let mut exported = Exported { run_date, completed: Vec::new(), markers: Vec::new() };
    for saved in rows::saved(transaction, pipeline)? {
        let name = rows::checked_name(pipeline, &saved.name)?;
        let bytes = save::bytes(transaction, pipeline, &name)?
            .ok_or_else(|| rows::damaged(pipeline, "a stage in it has no artifact"))?;
        write(&folder.join(file_name(&name)), &bytes)?;
        match saved.kind {
            Kind::Stage => exported.completed.push(name),
            Kind::Marker => exported.markers.push(name),
        }
    }
    write(&folder.join(MANIFEST), &manifest::bytes(run.schema_version, run_date, &exported.completed)?)?;
    Ok(exported)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = publish::create(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io("write", path))
}
