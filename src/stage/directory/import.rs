//! Taking over a legacy directory (contract stages.md, import).
//!
//! The files are read inside the one transaction, each written before the next is read: memory is that of the largest. A
//! directory that is refused halfway leaves the pipeline as it was. The directory itself is never changed.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::manifest::{Manifest, Shortfall};
use super::{MANIFEST, file_name};
use crate::clock;
use crate::db::Store;
use crate::error::{Error, Result, StageError};
use crate::stage::artifact::{Artifact, max_artifact_bytes};
use crate::stage::kind::Kind;
use crate::stage::name::{PipelineName, StageName};
use crate::stage::rows;

/// The most bytes of a manifest that are read; a longer one is no script's.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// What an import took over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The UTC day on which the run began; none where nothing was taken.
    pub run_date: Option<NaiveDate>,
    /// The stages taken, in the order of completion.
    pub completed: Vec<StageName>,
    /// The artifacts taken that the manifest does not name, by name.
    pub markers: Vec<StageName>,
    /// Why it is less than the manifest names.
    pub shortfall: Option<Shortfall>,
}

/// Makes the pipeline's run the one that a legacy directory holds; a run that the pipeline was in goes.
///
/// What begin would not trust is not taken (contract stages.md): with a manifest that is no JSON, or of a version that is
/// not known, nothing is, and the pipeline is in no run; an entry of `completed` that is no stage name, a missing artifact
/// or one that is not JSON ends the list there. The run keeps its date and its version: the next begin judges both.
/// Files of stage names that `completed` does not hold become markers, where they are JSON.
///
/// # Errors
/// [`StageError::NoManifest`]; [`StageError::Unsafe`] for a manifest or an artifact that is a symbolic link or no regular
/// file, [`StageError::TooLarge`] for an artifact beyond the bound; [`Error::Io`]; the store's own. Nothing is changed then.
pub fn import(store: &Store, pipeline: &PipelineName, directory: &Path) -> Result<Imported> {
    let found = artifact_files(directory)?;
    let manifest = read_manifest(directory)?;
    crate::stage::change(store, |transaction| {
        rows::clear(transaction, pipeline)?;
        let manifest = match &manifest {
            Ok(manifest) => manifest,
            Err(shortfall) => {
                let shortfall = Some(*shortfall);
                return Ok(Imported {
                    run_date: None,
                    completed: Vec::new(),
                    markers: Vec::new(),
                    shortfall,
                });
            }
        };
        let limit = max_artifact_bytes(transaction)?;
        let now = clock::store_time(store.clock().now());
        rows::start(transaction, pipeline, manifest.run_date, manifest.schema_version, &now)?;
        let mut imported = Imported {
            run_date: Some(manifest.run_date),
            completed: Vec::new(),
            markers: Vec::new(),
            shortfall: manifest.shortfall,
        };
        for name in &manifest.completed {
            match read_artifact(directory, name, limit)? {
                Ok(artifact) => {
                    rows::insert(transaction, pipeline, name, Kind::Stage, &artifact, &now)?;
                    imported.completed.push(name.clone());
                }
                Err(shortfall) => {
                    imported.shortfall = Some(shortfall);
                    break;
                }
            }
        }
        for name in found {
            if !manifest.named.contains(&name)
                && let Ok(artifact) = read_artifact(directory, &name, limit)?
            {
                rows::insert(transaction, pipeline, &name, Kind::Marker, &artifact, &now)?;
                imported.markers.push(name);
            }
        }
        Ok(imported)
    })
}

/// The stage names that the directory has a file for, sorted.
fn artifact_files(directory: &Path) -> Result<Vec<StageName>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(Error::io("read", directory))? {
        let entry = entry.map_err(Error::io("read", directory))?;
        let Some(name) = stage_of(&entry.file_name()) else { continue };
        let kind = entry.file_type().map_err(Error::io("look at", entry.path()))?;
        if kind.is_symlink() {
            return Err(unsafe_file(entry.path(), "it is a symbolic link"));
        } else if !kind.is_file() {
            return Err(unsafe_file(entry.path(), "it is not a regular file"));
        }
        names.push(name);
    }
    names.sort();
    Ok(names)
}

/// The stage whose artifact a file of this name is.
fn stage_of(file_name: &OsStr) -> Option<StageName> {
    StageName::parse(file_name.to_str()?.strip_suffix(".json")?).ok()
}

fn read_manifest(directory: &Path) -> Result<Result<Manifest, Shortfall>> {
    let path = directory.join(MANIFEST);
    let Some(file) = open(&path)? else {
        return Err(StageError::NoManifest { path: directory.to_path_buf() }.into());
    };
    let mut bytes = Vec::new();
    file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
    if bytes.len() as u64 > MAX_MANIFEST_BYTES {
        return Ok(Err(Shortfall::Shape));
    }
    Ok(Manifest::parse(&bytes))
}

/// A stage's artifact, or why there is none.
fn read_artifact(directory: &Path, name: &StageName, limit: u64) -> Result<Result<Artifact, Shortfall>> {
    let path = directory.join(file_name(name));
    let Some(file) = open(&path)? else { return Ok(Err(Shortfall::Missing)) };
    match Artifact::read_within(limit, file, &path) {
        Ok(artifact) => Ok(Ok(artifact)),
        Err(Error::Json(_)) => Ok(Err(Shortfall::Artifact)),
        Err(error) => Err(error),
    }
}

/// Opens a regular file, without following a link and without waiting for the other end of a pipe; none where there is
/// nothing.
fn open(path: &Path) -> Result<Option<File>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            return Err(unsafe_file(path.to_path_buf(), "it is a symbolic link"));
        }
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    if !file.metadata().map_err(Error::io("look at", path))?.is_file() {
        return Err(unsafe_file(path.to_path_buf(), "it is not a regular file"));
    }
    Ok(Some(file))
}

fn unsafe_file(path: PathBuf, rule: &'static str) -> Error {
    StageError::Unsafe { path, rule }.into()
}
