//! Writing a run's files into a new, empty folder.
//!
//! A directory is made 0700 and a file 0600, whatever the umask; a mode that an import kept is set once the content is
//! there. Each file is synced as it is closed, each directory after its files.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::layout::{DIRECTORY_MODE, FILE_MODE, ROOT};
use crate::error::{Error, Result};

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
        set_mode(root, DIRECTORY_MODE)?;
        Ok(Self { root, modes, directories: vec![ROOT.to_owned()] })
    }

    /// Makes the directory `path`, relative to the root; its parent is there.
    pub(super) fn directory(&mut self, path: &str) -> Result<()> {
        let place = self.root.join(path);
        DirBuilder::new()
            .mode(DIRECTORY_MODE)
            .create(&place)
            .map_err(Error::io("make the folder", &place))?;
        set_mode(&place, DIRECTORY_MODE)?;
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
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&place)
            .map_err(Error::io("make", &place))?;
        let mode = self.modes.get(path).copied().unwrap_or(FILE_MODE);
        Ok(NewFile { place, mode, writer: BufWriter::new(file) })
    }

    /// Sets the modes of the directories and syncs them; the last thing to be done.
    pub(super) fn finish(self) -> Result<()> {
        for path in self.directories.iter().rev() {
            let place = if path == ROOT { self.root.to_path_buf() } else { self.root.join(path) };
            sync(&place)?;
            if let Some(mode) = self.modes.get(path).filter(|mode| **mode != DIRECTORY_MODE) {
                set_mode(&place, *mode)?;
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
        // The umask may have taken bits that the owner needs.
        file.set_permissions(Permissions::from_mode(mode)).map_err(Error::io("set the mode of", &place))?;
        file.sync_all().map_err(Error::io("sync", &place))
    }
}

/// Syncs a folder: the names in it are then on disk.
pub(super) fn sync(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(Error::io("set the mode of", path))
}
