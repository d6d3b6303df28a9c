//! Writing a run's files into a new, empty folder.
//!
//! A directory is made 0700 and a file 0600, whatever the umask; a mode that an import kept is set once the content is
//! there. Each file is synced as it is closed, each directory after its files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::layout::{DIRECTORY_MODE, FILE_MODE, ROOT};
use crate::error::{Error, Result};
use crate::publish;

/// A folder that is being filled.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    root: &'a Path,
    /// The modes that differ from the usual, and those of listed directories, by path.
    modes: BTreeMap<String, u32>,
    /// The directories that were made, in the order of making.
    directories: Vec<String>,
}

impl<'a> Tree<'a> {
    /// Begins to fill `root`, an empty folder of the caller's.
    pub(super) fn new(root: &'a Path, modes: BTreeMap<String, u32>) -> Result<Self> {
        Ok(Self { root, modes, directories: vec![ROOT.to_owned()] })
    }

    /// Makes the directory `path`, relative to the root; its parent is there.
    pub(super) fn directory(&mut self, path: &str) -> Result<()> {
        let place = self.root.join(path);
        publish::create_folder(&place).map_err(Error::io("make the folder", &place))?;
        self.directories.push(path.to_owned());
        Ok(())
    }

    /// Writes the file `path`.
    pub(super) fn file(&self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.open(path)?;
        file.write(bytes)?;
        file.finish()
    }

    /// Opens the new file `path` for writing piece by piece.
    pub(super) fn open(&self, path: &str) -> Result<NewFile> {
        let place = self.root.join(path);
        let file = publish::create(&place)?;
        let mode = self.modes.get(path).copied().unwrap_or(FILE_MODE);
        Ok(NewFile { place, mode, writer: BufWriter::new(file) })
    }

    /// Sets the modes of the directories and syncs them; the last thing to be done.
    pub(super) fn finish(self) -> Result<()> {
        for path in self.directories.iter().rev() {
            let place = if path == ROOT { self.root.to_path_buf() } else { self.root.join(path) };
            let folder = File::open(&place).map_err(Error::io("sync", &place))?;
            folder.sync_all().map_err(Error::io("sync", &place))?;
            if let Some(mode) = self.modes.get(path).filter(|mode| **mode != DIRECTORY_MODE) {
                publish::set_mode(&folder, &place, *mode)?;
            }
        }
        Ok(())
    }
}

/// A new file, written piece by piece.
#[derive(Debug)]
pub(super) struct NewFile {
    place: PathBuf,
    mode: u32,
    writer: BufWriter<File>,
}

impl NewFile {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Error::io("write", &self.place))
    }

    /// Sets the mode and syncs.
    pub(super) fn finish(self) -> Result<()> {
        let Self { place, mode, writer } = self;
        let file = writer.into_inner().map_err(|error| Error::io("write", &place)(error.into_error()))?;
        publish::set_mode(&file, &place, mode)?;
        file.sync_all().map_err(Error::io("sync", &place))
    }
}

/// Whether the folder or file at `there` is the same as the one at `new`: kind, permission bits, and for a folder its names, for
/// a file its bytes. No link is followed. `false` where nothing is there.
///
/// # Errors
/// [`Error::Io`] for what cannot be read.
pub(super) fn are_equal(new: &Path, there: &Path) -> Result<bool> {
    let look = |path: &Path| fs::symlink_metadata(path).map_err(Error::io("look at", path));
    let ours = look(new)?;
    let theirs = match fs::symlink_metadata(there) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        found => found.map_err(Error::io("look at", there))?,
    };
    if ours.file_type() != theirs.file_type() || ours.permissions().mode() != theirs.permissions().mode() {
        return Ok(false);
    }
    if !ours.is_dir() {
        return Ok(ours.len() == theirs.len() && have_equal_bytes(new, there)?);
    }
    let names = names(new)?;
    if names != self::names(there)? {
        return Ok(false);
    }
    for name in names {
        if !are_equal(&new.join(&name), &there.join(&name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn names(folder: &Path) -> Result<BTreeSet<OsString>> {
    let entries = fs::read_dir(folder).map_err(Error::io("list", folder))?;
    entries.map(|entry| Ok(entry.map_err(Error::io("list", folder))?.file_name())).collect()
}

fn have_equal_bytes(new: &Path, there: &Path) -> Result<bool> {
    let open = |path: &Path| File::open(path).map(BufReader::new).map_err(Error::io("read", path));
    let (mut ours, mut theirs) = (open(new)?.bytes(), open(there)?.bytes());
    loop {
        let our = ours.next().transpose().map_err(Error::io("read", new))?;
        let their = theirs.next().transpose().map_err(Error::io("read", there))?;
        match our {
            _ if our != their => return Ok(false),
            None => return Ok(true),
            Some(_) => {}
        }
    }
}
