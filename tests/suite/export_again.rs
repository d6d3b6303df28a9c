//! An export of many runs that failed or was killed: the same call again finishes it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::support::Workspace;

const EXPORT: [&str; 6] = ["runs", "export", "--all", "--to", "out", "--json"];

fn with_runs(count: usize) -> Workspace {
    let workspace = Workspace::new();
    for number in 0..count {
        workspace.legbook(["run", "--run-id", &format!("r{number}"), "--", "true"]).expect(0);
    }
    workspace
}

/// The files of `workspace` in the folder `name`, with their bytes.
fn tree(workspace: &Workspace, name: &str) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let root = workspace.path().join(name);
    let all = workspace.picture().into_iter();
    all.filter_map(|(path, bytes)| Some((path.strip_prefix(&root).ok()?.to_path_buf(), bytes))).collect()
}

#[test]
fn an_export_that_failed_is_finished_by_the_same_call() {
    let workspace = with_runs(3);
    workspace.legbook(["runs", "export", "--all", "--to", "whole"]).expect(0);
    let obstacle = workspace.path().join("out/r1");
    fs::create_dir_all(&obstacle).unwrap();
    let failed = workspace.legbook(EXPORT);
    assert_eq!(failed.code, 2, "{failed:?}");
    assert!(failed.stderr.contains("out/r1 exists, and is different"), "{failed:?}");
    fs::remove_dir(&obstacle).unwrap();
    let answer = workspace.legbook(EXPORT);
    assert_eq!(answer.code, 0, "{answer:?}");
    let runs = answer.json()["runs"].as_array().unwrap().clone();
    let unchanged: Vec<_> = runs.iter().map(|run| run["unchanged"].as_bool().unwrap()).collect();
    assert_eq!(unchanged, [true, false, true]);
    assert_eq!(tree(&workspace, "out"), tree(&workspace, "whole"));
}

#[test]
fn an_export_that_was_killed_is_finished_by_the_same_call() {
    let workspace = with_runs(12);
    workspace.legbook(["runs", "export", "--all", "--to", "whole"]).expect(0);
    let mut killed = workspace.command(EXPORT).stdout(std::process::Stdio::null()).spawn().unwrap();
    // Whatever it has done by then, even all of it: nothing here depends on the moment.
    while !workspace.path().join("out/r2").exists() && killed.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let _ = killed.kill();
    killed.wait().unwrap();
    let answer = workspace.legbook(EXPORT);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert_eq!(tree(&workspace, "out"), tree(&workspace, "whole"));
}

#[test]
fn a_directory_with_another_byte_mode_or_name_is_refused_and_stays() {
    let workspace = with_runs(1);
    let journal = workspace.path().join("out/r0/events/lifecycle.jsonl");
    let changes: [&dyn Fn(); 3] = [
        &|| fs::write(&journal, "{}\n").unwrap(),
        &|| fs::set_permissions(&journal, Permissions::from_mode(0o640)).unwrap(),
        &|| fs::write(workspace.path().join("out/r0/mine"), "mine").unwrap(),
    ];
    for change in changes {
        let _ = fs::remove_dir_all(workspace.path().join("out"));
        workspace.legbook(EXPORT).expect(0);
        workspace.legbook(EXPORT).expect(0);
        change();
        let before = tree(&workspace, "out");
        let refused = workspace.legbook(EXPORT);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert_eq!(tree(&workspace, "out"), before);
    }
}
