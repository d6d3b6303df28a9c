//! The one place where legbook gives a finished file or folder its name.
//!
//! What is written gets a temporary name in the folder that it is meant for, `.<name>.<pid>-<n>.tmp`. Once all of it is
//! there and synced, a rename gives it its own name, and the folder is synced. So a reader finds the old file or the new
//! one, whole. After an error the temporary file is removed.
//!
//! A crash leaves the temporary file. Its maker holds a lock (`flock`) on it for as long as it lives, so whoever gets that
//! lock knows that the maker is dead. [`remove_leftovers`] removes such files. Whoever makes a folder calls it first, and so
//! do start, finish, export and recovery of a run; an ordinary write of run.json does not list the run directory. If the file
//! system has no such locks, leftovers stay.
//!
//! A process of root leaves the owner of a folder the owner of what it makes there.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use nix::unistd::geteuid;

use crate::error::{Error, Result};

/// The ending of every temporary name.
const TEMPORARY: &str = ".tmp";
/// What SQLite adds to the name of a database for the files beside it.
const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The permission bits that a file or folder may be given. A mode that a store says never sets more.
const PERMISSION_BITS: u32 = 0o777;

/// Makes the names of one process differ.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A temporary file or folder, removed when dropped unless it got its own name.
#[derive(Debug)]
struct Temporary {
    folder: PathBuf,
    path: PathBuf,
    /// Holds the lock.
    file: File,
    is_folder: bool,
    published: bool,
}

impl Temporary {
    /// Makes one in `folder`. Its mode is 0600, or 0700 for a folder.
    fn make(folder: &Path, name: &str, is_folder: bool) -> Result<Self> {
        let failed = |error| Error::io("make a file in", folder)(error);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".{name}.{}-{number}{TEMPORARY}", std::process::id()));
            let made = if is_folder {
                DirBuilder::new().mode(0o700).create(&path).map(|()| None)
            } else {
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map(Some)
            };
            let file = match made {
                Ok(Some(file)) => file,
                Ok(None) => match open_folder(&path) {
                    Ok(file) => file,
                    // Somebody who removes leftovers met it before it was locked.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => {
                        let _ = fs::remove_dir(&path);
                        return Err(failed(error));
                    }
                },
                // Of a dead process of the same pid.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed(error)),
            };
            let made = Self { folder: folder.to_path_buf(), path, file, is_folder, published: false };
            // Without the lock it would only stay after a crash.
            let busy = matches!(made.file.try_lock(), Err(fs::TryLockError::WouldBlock));
            if busy || made.file.metadata().map_err(failed)?.nlink() == 0 {
                // As above.
                continue;
            }
            // The umask may have taken bits that the owner needs.
            let mode = if is_folder { 0o700 } else { 0o600 };
            made.file.set_permissions(Permissions::from_mode(mode)).map_err(failed)?;
            give_to_owner(&made.file, folder);
            return Ok(made);
        }
    }

    /// Gives it the name `path`, unless something has that name; says whether it did.
    fn place(&mut self, path: &Path) -> Result<bool> {
        if !rename_new(&self.path, path)? {
            return Ok(false);
        }
        self.settle(path)
    }

    /// Syncs the new name. Where that fails the name is taken back, so that the same call can be made again.
    fn settle(&mut self, path: &Path) -> Result<bool> {
        self.published = true;
        sync_folder(&self.folder).inspect_err(|_| {
            self.published = fs::rename(path, &self.path).is_err();
        })?;
        Ok(true)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // The error that is on its way is the one to tell; the next maker tries again.
            let _ = if self.is_folder { fs::remove_dir_all(&self.path) } else { fs::remove_file(&self.path) };
        }
    }
}

/// A file that is written under a temporary name.
#[derive(Debug)]
pub(crate) struct NewFile(Temporary);

impl NewFile {
    /// Begins a file in `folder` that is meant to be called `name`, mode 0600 whatever the umask.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn begin(folder: &Path, name: &str) -> Result<Self> {
        Temporary::make(folder, name, false).map(Self)
    }

    /// Writes all of its content and syncs it.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> Result<()> {
        let Temporary { folder, file, .. } = &mut self.0;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io("write a file in", folder))
    }

    /// Gives it the name `path`, in place of what has that name, calls `renamed`, and syncs the folder.
    ///
    /// # Errors
    /// [`Error::Io`]; at `path` is what was there before, or this file, whole.
    pub(crate) fn replace(mut self, path: &Path, renamed: impl FnOnce()) -> Result<()> {
        fs::rename(&self.0.path, path).map_err(Error::io("replace", path))?;
        self.0.published = true;
        renamed();
        sync_folder(&self.0.folder)
    }

    /// As [`NewFile::replace`], unless something has that name; says whether it did.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn place(mut self, path: &Path) -> Result<bool> {
        self.0.place(path)
    }
}

/// A folder that is filled under a temporary name.
#[derive(Debug)]
pub(crate) struct NewFolder(Temporary);

impl NewFolder {
    /// Begins a folder in `parent`, mode 0700 whatever the umask, after removing the leftovers of dead makers. `name` is
    /// only the name that the leftovers share.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn begin(parent: &Path, name: &str) -> Result<Self> {
        remove_leftovers(parent, name);
        Temporary::make(parent, name, true).map(Self)
    }

    /// Where it is until it gets its own name.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Gives it the name `path`, unless something has that name; says whether it did. Its files are synced by then.
    ///
    /// # Errors
    /// [`Error::Io`]; there is nothing new at `path` then.
    pub(crate) fn place(mut self, path: &Path) -> Result<bool> {
        self.0.place(path)
    }

    /// As [`NewFolder::place`], but an empty folder at `path` is replaced.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn place_over_empty(mut self, path: &Path) -> Result<bool> {
        match fs::rename(&self.0.path, path) {
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory | ErrorKind::AlreadyExists
                ) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(Error::io("name the new folder", path)(error)),
        }
        self.0.settle(path)
    }

    /// Moves the file `name` out of it to `path`, which is in its parent, unless something has that name; says whether it
    /// did. The folder is removed when dropped.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn place_file(&self, name: &str, path: &Path) -> Result<bool> {
        let placed = rename_new(&self.0.path.join(name), path)?;
        if placed {
            sync_folder(&self.0.folder)?;
        }
        Ok(placed)
    }
}

/// Makes the file `path`, which must not be there, with mode 0600.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn create(path: &Path) -> Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = made.map_err(Error::io("make", path))?;
    if let Some(folder) = path.parent() {
        give_to_owner(&file, folder);
    }
    set_mode(&file, path, 0o600)?;
    Ok(file)
}

/// Gives an open file or folder the permission bits of `mode`, whatever the umask: never set-user-ID or the like.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn set_mode(file: &File, path: &Path, mode: u32) -> Result<()> {
    file.set_permissions(Permissions::from_mode(mode & PERMISSION_BITS))
        .map_err(Error::io("set the mode of", path))
}

/// Makes `folder`, which must not be there, with mode 0700 whatever the umask.
///
/// # Errors
/// The system's own: `AlreadyExists` where something is there.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    let made = open_folder(folder)?;
    give_to_owner(&made, parent_of(folder));
    made.set_permissions(Permissions::from_mode(0o700))
}

/// The folder that `path` is in.
fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes `folder` and its missing ancestors as [`create_folder`] does, and syncs their names: a store in a folder that a
/// power cut takes away is lost with it. Says whether it made `folder`. A folder that exists is left as it is.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn make_folders(folder: &Path) -> Result<bool> {
    let mut made = false;
    let mut missing = Vec::new();
    let mut at = Some(folder);
    while let Some(place) = at.filter(|place| !place.as_os_str().is_empty() && !place.is_dir()) {
        missing.push(place);
        at = place.parent();
    }
    for place in missing.into_iter().rev() {
        match create_folder(place) {
            Ok(()) => {
                // Without it the next call would take the folder for one whose name lasts.
                sync_folder(parent_of(place)).inspect_err(|_| drop(fs::remove_dir(place)))?;
                made = true;
            }
            // Another process made it meanwhile.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && place.is_dir() => made = false,
            Err(error) => return Err(Error::io("make the folder", place)(error)),
        }
    }
    Ok(made)
}

/// Syncs a folder: the names in it are then on disk.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}

/// Renames `from` to `to`, unless something is there; says whether it did.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn rename_new(from: &Path, to: &Path) -> Result<bool> {
    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        Ok(()) => return Ok(true),
        Err(Errno::EEXIST) => return Ok(false),
        // The file system does not know the flag.
        Err(Errno::EINVAL | Errno::ENOSYS) => {}
        Err(errno) => return Err(Error::io("give the new name", to)(errno.into())),
    }
    let named = if from.is_dir() {
        // This replaces nothing but an empty folder.
        fs::rename(from, to)
    } else {
        fs::hard_link(from, to).map(|()| {
            let _ = fs::remove_file(from);
        })
    };
    match named {
        Ok(()) => Ok(true),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty | ErrorKind::NotADirectory
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(Error::io("give the new name", to)(error)),
    }
}

/// Removes from `folder` the temporary files of `name` that belong to dead makers. What cannot be removed stays.
pub(crate) fn remove_leftovers(folder: &Path, name: &str) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let prefix = format!(".{name}.");
    let names: Vec<_> = entries
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|found| found.as_encoded_bytes().starts_with(prefix.as_bytes()))
        .collect();
    for found in names.iter().filter(|found| found.as_encoded_bytes().ends_with(TEMPORARY.as_bytes())) {
        remove_leftover(&folder.join(found));
    }
    for found in &names {
        if let Some(database) = database_of(found)
            && fs::symlink_metadata(folder.join(database)).is_err()
        {
            let _ = fs::remove_file(folder.join(found));
        }
    }
}

/// Removes the temporary file or folder at `path`, where nobody holds its lock.
fn remove_leftover(path: &Path) {
    let Ok(file) = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path) else {
        return;
    };
    if file.try_lock().is_err() {
        return;
    }
    let is_folder = file.metadata().is_ok_and(|metadata| metadata.is_dir());
    let _ = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// The temporary database that the file `name` belongs to, if it has the name of a side file of one.
fn database_of(name: &OsStr) -> Option<&str> {
    let name = name.to_str()?;
    SIDE_FILES.iter().find_map(|suffix| name.strip_suffix(suffix)).filter(|name| name.ends_with(TEMPORARY))
}

fn open_folder(folder: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NOFOLLOW).open(folder)
}

/// Where this process is root and `folder` belongs to somebody else, `made` in it becomes theirs.
pub(crate) fn give_to_owner(made: &File, folder: &Path) {
    if !geteuid().is_root() {
        return;
    }
    if let Ok(owner) = fs::metadata(folder)
        && (owner.uid(), owner.gid()) != (0, 0)
    {
        // In a user namespace the owner may have no number here: root stays the owner then.
        let _ = fchown(made, Some(owner.uid()), Some(owner.gid()));
    }
}
