//! Opening a store: made whole or not at all, private, and never somebody else's file.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use legbook::db::{SCHEMA_VERSION, Store, StoreOptions};
use legbook::error::{Error, StoreError};
use rusqlite::Connection;

use crate::support::Workspace;

fn open(path: &Path) -> legbook::Result<Store> {
    Store::open(path, StoreOptions::default())
}

#[test]
fn an_absent_store_is_made_private_and_in_wal_mode() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/.legbook/store.db");
    let store = open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    drop(store);
    let plain = Connection::open(&path).unwrap();
    let mode: String = plain.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    let names: Vec<_> =
        fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{names:?}");
}

#[test]
fn looking_for_an_absent_store_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/store.db");
    let error = Store::open_existing(&path, StoreOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Absent { .. })), "{error}");
    assert!(!folder.path().join("deep").exists());
}

#[test]
fn many_threads_opening_an_absent_store_all_get_the_same_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| drop(open(&path).unwrap()));
        }
    });
    let plain = Connection::open(&path).unwrap();
    let stores: i64 = plain.query_row("SELECT count(*) FROM store", [], |row| row.get(0)).unwrap();
    assert_eq!(stores, 1);
}

#[test]
fn a_link_in_the_stores_place_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real.db");
    drop(open(&real).unwrap());
    let soft = folder.path().join("soft.db");
    symlink(&real, &soft).unwrap();
    assert!(matches!(
        open(&soft).unwrap_err(),
        Error::Store(StoreError::Unsafe { rule: "it is a symbolic link", .. })
    ));
    let hard = folder.path().join("hard.db");
    fs::hard_link(&real, &hard).unwrap();
    assert!(matches!(open(&hard).unwrap_err(), Error::Store(StoreError::Unsafe { .. })));
    fs::create_dir(folder.path().join("dir.db")).unwrap();
    assert!(matches!(
        open(&folder.path().join("dir.db")).unwrap_err(),
        Error::Store(StoreError::Unsafe { .. })
    ));
}

#[test]
fn another_programs_file_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "a diary, long enough to be no header of SQLite's ".repeat(40)).unwrap();
    let before = fs::read(&text).unwrap();
    assert!(matches!(open(&text).unwrap_err(), Error::Store(StoreError::NotADatabase { .. })));
    assert_eq!(fs::read(&text).unwrap(), before);

    let other = folder.path().join("other.db");
    let connection = Connection::open(&other).unwrap();
    connection.execute_batch("PRAGMA application_id = 7; CREATE TABLE t (a)").unwrap();
    connection.close().unwrap();
    let before = fs::read(&other).unwrap();
    let error = open(&other).unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::ForeignDatabase { application_id: 7, .. })), "{error}");
    assert_eq!(fs::read(&other).unwrap(), before);

    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert!(matches!(open(&empty).unwrap_err(), Error::Store(StoreError::Truncated { size: 0, .. })));
    assert_eq!(fs::read(&empty).unwrap(), b"");
}

#[test]
fn a_newer_schema_is_refused_untouched_with_both_versions_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    drop(open(&path).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 5).unwrap();
    connection.close().unwrap();
    let before = fs::read(&path).unwrap();
    let message = open(&path).unwrap_err().to_string();
    assert!(message.contains(&format!("version {}", SCHEMA_VERSION + 5)), "{message}");
    assert!(message.contains(&format!("up to {SCHEMA_VERSION}")), "{message}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_store_of_a_development_schema_is_refused_untouched_with_the_way_over() {
    for version in ["0", "-1", "1", "7"] {
        let workspace = Workspace::new();
        workspace.legbook(["run", "--run-id", "r1", "--", "true"]).expect(0);
        let connection = Connection::open(workspace.store()).unwrap();
        connection.pragma_update(None, "user_version", version).unwrap();
        connection.close().unwrap();
        let before = fs::read(workspace.store()).unwrap();
        for command in
            [&["runs", "list"][..], &["runs", "show", "r1"], &["runs", "start", "r2"], &["db", "info"]]
        {
            let answer = workspace.legbook(command);
            let said = answer.refused(2, "has a development schema");
            assert!(said.contains(&format!("version {version})")), "{said}");
            assert!(said.contains(&format!("from {SCHEMA_VERSION} on")), "{said}");
            assert!(said.contains("runs export --all") && said.contains("runs import"), "{said}");
        }
        workspace.legbook(["doctor"]).refused(3, "has a development schema");
        assert_eq!(fs::read(workspace.store()).unwrap(), before);
    }
}

#[test]
fn the_schema_says_what_each_table_and_view_is_for() {
    let workspace = Workspace::new();
    workspace.legbook(["runs", "start", "r1"]).expect(0);
    let schema = Command::new("sqlite3").arg(workspace.store()).arg(".schema").output().unwrap();
    let schema = String::from_utf8(schema.stdout).unwrap();
    let mut lines = schema.lines().peekable();
    let mut made = 0;
    while let Some(line) = lines.next() {
        if line.starts_with("CREATE TABLE") || line.starts_with("CREATE VIEW") {
            let purpose = lines.peek().unwrap_or(&"").trim_start();
            assert!(purpose.starts_with("-- ") && purpose.len() > 20, "{line}: {purpose}");
            made += 1;
        }
    }
    let expected: Vec<(i64,)> = read(
        &workspace.store(),
        "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
    );
    assert_eq!((made,), expected[0]);
}

fn read<T>(path: &Path, sql: &str) -> Vec<T>
where
    T: for<'a> TryFrom<&'a rusqlite::Row<'a>, Error = rusqlite::Error>,
{
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    statement.query_map([], |row| T::try_from(row)).unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_folder_that_exists_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    let open_folder = folder.path().join("shared");
    fs::create_dir(&open_folder).unwrap();
    fs::set_permissions(&open_folder, fs::Permissions::from_mode(0o755)).unwrap();
    drop(open(&open_folder.join("store.db")).unwrap());
    assert_eq!(fs::metadata(&open_folder).unwrap().mode() & 0o777, 0o755);
}
