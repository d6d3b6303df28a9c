//! The schema of this build with made-up later versions: in one process, in two at once, and in one that dies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, Error as SqlError};
use tempfile::TempDir;

use super::{SCHEMA, SCHEMA_VERSION, Schema};
use crate::db::{Store, StoreOptions, open};
use crate::digest::Digest;
use crate::error::{Error, StoreError};

/// Only changes a trigger: no name in the schema is new.
const TRIGGER: &str = "
    DROP TRIGGER store_delete;
    CREATE TRIGGER store_delete BEFORE DELETE ON store BEGIN SELECT RAISE(ABORT, 'a new rule'); END;";
/// Adds a column and fills it.
const COLUMN: &str = "
    ALTER TABLE queue ADD COLUMN note TEXT;
    INSERT INTO queue (normalized_name, name, domain, note) VALUES ('migrated', 'migrated', '', 'once');";

/// This build's schema with the two made-up versions behind it.
const LATER: Schema<'_> =
    Schema { migrations: &[(SCHEMA_VERSION + 1, TRIGGER), (SCHEMA_VERSION + 2, COLUMN)], ..SCHEMA };

const CHILD: &str = "LEGBOOK_TEST_MIGRATES";
/// How many places the two migrations have in which a child can die: before and after each statement.
const STATEMENTS: u32 = 6;

struct Bench {
    _folder: TempDir,
    path: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        drop(Store::open(&path, StoreOptions::default()).unwrap());
        Self { _folder: folder, path }
    }

    fn version(&self) -> i64 {
        let plain = Connection::open(&self.path).unwrap();
        plain.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    }

    /// All of the schema's text.
    fn schema(&self) -> Vec<String> {
        let plain = Connection::open(&self.path).unwrap();
        let mut statement = plain.prepare("SELECT coalesce(sql, '') FROM sqlite_schema ORDER BY 1").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn expect_later(&self) {
        assert_eq!(self.version(), SCHEMA_VERSION + 2);
        let plain = Connection::open(&self.path).unwrap();
        let refused = plain.execute("DELETE FROM store", []).unwrap_err();
        assert!(refused.to_string().contains("a new rule"), "{refused}");
        let notes: Vec<String> = {
            let mut statement = plain.prepare("SELECT note FROM queue").unwrap();
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(notes, ["once"]);
    }
}

#[test]
fn later_versions_are_reached_from_the_first_and_from_each_between() {
    for from in 0..=2 {
        let bench = Bench::new();
        let steps = Schema { migrations: &LATER.migrations[..from], ..SCHEMA };
        steps.run(&mut open::connect(&bench.path).unwrap(), &bench.path).unwrap();
        assert_eq!(bench.version(), SCHEMA_VERSION + from as i64);
        LATER.run(&mut open::connect(&bench.path).unwrap(), &bench.path).unwrap();
        bench.expect_later();
        // What is made anew is what a migrated store has.
        let made = Connection::open_in_memory().unwrap();
        LATER.make(&made, LATER.version()).unwrap();
        let mut statement = made.prepare("SELECT coalesce(sql, '') FROM sqlite_schema ORDER BY 1").unwrap();
        let made: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(bench.schema(), made);
    }
}

#[test]
fn a_migration_that_fails_leaves_the_version_before() {
    let bench = Bench::new();
    let before = bench.schema();
    let migrations =
        &[(SCHEMA_VERSION + 1, TRIGGER), (SCHEMA_VERSION + 2, "INSERT INTO store VALUES (2, '', '')")];
    let fails = Schema { migrations, ..SCHEMA };
    let error = fails.run(&mut open::connect(&bench.path).unwrap(), &bench.path).unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Refused(_))), "{error}");
    assert_eq!((bench.version(), bench.schema()), (SCHEMA_VERSION, before));
}

#[test]
fn a_newer_store_is_refused_untouched() {
    let bench = Bench::new();
    LATER.run(&mut open::connect(&bench.path).unwrap(), &bench.path).unwrap();
    let before = fs::read(&bench.path).unwrap();
    let error = Store::open(&bench.path, StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, Error::Store(StoreError::NewerSchema { found, known, .. })
            if (found, known) == (SCHEMA_VERSION + 2, SCHEMA_VERSION)),
        "{error}"
    );
    assert_eq!(fs::read(&bench.path).unwrap(), before);
}

#[test]
fn a_process_that_dies_at_any_statement_of_a_migration_leaves_the_version_before() {
    for statement in 0..STATEMENTS {
        let bench = Bench::new();
        let before = bench.schema();
        let died = child(&bench.path, &statement.to_string());
        assert!(!died.success(), "statement {statement}");
        assert_eq!((bench.version(), bench.schema()), (SCHEMA_VERSION, before), "statement {statement}");
        assert!(child(&bench.path, "").success());
        bench.expect_later();
    }
    assert!(child(&Bench::new().path, &STATEMENTS.to_string()).success(), "there are more statements");
}

#[test]
fn processes_that_migrate_at_once_migrate_once() {
    let bench = Bench::new();
    let children: Vec<_> = (0..6).map(|_| command(&bench.path, "").spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    bench.expect_later();
}

#[test]
fn the_files_of_the_schema_are_those_of_their_checksums() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".sql"))
        .collect();
    names.sort();
    assert_eq!(names.len(), SCHEMA.files.len() + SCHEMA.migrations.len());
    let sums: String = names
        .iter()
        .map(|name| format!("{}  {name}\n", Digest::of(&fs::read(folder.join(name)).unwrap()).to_hex()))
        .collect();
    let kept = fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(kept, sums, "a file of the schema was changed; see the header of src/db/migrate.rs");
}

/// This test binary again, for [`the_child`] alone.
fn command(path: &Path, dies_at: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "db::migrate::tests::the_child", "--test-threads=1", "-q"]);
    command.env(CHILD, dies_at).env("STORE", path);
    command
}

fn child(path: &Path, dies_at: &str) -> ExitStatus {
    command(path, dies_at).output().unwrap().status
}

/// Does nothing but in a child: there it migrates, and dies before the statement with the number that it was given.
#[test]
fn the_child() {
    let (Ok(dies_at), Some(path)) = (std::env::var(CHILD), std::env::var_os("STORE")) else { return };
    let path = PathBuf::from(path);
    let mut connection = open::connect(&path).unwrap();
    let dies_at: Option<u32> = dies_at.parse().ok();
    let seen = AtomicU32::new(0);
    connection
        .create_scalar_function("next_statement", 0, FunctionFlags::SQLITE_UTF8, move |_| {
            if dies_at == Some(seen.fetch_add(1, Ordering::Relaxed)) {
                std::process::abort();
            }
            Ok::<_, SqlError>(true)
        })
        .unwrap();
    let next = "SELECT next_statement();";
    let cut = |sql: &str| -> String {
        let mut cut = String::from(next);
        for line in sql.lines().filter(|line| !line.trim().is_empty()) {
            cut.push_str(line);
            cut.push_str(next);
        }
        cut
    };
    let (trigger, column) = (cut(TRIGGER), cut(COLUMN));
    let later =
        Schema { migrations: &[(SCHEMA_VERSION + 1, &trigger), (SCHEMA_VERSION + 2, &column)], ..SCHEMA };
    later.run(&mut connection, &path).unwrap();
}
