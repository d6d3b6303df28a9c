//! The run lock from outside: workspaces, tokens, and the state of a lock that another program wrote.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use legbook::db::{Store, StoreOptions};
use legbook::error::{Error, LockError};
use legbook::id::RunId;
use legbook::lock::{self, OwnerToken};

use crate::support::Workspace;

#[test]
fn every_path_to_a_folder_of_a_workspace_gives_the_same_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let repository = root.join("repository");
    fs::create_dir_all(repository.join("deep/er")).unwrap();
    // A worktree of git has a file of that name.
    fs::write(repository.join(".git"), "gitdir: elsewhere").unwrap();
    symlink(repository.join("deep"), root.join("link")).unwrap();
    for cwd in ["repository", "repository/deep/er", "link", "link/er", "repository/deep/../deep"] {
        assert_eq!(lock::workspace_of(&root.join(cwd)).unwrap(), repository, "{cwd}");
    }

    let plain = root.join("plain");
    fs::create_dir(&plain).unwrap();
    symlink(&plain, root.join("other-name")).unwrap();
    for cwd in ["plain", "other-name"] {
        assert_eq!(lock::workspace_of(&root.join(cwd)).unwrap(), plain, "{cwd}");
    }
}

#[test]
fn a_workspace_that_is_not_there_or_not_utf8_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    assert!(matches!(lock::workspace_of(&absent).unwrap_err(), Error::Io { action: "resolve", .. }));

    let odd = folder.path().join(OsStr::from_bytes(b"w\xff"));
    fs::create_dir(&odd).unwrap();
    let error = lock::workspace_of(&odd).unwrap_err();
    assert!(matches!(error, Error::Lock(LockError::WorkspaceNotUtf8 { .. })), "{error}");
    // Inside of a repository whose own path is text, the folder does not matter.
    fs::create_dir(folder.path().join(".git")).unwrap();
    assert_eq!(lock::workspace_of(&odd).unwrap(), folder.path().canonicalize().unwrap());
}

#[test]
fn a_text_that_is_no_token_is_refused_and_not_repeated() {
    let upper = "A".repeat(64);
    let long = "a".repeat(65);
    let padded = format!(" {}", "a".repeat(63));
    for text in ["", "secret", &upper, &long, &padded] {
        let error = OwnerToken::parse(text).unwrap_err();
        assert!(matches!(error, LockError::MalformedToken));
        assert!(text.is_empty() || !format!("{error} {error:?}").contains(text));
    }
    let text = "0123456789abcdef".repeat(4);
    let token = OwnerToken::parse(&text).unwrap();
    assert_eq!(token.expose(), text);
    assert_eq!(format!("{token:?}"), "OwnerToken(hidden)");
}

#[test]
fn a_lock_that_the_shell_wrote_is_told_in_five_words() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store.db"), StoreOptions::default()).unwrap();
    let shell = |statements: &str| {
        let output = Command::new("sqlite3").arg("-bail").arg(store.path()).arg(statements).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let words = || {
        ["a", "b"].map(|run| {
            let run = RunId::parse(run).unwrap();
            lock::state(&store, Some(Path::new("/w")), &run).unwrap().word()
        })
    };
    shell("INSERT INTO runs (run_id, created_at) VALUES ('a', 'now'), ('b', 'now')");
    assert_eq!(words(), ["absent", "absent"]);
    shell(
        "INSERT INTO locks (workspace, run_id, token_sha256, acquired_at, pid, last_write_at) VALUES
             ('/w', 'a', printf('%064d', 0), '2026-01-02T03:04:05+00:00', 4294967295, '2026-01-02T03:04:05Z')",
    );
    // Without a boot id nobody can judge the owner.
    assert_eq!(words(), ["live", "live"]);
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    shell(&format!(
        "UPDATE locks SET boot_id = '{}', pid_namespace = '{}'",
        boot.trim(),
        namespace.display()
    ));
    assert_eq!(words(), ["stale", "foreign"]);
    shell("DROP TRIGGER locks_update; UPDATE locks SET pid = 0");
    assert_eq!(words(), ["invalid", "invalid"]);
}

#[test]
fn a_lease_of_more_than_366_days_is_refused() {
    let workspace = Workspace::new();
    for lease in ["1000000000000s", "367d"] {
        let start = ["runs", "start", "long", "--lease", lease];
        workspace.legbook(start).refused(2, "the lease is refused: it is longer than 366 days");
    }
    workspace.legbook(["runs", "start", "long", "--lease", "366d"]).expect(0);
}
