//! The store as files: who may read and write them, whose they are, and how large the -wal is.
//!
//! They are asked by name (`lstat`), never opened: see db's inspect.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Kind, Remedy};
use crate::error::{Error, Result};

/// From how many bytes on a -wal is large. SQLite empties one of its own accord at 4 MB, unless a reader never ends.
const LARGE_WAL: u64 = 64 * 1024 * 1024;

/// Looks at the store's file, its side files and its folder.
///
/// # Errors
/// [`Error::Io`] where the store or its folder can't be looked at.
pub(super) fn look(store: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let folder = match store.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder_metadata = fs::metadata(folder).map_err(Error::io("look at", folder))?;
    // A folder of legbook's own is for its owner alone; in another one only writing matters: who can write can replace.
    let forbidden = if folder.file_name() == Some(OsStr::new(".legbook")) { 0o077 } else { 0o022 };
    // In a sticky folder (/tmp) nobody replaces what is another's.
    if folder_metadata.mode() & forbidden != 0 && folder_metadata.mode() & 0o1000 == 0 {
        findings.push(mode(folder, &folder_metadata, "go-rwx"));
    }
    let metadata = fs::symlink_metadata(store).map_err(Error::io("look at", store))?;
    let user = nix::unistd::geteuid().as_raw();
    if metadata.uid() != folder_metadata.uid() || (user != 0 && metadata.uid() != user) {
        findings.push(owner(store, &metadata, folder_metadata.uid()));
    }
    if metadata.mode() & 0o077 != 0 {
        findings.push(mode(store, &metadata, "go-rwx"));
    }
    for suffix in ["-wal", "-shm"] {
        let mut side = store.as_os_str().to_owned();
        side.push(suffix);
        let side = PathBuf::from(side);
        // A side file that is not there, or went away just now, is none.
        let Ok(side_metadata) = fs::symlink_metadata(&side) else { continue };
        if side_metadata.mode() & 0o077 != 0 {
            findings.push(mode(&side, &side_metadata, "go-rwx"));
        }
        if side_metadata.uid() != metadata.uid() {
            findings.push(owner(&side, &side_metadata, metadata.uid()));
        }
        if suffix == "-wal" && side_metadata.len() >= LARGE_WAL {
            let megabytes = side_metadata.len() / (1024 * 1024);
            findings.push(Finding::new(
                Kind::WalLarge,
                format!("the -wal has {megabytes} MiB: a reader that never ends keeps it from being emptied"),
                Remedy::command(&["sqlite3", &store.to_string_lossy(), "PRAGMA wal_checkpoint(TRUNCATE)"]),
            ));
        }
    }
    Ok(findings)
}

fn mode(path: &Path, metadata: &Metadata, change: &str) -> Finding {
    let bits = metadata.mode() & 0o7777;
    Finding::new(
        Kind::FileMode,
        format!("other users may use {}: its mode is {bits:04o}", path.display()),
        Remedy::command(&["chmod", change, &path.to_string_lossy()]),
    )
}

fn owner(path: &Path, metadata: &Metadata, wanted: u32) -> Finding {
    let uid = metadata.uid();
    Finding::new(
        Kind::FileOwner,
        format!("{} belongs to user {uid}", path.display()),
        Remedy::command(&["chown", &wanted.to_string(), &path.to_string_lossy()]),
    )
}
