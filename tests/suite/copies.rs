//! Copies of a store: each way of copying and moving, and what a copy may do.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Answer, Workspace, orphaned, started};

/// Runs SQL in the sqlite3 shell.
fn shell(store: &Path, sql: &str) -> String {
    let output = Command::new("sqlite3").arg("-bail").arg(store).arg(sql).output().unwrap();
    assert!(output.status.success(), "{sql}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn on(workspace: &Workspace, store: &Path, arguments: &[&str]) -> Answer {
    workspace.legbook(["--store", store.to_str().unwrap()].iter().chain(arguments))
}

/// A workspace with the run r1, whose owner has died, and a copy of its store.
fn copied(copy: impl FnOnce(&Path, &Path)) -> (Workspace, PathBuf) {
    let workspace = Workspace::new();
    orphaned(&workspace, "r1");
    let path = workspace.path().join("copy.db");
    copy(&workspace.store(), &path);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    (workspace, path)
}

fn backup(store: &Path, copy: &Path) {
    shell(store, &format!(".backup '{}'", copy.display()));
}

#[test]
fn a_copy_never_ends_the_run_of_the_original() {
    let ways: [fn(&Path, &Path); 3] = [
        backup,
        |store, copy| drop(shell(store, &format!("VACUUM INTO '{}'", copy.display()))),
        |store, copy| assert!(fs::copy(store, copy).unwrap() > 0),
    ];
    for way in ways {
        let (workspace, copy) = copied(way);
        let before = fs::read(workspace.run_json("r1")).unwrap();
        let said = on(&workspace, &copy, &["runs", "recover", "r1"]);
        let said = said.refused(2, "is a copy of the store");
        assert!(said.contains(workspace.store().to_str().unwrap()), "{said}");
        assert!(said.contains("db adopt --fork"), "{said}");
        assert_eq!(fs::read(workspace.run_json("r1")).unwrap(), before);
        workspace.legbook(["runs", "recover", "r1"]).expect(0);
        assert_ne!(fs::read(workspace.run_json("r1")).unwrap(), before);
    }
}

#[test]
fn a_copy_is_read_and_takes_no_write() {
    let (workspace, copy) = copied(backup);
    let before = fs::read(&copy).unwrap();
    for read in [
        &["runs", "list"] as &[&str],
        &["runs", "events", "r1"],
        &["runs", "at", "r1", "last"],
        &["db", "info"],
        &["runs", "export", "r1", "--to", "exported"],
    ] {
        on(&workspace, &copy, read).expect(0);
    }
    let picture = workspace.picture();
    for write in [
        &["runs", "start", "r2"] as &[&str],
        &["runs", "status", "r1", "planning", "--token", &"0".repeat(64)],
        &["runs", "finish", "r1", "--token", &"0".repeat(64)],
        &["runs", "export", "r1"],
        &["runs", "import", "exported"],
        &["run", "--", "true"],
        &["stage", "begin"],
        &["stage", "done"],
        &["db", "set", "max-journal-events", "4096"],
        &["db", "adopt"],
    ] {
        // The stage commands answer every refusal with 1, as their script does.
        let code = if write[0] == "stage" { 1 } else { 2 };
        on(&workspace, &copy, write).refused(code, "is a copy of the store");
    }
    assert_eq!(workspace.picture(), picture);
    assert_eq!(fs::read(&copy).unwrap(), before);
}

#[test]
fn doctor_says_that_a_store_is_a_copy_and_gives_no_command_for_the_original() {
    let (workspace, copy) = copied(backup);
    // The original goes on; its run.json is no fault of the copy.
    workspace.legbook(["runs", "recover", "r1"]).expect(0);
    let said = workspace.legbook(["doctor", "--json", "--full", copy.to_str().unwrap()]);
    assert!(said.stdout.contains("\"store-copy\""), "{said:?}");
    assert!(!said.stdout.contains("\"command\""), "{said:?}");
    assert!(!said.stdout.contains("run.json does not match"), "{said:?}");
}

#[test]
fn a_fork_is_a_store_of_its_own_and_leaves_the_original_alone() {
    let (workspace, copy) = copied(backup);
    let original = fs::read(workspace.run_json("r1")).unwrap();
    let answer = on(&workspace, &copy, &["db", "adopt", "--fork", "--json"]).json();
    let id = answer["new_store_id"].as_str().unwrap();
    assert_ne!(shell(&workspace.store(), "SELECT store_id FROM store").trim(), id);
    on(&workspace, &copy, &["runs", "recover", "r1"]).expect(0);
    assert_eq!(fs::read(workspace.run_json("r1")).unwrap(), original);
    assert!(workspace.path().join("runs/r1/run.json").is_file());
    assert_eq!(on(&workspace, &copy, &["doctor", copy.to_str().unwrap()]).code, 0);
    workspace.legbook(["runs", "recover", "r1"]).expect(0);
}

#[test]
fn a_store_that_was_moved_is_adopted_by_its_next_write() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let moved = workspace.path().join("moved.db");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    backup(&workspace.store(), &moved);
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(workspace.path().join(".legbook").join(file));
    }
    let said = on(&workspace, &moved, &["runs", "start", "r2", "-q"]);
    said.expect(0);
    assert!(said.stderr.contains("note: the store was moved here from"), "{said:?}");
    let said = on(&workspace, &moved, &["db", "set", "max-journal-events", "4096"]);
    said.expect(0);
    assert_eq!(said.stderr, "", "{said:?}");
}

#[test]
fn a_renamed_folder_and_a_copy_put_back_are_the_store() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let renamed = workspace.path().join("renamed");
    fs::rename(workspace.path().join(".legbook"), &renamed).unwrap();
    let store = renamed.join("store.db");
    let said = on(&workspace, &store, &["db", "set", "max-journal-events", "4096"]);
    said.expect(0);
    assert_eq!(said.stderr, "", "the same file: {said:?}");
    let copy = workspace.path().join("copy.db");
    backup(&store, &copy);
    fs::rename(&copy, &store).unwrap();
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(renamed.join(format!("store.db{side}")));
    }
    on(&workspace, &store, &["db", "set", "max-journal-events", "8192"]).expect(0);
}

#[test]
fn an_unknown_home_counts_as_the_store() {
    let (workspace, copy) = copied(backup);
    // A folder that cannot be looked into stands for another machine's mount: root sees all, so a damaged file does.
    fs::write(workspace.store(), "SQLite format 3\0 and nothing more").unwrap();
    on(&workspace, &copy, &["runs", "recover", "r1"]).refused(2, "is a copy of the store");
    fs::remove_file(workspace.store()).unwrap();
    on(&workspace, &copy, &["db", "adopt"]).expect(0);
}

#[test]
fn the_identity_changes_only_without_a_home() {
    let (_workspace, copy) = copied(backup);
    let update = "UPDATE store SET store_id = '0123456789abcdef0123456789abcdef'";
    let refused = Command::new("sqlite3").arg(&copy).arg(update).output().unwrap();
    assert!(String::from_utf8_lossy(&refused.stderr).contains("store: the identity never changes"));
}
