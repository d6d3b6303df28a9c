//! The run lock from outside: workspaces, tokens, the state of a lock, and its rules in the `sqlite3` shell.

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

/// A row as legbook writes one, for run `a`, pid of no process that this test knows.
const LOCK: &str = "INSERT INTO locks (workspace, run_id, token_sha256, acquired_at, pid, last_write_at) VALUES \
    ('/w', 'a', printf('%064d', 0), '2026-01-02T03:04:05+00:00', 7, '2026-01-02T03:04:05.000000Z');";
const CLAIM: &str =
    "UPDATE locks SET claim_id = 'c', claimed_at = '2026-01-02T03:04:06.000000Z', claim_pid = 8;";

/// A store with the runs a and b.
fn store(folder: &Path) -> Store {
    let path = folder.join("store.db");
    let store = Store::open(&path, StoreOptions::default()).unwrap();
    shell(&path, "INSERT INTO runs (run_id, created_at) VALUES ('a', 'now'), ('b', 'now');").unwrap();
    store
}

/// Runs statements in the real shell, in its own way of opening a store; its words where it refuses one.
fn shell(path: &Path, statements: &str) -> Result<String, String> {
    let output = Command::new("sqlite3").arg("-bail").arg(path).arg(statements).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    if output.status.success() { Ok(said(&output.stdout)) } else { Err(said(&output.stderr)) }
}

#[test]
fn the_rules_of_a_lock_hold_in_the_plain_shell() {
    let folder = tempfile::tempdir().unwrap();
    let path = store(folder.path()).path().to_path_buf();
    let other = |from: &str, to: &str| LOCK.replace(from, to);
    let unlocked = [
        (other("'a'", "'nobody'"), "there is no such run"),
        (other("printf('%064d', 0)", "'the token itself'"), "64 lower-case hex"),
        (other(", 7,", ", NULL,"), "an owner has a pid"),
        (other(", 7,", ", 0,"), "an owner has a pid"),
        (other(", 7,", ", 4294967296,"), "an owner has a pid"),
        (other("+00:00", "Z"), "times are ISO 8601"),
        (other("05.000000Z", "05"), "times are ISO 8601"),
        (other("pid, l", "lease_seconds, pid, l").replace(", 7,", ", 0, 7,"), "a lease is a positive number"),
        (other("pid, l", "claim_id, pid, l").replace(", 7,", ", 'c', 7,"), "claimed after it was taken"),
        (
            "DELETE FROM locks; INSERT INTO removals VALUES ('a', 'now', 0, NULL);".to_owned() + LOCK,
            "being removed",
        ),
    ];
    for (statement, words) in unlocked {
        let refusal = shell(&path, &format!("BEGIN; {statement}")).unwrap_err();
        assert!(refusal.contains("locks: ") && refusal.contains(words), "{statement}: {refusal}");
    }
    shell(&path, LOCK).unwrap();
    let owned = "pid, start_time, boot_id, machine_id, host_name, pid_namespace, last_write_at";
    let mut locked = vec![
        (other("'a'", "'b'"), "this workspace is locked"),
        (other("'a'", "'b'").replace("INSERT", "INSERT OR REPLACE"), "this workspace is locked"),
        (
            other("(workspace", "(rowid, workspace")
                .replace("('/w'", "(1, '/v'")
                .replace("INSERT", "REPLACE"),
            "this workspace is locked",
        ),
        (other("'/w'", "'/v'"), "holds the lock of another workspace"),
        ("UPDATE locks SET workspace = '/v';".to_owned(), "never change"),
        ("UPDATE locks SET run_id = 'b';".to_owned(), "never change"),
        ("UPDATE locks SET token_sha256 = printf('%064d', 1);".to_owned(), "never change"),
        ("UPDATE locks SET acquired_at = '2026-01-02T03:04:06+00:00';".to_owned(), "never change"),
        ("UPDATE locks SET lease_seconds = 0;".to_owned(), "a lease is a positive number"),
        ("UPDATE locks SET pid = NULL;".to_owned(), "an owner has a pid"),
        ("UPDATE locks SET last_write_at = 'now';".to_owned(), "times are ISO 8601"),
        (CLAIM.replace("'2026-01-02T03:04:06.000000Z'", "'now'"), "times are ISO 8601"),
        ("UPDATE locks SET claim_id = 'c';".to_owned(), "a claim has an id, a time and a pid"),
        ("UPDATE locks SET claim_pid = 8;".to_owned(), "a claim has an id, a time and a pid"),
        (CLAIM.replace(" 8;", " 0;"), "a claim has an id, a time and a pid"),
        ("INSERT INTO removals VALUES ('a', 'now', 0, NULL);".to_owned(), "the run is locked"),
    ];
    for column in owned.split(", ") {
        let value = if column == "last_write_at" { "'2026-01-02T03:04:09.000000Z'" } else { "9" };
        let change = format!("{CLAIM} UPDATE locks SET {column} = {value};");
        locked.push((change, "while a claim stands the owner does not change"));
    }
    for (statement, words) in locked {
        let refusal = shell(&path, &format!("BEGIN; {statement}")).unwrap_err();
        assert!(refusal.contains(words), "{statement}: {refusal}");
    }
    // And what legbook does is allowed there too.
    let cycle =
        "UPDATE locks SET pid = 9, lease_seconds = 60, last_write_at = '2026-01-02T03:04:09.000000Z';";
    shell(&path, &format!("{cycle} {CLAIM} DELETE FROM locks;")).unwrap();
}

#[test]
fn a_lock_is_told_from_outside_in_five_words() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let word = |run: &str| {
        let run = RunId::parse(run).unwrap();
        lock::state(&store, Some(Path::new("/w")), &run).unwrap().word()
    };
    assert_eq!(word("a"), "absent");
    // Without a boot id nobody can judge the owner.
    shell(store.path(), LOCK).unwrap();
    assert_eq!((word("a"), word("b")), ("live", "live"));
    let here = "UPDATE locks SET pid = 4294967295, boot_id = 'an earlier one', start_time = '1';";
    shell(store.path(), here).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    let own =
        format!("UPDATE locks SET boot_id = '{}', pid_namespace = '{}';", boot.trim(), namespace.display());
    shell(store.path(), &own).unwrap();
    assert_eq!((word("a"), word("b")), ("stale", "foreign"));
    shell(store.path(), "DROP TRIGGER locks_update; UPDATE locks SET pid = 0;").unwrap();
    assert_eq!((word("a"), word("b")), ("invalid", "invalid"));
}
