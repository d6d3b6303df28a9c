//! Files that legbook replaces: what a person made is kept, and what dead processes left is removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use legbook::doctor::Heads;
use legbook::error::{DoctorError, Error};

use crate::support::{Answer, Workspace, orphaned, started};

const EDITED: &str = r#"{"status": "planning", "by": "hand"}"#;

/// The names in `folder` that begin with `prefix`.
fn names(folder: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(prefix)).collect()
}

fn run_dir(workspace: &Workspace) -> PathBuf {
    workspace.run_json("r1").parent().unwrap().to_path_buf()
}

/// Requires that the edited run.json was kept, that `answer` names it, and that run.json is the last snapshot.
#[track_caller]
fn check_kept(workspace: &Workspace, answer: &Answer) {
    answer.expect(0);
    let kept = names(&run_dir(workspace), "run.json.replaced-");
    assert_eq!(kept.len(), 1, "{answer:?}");
    let kept = &kept[0];
    assert_eq!(fs::read_to_string(run_dir(workspace).join(kept)).unwrap(), EDITED);
    let note = answer.stderr.lines().find(|line| line.contains(kept.as_str()));
    assert!(note.is_some_and(|note| note.starts_with("note: run.json of r1 ")), "{answer:?}");
    check_current(workspace);
}

#[track_caller]
fn check_current(workspace: &Workspace) {
    let last = workspace.legbook(["runs", "at", "r1", "last"]);
    assert_eq!(fs::read_to_string(workspace.run_json("r1")).unwrap(), last.expect(0));
}

#[test]
fn every_command_that_replaces_an_edited_run_json_keeps_it_and_says_so() {
    let commands: [(&[&str], &str); 5] = [
        (&["runs", "status", "r1", "dispatching"], ""),
        (&["runs", "write", "r1", "-q"], r#"{"status": "dispatching"}"#),
        (&["runs", "finish", "r1"], ""),
        (&["runs", "finish", "r1", "failed", "--json"], ""),
        (&["runs", "start", "r1", "--or-resume", "--lease", "1h"], ""),
    ];
    for (words, input) in commands {
        let workspace = Workspace::new();
        let token = started(&workspace, "r1");
        fs::write(workspace.run_json("r1"), EDITED).unwrap();
        let answer = workspace.legbook_reading_with(words, input, &[("LEGBOOK_TOKEN", &token)]);
        check_kept(&workspace, &answer);
    }
}

#[test]
fn an_edited_run_json_of_a_run_that_has_ended_is_kept_and_named() {
    for words in [&["runs", "finish", "r1"][..], &["runs", "export", "r1"]] {
        let workspace = Workspace::new();
        let token = started(&workspace, "r1");
        workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
        fs::write(workspace.run_json("r1"), EDITED).unwrap();
        check_kept(&workspace, &workspace.legbook(words));
    }
    for words in
        [&["runs", "recover", "r1", "-q"][..], &["runs", "start", "r1", "--or-resume", "--lease", "1h"]]
    {
        let workspace = Workspace::new();
        orphaned(&workspace, "r1");
        fs::write(workspace.run_json("r1"), EDITED).unwrap();
        let answer = workspace.legbook(words);
        answer.expect(0);
        let kept = names(&run_dir(&workspace), "run.json.replaced-");
        assert_eq!(kept.len(), 1, "{answer:?}");
        assert!(answer.stderr.contains(&kept[0]), "{answer:?}");
    }
}

#[test]
fn a_command_that_edits_its_own_run_json_is_told_where_it_is() {
    let workspace = Workspace::new();
    let script = format!("printf '%s' '{EDITED}' > .legbook/runs/r1/run.json");
    check_kept(&workspace, &workspace.legbook(["run", "--run-id", "r1", "--", "sh", "-c", &script]));
}

#[test]
fn an_older_snapshot_of_the_run_is_replaced_without_a_copy() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let older = fs::read(workspace.run_json("r1")).unwrap();
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
    fs::write(workspace.run_json("r1"), &older).unwrap();
    let answer = workspace.legbook(["runs", "status", "r1", "dispatching", "--token", &token]);
    answer.expect(0);
    assert!(!answer.stderr.contains("run.json of r1"), "{answer:?}");
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    fs::write(workspace.run_json("r1"), &older).unwrap();
    workspace.legbook(["runs", "export", "r1"]).expect(0);
    assert_eq!(names(&run_dir(&workspace), "run.json.replaced-"), Vec::<String>::new());
    check_current(&workspace);
}

/// An old copy of the store was put back: run.json is from the future, and the only copy of what was written since.
#[test]
fn a_run_json_from_the_future_is_kept() {
    let workspace = Workspace::new();
    let token = started(&workspace, "r1");
    let copy = workspace.path().join("copy.db");
    let copied = std::process::Command::new("sqlite3")
        .arg(workspace.store())
        .arg(format!(".backup {}", copy.display()))
        .status();
    assert!(copied.unwrap().success());
    workspace.legbook(["runs", "status", "r1", "planning", "--token", &token]).expect(0);
    let future = fs::read(workspace.run_json("r1")).unwrap();
    for side_file in ["store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(workspace.path().join(".legbook").join(side_file));
    }
    fs::rename(copy, workspace.store()).unwrap();
    workspace.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let kept = names(&run_dir(&workspace), "run.json.replaced-");
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read(run_dir(&workspace).join(&kept[0])).unwrap(), future);
}

/// Leftovers of a dead maker and of a living one, in the run directory.
fn leave(folder: &Path) -> (PathBuf, fs::File) {
    fs::write(folder.join(".run.json.4194305-0.tmp"), "{").unwrap();
    let living = folder.join(".run.json.4194305-1.tmp");
    let file = fs::File::create(&living).unwrap();
    file.lock().unwrap();
    (living, file)
}

#[test]
fn a_start_a_finish_an_export_and_a_recovery_remove_what_dead_writers_left() {
    let ended = Workspace::new();
    let token = started(&ended, "r1");
    ended.legbook(["runs", "finish", "r1", "--token", &token]).expect(0);
    let stale = Workspace::new();
    orphaned(&stale, "r1");
    let cases: [(&Workspace, &[&str]); 5] = [
        (&ended, &["runs", "finish", "r1"]),
        (&ended, &["runs", "export", "r1"]),
        (&ended, &["runs", "recover", "r1"]),
        (&ended, &["runs", "start", "r1", "--resume", "--lease", "1h"]),
        (&stale, &["runs", "recover", "r1"]),
    ];
    for (workspace, words) in cases {
        let (living, _lock) = leave(&run_dir(workspace));
        workspace.legbook(words).expect(0);
        assert_eq!(
            names(&run_dir(workspace), ".run.json.4"),
            [living.file_name().unwrap().to_str().unwrap()]
        );
        fs::remove_file(living).unwrap();
    }
}

#[test]
fn making_a_store_removes_what_dead_makers_left() {
    let workspace = Workspace::new();
    let folder = workspace.path().join("data");
    fs::create_dir_all(folder.join(".store.4194305-0.tmp")).unwrap();
    for name in
        [".store.4194305-0.tmp/store.db", ".store.abc.tmp", ".store.abc.tmp-wal", ".store.def.tmp-shm"]
    {
        fs::write(folder.join(name), "half").unwrap();
    }
    fs::create_dir(folder.join(".store.4194305-1.tmp")).unwrap();
    let living = fs::File::open(folder.join(".store.4194305-1.tmp")).unwrap();
    living.lock().unwrap();
    workspace.legbook(["--store", "data/store.db", "run", "--", "true"]).expect(0);
    assert_eq!(names(&folder, ".store"), [".store.4194305-1.tmp"]);
}

#[test]
fn an_export_removes_the_folders_that_dead_exports_left() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r1", "--", "true"]).expect(0);
    workspace.legbook_reading(["stage", "save", "fetch"], r#"{"pages": 3}"#).expect(0);
    let out = workspace.path().join("out");
    for name in [".legbook-export.4194305-0.tmp", ".stage-export.4194305-0.tmp"] {
        fs::create_dir_all(out.join(name).join("events")).unwrap();
    }
    workspace.legbook(["runs", "export", "r1", "--to", "out"]).expect(0);
    workspace.legbook(["stage", "export", "out/stages"]).expect(0);
    assert_eq!(names(&out, "."), Vec::<String>::new());
}

#[test]
fn a_heads_file_that_was_changed_between_reading_and_writing_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("heads.json");
    let new = Heads::read(&file).unwrap();
    let faster = Heads::read(&file).unwrap();
    faster.write().unwrap();
    let changed = |heads: &Heads| {
        let before = fs::read(&file).unwrap();
        let error = heads.write().unwrap_err();
        assert!(matches!(error, Error::Doctor(DoctorError::HeadsChanged { .. })), "{error}");
        assert_eq!(fs::read(&file).unwrap(), before);
    };
    changed(&new);
    let known = Heads::read(&file).unwrap();
    known.write().unwrap();
    fs::write(&file, fs::read_to_string(&file).unwrap() + "\n").unwrap();
    changed(&known);
    fs::remove_file(&file).unwrap();
    assert!(known.write().is_err());
    assert!(!file.exists());
}

#[test]
fn a_mode_that_the_store_says_never_sets_more_than_permission_bits() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r1", "--", "true"]).expect(0);
    workspace.legbook(["runs", "export", "r1", "--to", "out"]).expect(0);
    fs::set_permissions(workspace.path().join("out/r1/run.json"), fs::Permissions::from_mode(0o644)).unwrap();
    workspace.legbook(["--store", "new.db", "runs", "import", "out/r1"]).expect(0);
    let store = workspace.path().join("new.db");
    workspace.legbook(["doctor", "--full", "new.db"]).expect(0);
    let plain = rusqlite::Connection::open(&store).unwrap();
    let triggers: Vec<(String, String)> = plain
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'imported_files'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        plain.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    // Set-user-ID and set-group-ID, and all may run it.
    plain.execute_batch("UPDATE imported_files SET mode = 3565 WHERE path = 'run.json'").unwrap();
    for (_, sql) in &triggers {
        plain.execute_batch(sql).unwrap();
    }
    drop(plain);
    let doctor = workspace.legbook(["doctor", "--full", "new.db"]);
    assert!(doctor.expect(2).contains("6755"), "{doctor:?}");
    workspace.legbook(["--store", "new.db", "runs", "export", "r1", "--to", "again"]).expect(0);
    let mode = fs::metadata(workspace.path().join("again/r1/run.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}
