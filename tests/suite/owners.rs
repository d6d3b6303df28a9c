//! Root works in the folder of another user: what it makes there belongs to that user.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use crate::support::{Process, Workspace};

/// The user whose folder it is.
const OWNER: u32 = 65534;

/// Requires that all below `folder` is the owner's.
#[track_caller]
fn check_owner(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (OWNER, OWNER), "{}", path.display());
        if metadata.is_dir() {
            check_owner(&path);
        }
    }
}

#[test]
fn what_root_makes_in_a_users_folder_is_the_users() {
    let workspace = Workspace::new();
    let folder = workspace.path();
    if [folder.clone(), folder.join(".git")]
        .iter()
        .any(|place| chown(place, Some(OWNER), Some(OWNER)).is_err())
    {
        eprintln!("only root can check what root makes in a user's folder");
        return;
    }
    let at = |words: &[&str]| {
        let answer = workspace.legbook([&["--store", ".legbook/store.db"], words].concat());
        answer.expect(0);
        check_owner(&folder);
        answer.stdout
    };
    at(&["runs", "start", "r1", "--pid", &Process::new().pid()]);
    fs::write(workspace.run_json("r1"), "{").unwrap();
    at(&["runs", "recover", "r1"]);
    fs::remove_file(workspace.run_json("r1")).unwrap();
    at(&["runs", "export", "r1"]);
    fs::remove_dir_all(workspace.run_json("r1").parent().unwrap()).unwrap();
    at(&["runs", "export", "r1"]);
    at(&["runs", "export", "r1", "--to", "out/runs"]);
    let stage = workspace.legbook_reading(["--store", ".legbook/store.db", "stage", "save", "fetch"], "{}");
    stage.expect(0);
    at(&["stage", "export", "out/stages"]);
    at(&["doctor", "--heads", "heads.json", "--warn-ok", ".legbook/store.db"]);
    // legbook has the store open while the command runs, so the side files are there.
    let owners = at(&["run", "--", "stat", "-c", "%u:%g", ".legbook/store.db-wal", ".legbook/store.db-shm"]);
    assert_eq!(owners, format!("{OWNER}:{OWNER}\n").repeat(2));
}
