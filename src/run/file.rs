//! run.json on disk: reading it, and replacing it atomically under the export lock.
//!
//! A crash while run.json is replaced leaves the old one or the new one, whole, and at most a `.run.json.*.tmp`, which the
//! next start, finish, export or recovery of the run removes (`publish`). A run.json that is not a snapshot of the run is renamed
//! before it is replaced: a crash between the two renames leaves no run.json, and the next export or recovery writes it.
//!
//! Exports of one run are serialized between processes by a lock (`flock`) on `.run.json.lock` beside run.json; it is
//! let go by the system when its holder dies. What is exported is read from the store after the lock is taken.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use crate::clock::Clock;
use crate::db::Store;
use crate::digest::Digest;
use crate::error::{Error, Result, RunError};
use crate::json::{self, Object};
use crate::publish::{self, NewFile};
use crate::step::Step;

/// The file's name in its run directory.
pub const RUN_JSON: &str = "run.json";
/// The export lock's name beside it.
const EXPORT_LOCK: &str = ".run.json.lock";
/// How often and for how long a busy export lock is tried: 10 seconds in all.
const LOCK_TRIES: u32 = 2_000;
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// The most that is read as run.json: what max-checkpoint-bytes can be raised to.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// What stands in a run directory as run.json.
#[derive(Debug, Clone, PartialEq)]
pub enum OnDisk {
    /// There is no run.json (or no run directory).
    Missing,
    /// There are bytes that are no JSON object.
    Unparseable(Vec<u8>),
    /// The bytes and the object that they hold.
    Snapshot(Vec<u8>, Object),
}

impl OnDisk {
    /// What a file with these bytes is; `None`: there is none.
    pub(crate) fn of(bytes: Option<Vec<u8>>) -> Self {
        let Some(bytes) = bytes else { return Self::Missing };
        match json::parse_object(&bytes) {
            Ok(object) => Self::Snapshot(bytes, object),
            Err(_) => Self::Unparseable(bytes),
        }
    }

    /// The bytes, where there is a file.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Missing => None,
            Self::Unparseable(bytes) | Self::Snapshot(bytes, _) => Some(bytes),
        }
    }

    /// The object, where the file holds one.
    pub fn object(&self) -> Option<&Object> {
        match self {
            Self::Snapshot(_, object) => Some(object),
            _ => None,
        }
    }
}

/// Reads `run_dir`/run.json. Missing and unparseable are answers; a file that can't be read is an error, and so is
/// what can be no run.json at all.
///
/// # Errors
/// [`RunError::Obstacle`] for a link, a directory, a pipe, or more bytes than any snapshot may have; [`Error::Io`].
pub fn read(run_dir: &Path) -> Result<OnDisk> {
    let Some(file) = open(run_dir)? else { return Ok(OnDisk::Missing) };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(Error::io("read", run_dir.join(RUN_JSON)))?;
    Ok(OnDisk::of(Some(bytes)))
}

/// Opens `run_dir`/run.json; `None`: there is none.
fn open(run_dir: &Path) -> Result<Option<File>> {
    let path = run_dir.join(RUN_JSON);
    let metadata = match check_regular(&path) {
        Ok(metadata) => metadata,
        Err(Error::Io { source, .. })
            if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    if metadata.len() > MOST_BYTES {
        return Err(RunError::Obstacle { path, rule: "it is larger than any snapshot may be" }.into());
    }
    let opened = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(&path);
    opened.map(Some).map_err(Error::io("read", &path))
}

/// The digest of run.json, which is read piece by piece; `None`: there is none.
///
/// # Errors
/// As [`read`].
pub(crate) fn digest(run_dir: &Path) -> Result<Option<Digest>> {
    let Some(file) = open(run_dir)? else { return Ok(None) };
    let digest =
        Digest::of_reader(file.take(MOST_BYTES)).map_err(Error::io("read", run_dir.join(RUN_JSON)))?;
    Ok(Some(digest))
}

/// Refuses what stands at `path` and is no regular file.
fn check_regular(path: &Path) -> Result<fs::Metadata> {
    let metadata = fs::symlink_metadata(path).map_err(Error::io("read", path))?;
    let rule = if metadata.is_file() {
        return Ok(metadata);
    } else if metadata.is_symlink() {
        "it is a symbolic link"
    } else if metadata.is_dir() {
        "it is a directory"
    } else {
        "it is not a regular file"
    };
    Err(RunError::Obstacle { path: path.to_path_buf(), rule }.into())
}

/// The export lock of a run, held until dropped.
#[derive(Debug)]
pub(crate) struct ExportLock {
    run_dir: PathBuf,
    file: File,
}

impl Drop for ExportLock {
    /// Closing the file would do, were it not for a child process that another thread is just starting: until it runs
    /// its program it holds the open file too, and the lock with it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl ExportLock {
    /// Waits for the export lock of `run_dir`, for 10 seconds at most.
    ///
    /// # Errors
    /// [`RunError::ExportBusy`]; [`Error::Io`] where the lock file can't be made.
    pub(crate) fn take(run_dir: &Path, clock: &dyn Clock) -> Result<Self> {
        // The store keeps real paths. Where one leads elsewhere now, writing there would leave the run's own folder.
        if fs::canonicalize(run_dir).map_err(Error::io("resolve", run_dir))? != run_dir {
            let rule = "a symbolic link stands on its path";
            return Err(RunError::Obstacle { path: run_dir.to_path_buf(), rule }.into());
        }
        let path = run_dir.join(EXPORT_LOCK);
        let file = Self::open(&path)?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Self { run_dir: run_dir.to_path_buf(), file }),
                Err(TryLockError::WouldBlock) => clock.sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
            }
        }
        Err(RunError::ExportBusy { path: run_dir.join(RUN_JSON) }.into())
    }

    /// Opens the lock's file, making it if it is missing.
    fn open(path: &Path) -> Result<File> {
        match publish::create(path) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made,
        }
        let opened = OpenOptions::new().write(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path);
        opened.or_else(|error| check_regular(path).and(Err(Error::io("open the export lock", path)(error))))
    }

    /// The run directory.
    pub(crate) fn run_dir(&self) -> &Path {
        &self.run_dir
    }

    /// Replaces run.json by `bytes`, atomically and durably. With `keep`, the present file is renamed to
    /// `run.json.<keep>-<32 hex>` first; gives that name.
    ///
    /// # Errors
    /// [`Error::Io`]; run.json is then the old one or the new one, whole.
    pub(crate) fn replace(&self, store: &Store, bytes: &[u8], keep: Option<&str>) -> Result<Option<String>> {
        let path = self.run_dir.join(RUN_JSON);
        let mut new = NewFile::begin(&self.run_dir, RUN_JSON)?;
        new.fill(bytes)?;
        store.reached(Step::TempWritten);
        let kept = keep.map(|label| self.set_aside(label, store.clock())).transpose()?;
        if kept.is_some() {
            store.reached(Step::CorruptRenamed);
        }
        new.replace(&path, || store.reached(Step::Renamed)).inspect_err(|_| {
            if let Some(name) = &kept {
                // Back to where it was, unless the new file is there.
                let _ = publish::rename_new(&self.run_dir.join(name), &path);
            }
        })?;
        Ok(kept)
    }

    /// Renames run.json to `run.json.<label>-<32 hex>`, so that it is kept, and gives the new name.
    ///
    /// # Errors
    /// [`Error::Io`]; run.json is then still there.
    pub(crate) fn set_aside(&self, label: &str, clock: &dyn Clock) -> Result<String> {
        let path = self.run_dir.join(RUN_JSON);
        let hex = crate::clock::random_hex(clock, 16).map_err(Error::io("name a copy of", &path))?;
        let name = format!("{RUN_JSON}.{label}-{hex}");
        fs::rename(&path, self.run_dir.join(&name)).map_err(Error::io("rename", &path))?;
        publish::sync_folder(&self.run_dir)?;
        Ok(name)
    }
}

/// The name under which a run.json was kept last (`run.json.<label>-…`), by the time of its renaming.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn last_kept(run_dir: &Path, label: &str) -> Result<Option<String>> {
    let prefix = format!("{RUN_JSON}.{label}-");
    let mut last = None;
    for entry in fs::read_dir(run_dir).map_err(Error::io("list", run_dir))? {
        let entry = entry.map_err(Error::io("list", run_dir))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !name.starts_with(&prefix) {
            continue;
        }
        let metadata = entry.metadata().map_err(Error::io("look at", entry.path()))?;
        last = last.max(Some(((metadata.ctime(), metadata.ctime_nsec()), name)));
    }
    Ok(last.map(|(_, name)| name))
}

/// Makes `run_dir` (0700, whatever the umask) where it is missing; says whether it did. Gives its real path.
///
/// # Errors
/// [`Error::Io`]; [`RunError::PathNotUtf8`].
pub(crate) fn make_run_dir(run_dir: &Path) -> Result<(PathBuf, bool)> {
    let made = publish::make_folders(run_dir)?;
    let real = fs::canonicalize(run_dir).map_err(Error::io("resolve", run_dir))?;
    utf8(&real)?;
    Ok((real, made))
}

/// `path` as text.
///
/// # Errors
/// [`RunError::PathNotUtf8`].
pub(crate) fn utf8(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| RunError::PathNotUtf8(path.to_path_buf()).into())
}
