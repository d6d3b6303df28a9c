//! Opening what somebody else put there: nothing can lead elsewhere, make us wait or fill the memory.
//!
//! Each level of a path is opened by itself, relative to the folder before it, and no link is followed. A file is
//! looked at before it is opened (opening a pipe or a device has effects), opened so that a pipe which came meanwhile
//! does not block, and looked at again: a regular file with one name. Its size is known before anything is read.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};

/// Why something is not opened or read.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is not what a legacy program writes.
    Rule(&'static str),
    /// It has more bytes than may be read.
    TooLarge {
        /// How many it has; at least.
        size: u64,
        /// How many may be read.
        most: u64,
    },
    /// The system's own error.
    Io(io::Error),
}

impl Trouble {
    /// What is wrong, in words.
    pub(super) fn rule(&self) -> String {
        match self {
            Self::Rule(rule) => (*rule).to_owned(),
            Self::TooLarge { size, most } => {
                format!("bound exceeded: it has {size} bytes, {most} are allowed")
            }
            Self::Io(error) => format!("it can't be read: {error}"),
        }
    }
}

impl Trouble {
    /// How many bytes there are, if they are too many.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::TooLarge { size, .. } => Some(*size),
            Self::Rule(_) | Self::Io(_) => None,
        }
    }
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// What opening gives: nothing where there is nothing.
pub(super) type Opened<T> = Result<Option<T>, Trouble>;

const LINK: Trouble = Trouble::Rule("it is a symbolic link");

/// An open folder.
#[derive(Debug)]
pub(super) struct Folder {
    directory: OwnedFd,
    mode: u32,
}

/// An open regular file with one name.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) file: File,
    pub(super) size: u64,
    /// Permission bits.
    pub(super) mode: u32,
}

impl Folder {
    /// Opens `path`, which may go through links except for its last name, and gives its real path.
    pub(super) fn open(path: &Path) -> Opened<(Self, PathBuf)> {
        let Some(name) = path.file_name() else {
            // `.` and `..` name a folder that is there.
            let real = fs::canonicalize(path)?;
            return match (real.parent(), real.file_name()) {
                (Some(parent), Some(name)) => {
                    Ok(Self::at_root(parent)?.folder(name)?.map(|it| (it, real.clone())))
                }
                _ => Ok(Some((Self::at_root(&real)?, real))),
            };
        };
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let parent = match fs::canonicalize(parent) {
            Ok(parent) => parent,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        Ok(Self::at_root(&parent)?.folder(name)?.map(|folder| (folder, parent.join(name))))
    }

    /// Opens a path that is real already.
    fn at_root(path: &Path) -> Result<Self, Trouble> {
        let directory = openat(nix::fcntl::AT_FDCWD, path, folder_flags(), Mode::empty())?;
        Ok(Self { directory, mode: 0 })
    }

    /// The folder `name` in this one.
    pub(super) fn folder(&self, name: impl AsRef<OsStr>) -> Opened<Self> {
        let name = name.as_ref();
        let Some(seen) = self.look(name)? else { return Ok(None) };
        match kind(&seen) {
            SFlag::S_IFDIR => {}
            SFlag::S_IFLNK => return Err(LINK),
            _ => return Err(Trouble::Rule("it is not a directory")),
        }
        let directory = match openat(&self.directory, name, folder_flags(), Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP | Errno::ENOTDIR) => return Err(LINK),
            Err(errno) => return Err(errno.into()),
        };
        Ok(Some(Self { directory, mode: seen.st_mode & 0o777 }))
    }

    /// The regular file `name` in this folder.
    pub(super) fn file(&self, name: impl AsRef<OsStr>) -> Opened<Found> {
        let name = name.as_ref();
        let Some(seen) = self.look(name)? else { return Ok(None) };
        check_file(&seen)?;
        let flags =
            OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
        let file = match openat(&self.directory, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::ENOENT) => return Ok(None),
            Err(Errno::ELOOP) => return Err(LINK),
            Err(errno) => return Err(errno.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Trouble::Rule("it is not a regular file"));
        }
        if metadata.nlink() != 1 {
            return Err(Trouble::Rule("it has a second name (hard link)"));
        }
        Ok(Some(Found { size: metadata.size(), mode: metadata.mode() & 0o777, file }))
    }

    /// Whether there is anything of this name; a link counts.
    pub(super) fn has(&self, name: impl AsRef<OsStr>) -> Result<bool, Trouble> {
        Ok(self.look(name.as_ref())?.is_some())
    }

    /// The folder's own permission bits; 0 for one that was opened by its real path.
    pub(super) fn mode(&self) -> u32 {
        self.mode
    }

    /// All names in this folder, sorted; `most` at most.
    pub(super) fn names(&self, most: usize) -> Result<Vec<OsString>, Trouble> {
        let mut directory = Dir::openat(&self.directory, ".", folder_flags(), Mode::empty())?;
        let mut names = Vec::new();
        for entry in directory.iter() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if names.len() == most {
                return Err(Trouble::Rule("it holds more files than a run has"));
            }
            names.push(name.to_owned());
        }
        names.sort();
        Ok(names)
    }

    /// When `name` was last modified: seconds and nanoseconds; nothing where it is no real directory.
    pub(super) fn directory_time(&self, name: impl AsRef<OsStr>) -> Opened<(i64, i64)> {
        let seen = self.look(name.as_ref())?;
        Ok(seen.filter(|seen| kind(seen) == SFlag::S_IFDIR).map(|seen| (seen.st_mtime, seen.st_mtime_nsec)))
    }

    fn look(&self, name: &OsStr) -> Opened<FileStat> {
        match fstatat(&self.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(seen) => Ok(Some(seen)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Found {
    /// The whole file, which may have `most` bytes.
    pub(super) fn read(self, most: u64) -> Result<Vec<u8>, Trouble> {
        self.check_size(most)?;
        // With room for one byte more it is read at once, and its end seen.
        let room = usize::try_from(self.size.saturating_add(1)).unwrap_or_default();
        let mut bytes = Vec::with_capacity(room);
        self.file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        // It may have grown since it was looked at.
        let size = bytes.len() as u64;
        if size > most { Err(Trouble::TooLarge { size, most }) } else { Ok(bytes) }
    }

    /// Refuses more bytes than `most`; nothing has been read then.
    pub(super) fn check_size(&self, most: u64) -> Result<(), Trouble> {
        if self.size > most { Err(Trouble::TooLarge { size: self.size, most }) } else { Ok(()) }
    }
}

fn folder_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

fn kind(seen: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(seen.st_mode) & SFlag::S_IFMT
}

fn check_file(seen: &FileStat) -> Result<(), Trouble> {
    match kind(seen) {
        SFlag::S_IFREG if seen.st_nlink == 1 => Ok(()),
        SFlag::S_IFREG => Err(Trouble::Rule("it has a second name (hard link)")),
        SFlag::S_IFLNK => Err(LINK),
        _ => Err(Trouble::Rule("it is not a regular file")),
    }
}
