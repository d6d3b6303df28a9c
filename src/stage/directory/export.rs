//! Writing a legacy directory (contract stages.md, export).
//!
//! The directory is filled under a private name beside its own and then renamed, so it is there whole or not at all. A
//! crash before the rename leaves only a folder `.stage-export.*`, which nobody reads.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use chrono::NaiveDate;
use rusqlite::Transaction;

use super::manifest;
use super::{MANIFEST, file_name};
use crate::db::Store;
use crate::error::{Error, Result, StageError};
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
    let temp = tempfile::Builder::new()
        .prefix(".stage-export.")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(parent)
        .map_err(Error::io("make a folder in", parent))?;
    fs::set_permissions(temp.path(), Permissions::from_mode(0o700))
        .map_err(Error::io("set the mode of", temp.path()))?;
    let exported = store.read(|transaction| fill(transaction, pipeline, temp.path()))?;
    sync(temp.path())?;
    match fs::rename(temp.path(), directory) {
        // Under its new name it stays.
        Ok(()) => drop(temp.keep()),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory) =>
        {
            return Err(taken().into());
        }
        Err(error) => return Err(Error::io("name the new folder", directory)(error)),
    }
    sync(parent)?;
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
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(Error::io("make", path))?;
    // The umask may have taken bits that the owner needs.
    file.set_permissions(Permissions::from_mode(0o600)).map_err(Error::io("set the mode of", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io("write", path))
}

fn sync(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}
