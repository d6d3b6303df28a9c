//! The lock of a legacy run: `<workspace>/.brigade/run.lock/owner.json` (contract legacy-files.md). Only read.
//!
//! Legacy knows an owner by its pid alone, so here a pid that runs is the owner, whoever has it by now.

use std::path::{Path, PathBuf};

use super::folder::{Folder, Trouble};
use crate::json::{self, Object, Value};

/// The most bytes of an owner.json that are read.
const MAX_OWNER: u64 = 64 * 1024;

/// The owner of a lock that is held for the run that was asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) pid: u32,
    pub(super) workspace: PathBuf,
    /// When it took the lock, as it says.
    pub(super) acquired_at: Option<String>,
}

/// The owner that holds the lock for the run directory `directory` (real), whose run.json is `run_json`. `None` where there
/// is none, it can't be read, or it holds it for another run.
pub(super) fn owner(directory: &Path, run_json: Option<&Object>) -> Option<Owner> {
    let workspace = workspace(directory, run_json)?;
    let owner = read(&workspace).ok()??;
    let text = |key: &str| owner.get(key.as_bytes()).and_then(Value::as_str);
    let run_dir = Path::new(text("run_dir")?);
    let same = run_dir == directory || std::fs::canonicalize(run_dir).is_ok_and(|real| real == directory);
    if !same {
        return None;
    }
    let pid = owner.get("pid".as_bytes()).and_then(Value::as_i64)?;
    let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0)?;
    Some(Owner { pid, workspace, acquired_at: text("acquired_at").map(str::to_owned) })
}

/// The workspace of a run: run.json's lock_workspace, else the directory above `.brigade/runs`, else run.json's cwd.
fn workspace(directory: &Path, run_json: Option<&Object>) -> Option<PathBuf> {
    let said = |key: &str| {
        let path = run_json?.get(key.as_bytes()).and_then(Value::as_str).map(PathBuf::from)?;
        path.is_absolute().then_some(path)
    };
    let above = || {
        let runs = directory.parent()?;
        let brigade = runs.parent()?;
        (runs.file_name()? == "runs" && brigade.file_name()? == ".brigade").then(|| brigade.parent())?
    };
    said("lock_workspace").or_else(|| above().map(Path::to_path_buf)).or_else(|| said("cwd"))
}

fn read(workspace: &Path) -> Result<Option<Object>, Trouble> {
    let Some((workspace, _)) = Folder::open(workspace)? else { return Ok(None) };
    let Some(brigade) = workspace.folder(".brigade")? else { return Ok(None) };
    let Some(lock) = brigade.folder("run.lock")? else { return Ok(None) };
    let Some(owner) = lock.file("owner.json")? else { return Ok(None) };
    Ok(json::parse_object(&owner.read(MAX_OWNER)?).ok())
}
