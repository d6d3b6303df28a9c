//! Rows that a foreign trigger swallows (`RAISE(IGNORE)`): no command that lost one acknowledges it.
//!
//! Each command first runs with triggers that only note what is written. It then runs once for each table and kind of
//! statement that it was seen to write, with a trigger that swallows just that.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::handoff_cli::{POOL, angles, judgments, report};
use crate::support::{Answer, Workspace};

struct Bench {
    workspace: Workspace,
    /// What was swallowed, with the command: so that a suite can ask for what it must have covered.
    covered: BTreeSet<String>,
    /// Of the run that was started last.
    token: String,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { workspace: Workspace::new(), covered: BTreeSet::new(), token: String::new() };
        bench.run("run --run-id first -- true", "").expect(0);
        bench
    }

    fn run(&self, command: &str, input: &str) -> Answer {
        let token = [("LEGBOOK_TOKEN", self.token.as_str())];
        let variables = if self.token.is_empty() { &[][..] } else { &token };
        self.workspace.legbook_reading_with(command.split_whitespace(), input, variables)
    }

    fn sql(&self, sql: &str) {
        let plain = Connection::open(self.workspace.store()).unwrap();
        plain.execute_batch(sql).unwrap();
        plain.close().unwrap();
    }

    fn column(&self, sql: &str) -> Vec<String> {
        let plain = Connection::open(self.workspace.store()).unwrap();
        let mut statement = plain.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn tables(&self) -> Vec<String> {
        self.column(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
        )
    }

    /// What `command` writes, as `INSERT ON events`.
    fn written(&self, command: &str, input: &str) -> Vec<String> {
        let tables = self.tables();
        let mut triggers = String::from("BEGIN; CREATE TABLE seen (what TEXT);");
        for table in tables {
            for kind in ["INSERT", "UPDATE", "DELETE"] {
                triggers.push_str(&format!(
                    "CREATE TRIGGER see_{table}_{kind} AFTER {kind} ON {table} BEGIN
                     INSERT INTO seen VALUES ('{kind} ON {table}'); END;"
                ));
            }
        }
        self.sql(&(triggers + "COMMIT;"));
        self.run(command, input).expect(0);
        self.column("SELECT DISTINCT what FROM seen ORDER BY what")
    }

    /// Runs `command`, and before it once for each thing that it writes with that swallowed.
    fn step(&mut self, command: &str, input: &str) {
        let before = self.workspace.picture();
        let written = self.written(command, input);
        assert!(!written.is_empty(), "{command} writes nothing");
        for what in written {
            self.restore(&before);
            self.sql(&format!("CREATE TRIGGER swallow BEFORE {what} BEGIN SELECT RAISE(IGNORE); END"));
            let answer = self.run(command, input);
            // Evidence is kept beside a write and never hinders it.
            if what.contains(" ON shadow_") {
                continue;
            }
            // Leg 3 gives the report all the same, and says what it could not store.
            let is_told = command.starts_with("handoff finalize")
                && answer.stderr.contains("warning: ")
                && answer.stderr.contains("a write changed 0 rows instead of 1");
            let is_refused = answer.code != 0 && answer.stderr.contains("error: ");
            assert!(is_refused || is_told, "{command}, {what}: {answer:?}");
            let name = command.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            self.covered.insert(format!("{name}: {what}"));
        }
        self.restore(&before);
        let answer = self.run(command, input);
        answer.expect(0);
        if command.starts_with("runs start") {
            self.token = answer.json()["token"].as_str().unwrap().to_owned();
        }
    }

    fn restore(&self, picture: &[(PathBuf, Option<Vec<u8>>)]) {
        for (path, _) in self.workspace.picture() {
            if !picture.iter().any(|(there, _)| *there == path) {
                let _ = fs::remove_file(&path);
            }
        }
        for (path, bytes) in picture {
            if let Some(bytes) = bytes {
                fs::write(path, bytes).unwrap();
            }
        }
    }

    fn expect_covered(&self, expected: &[&str]) {
        for what in expected {
            assert!(self.covered.contains(*what), "{what} is not among {:#?}", self.covered);
        }
    }
}

#[test]
fn no_command_of_runs_acknowledges_a_swallowed_row() {
    let mut bench = Bench::new();
    bench.step("db set max-journal-events 4096", "");
    bench.step("runs start r1 --lease 60s --json", "");
    bench.step("runs write r1", "{\"status\": \"started\"}");
    bench.step("runs status r1 planning", "");
    bench.step("runs finish r1", "");
    bench.sql("DROP TRIGGER runs_update; UPDATE runs SET status = 'odd'");
    bench.step("runs export r1", "");
    bench.step("run --run-id r2 -- true", "");
    bench.step("runs start r1 --resume --json", "");
    bench.expect_covered(&[
        "db set: UPDATE ON settings",
        "runs start: INSERT ON runs",
        "runs start: INSERT ON locks",
        "runs start: UPDATE ON runs",
        "runs write: UPDATE ON locks",
        "runs write: INSERT ON events",
        "runs status: INSERT ON checkpoints",
        "runs finish: DELETE ON locks",
        "runs export: UPDATE ON runs",
        "run --run-id: INSERT ON events",
    ]);
}

#[test]
fn no_import_acknowledges_a_swallowed_row() {
    let bench = Bench::new();
    bench.run("run --run-id old -- true", "").expect(0);
    bench.run("runs export old --to out", "").expect(0);
    let directory = bench.workspace.path().join("out/old");
    let journal = directory.join("events/lifecycle.jsonl");
    fs::write(&journal, [fs::read(&journal).unwrap(), b"{\"half".to_vec()].concat()).unwrap();
    let mut other = Bench { workspace: bench.workspace, covered: BTreeSet::new(), token: String::new() };
    fs::remove_dir_all(other.workspace.path().join(".legbook")).unwrap();
    other.run("run --run-id first -- true", "").expect(0);
    other.step("runs import out/old", "");
    fs::set_permissions(directory.join("run.json"), fs::Permissions::from_mode(0o644)).unwrap();
    other.step("runs import out/old", "");
    other.expect_covered(&[
        "runs import: INSERT ON runs",
        "runs import: INSERT ON events",
        "runs import: INSERT ON imports",
        "runs import: INSERT ON quarantine",
        "runs import: INSERT ON imported_files",
        "runs import: UPDATE ON imports",
        "runs import: DELETE ON imported_files",
        "runs import: DELETE ON quarantine",
    ]);
}

#[test]
fn no_command_of_stage_acknowledges_a_swallowed_row() {
    let mut bench = Bench::new();
    bench.step("stage begin", "");
    bench.step("stage save one -", "1");
    bench.step("stage save two -", "2");
    bench.step("stage save one -", "3");
    bench.step("stage save mark - --marker", "4");
    bench.step("stage save mark - --marker", "5");
    bench.step("stage invalidate two mark", "");
    bench.step("stage save mark - --marker", "6");
    bench.step("stage begin --fresh", "");
    bench.step("stage save one -", "1");
    bench.step("stage save mark - --marker", "6");
    bench.sql("UPDATE pipelines SET schema_version = 1");
    bench.step("stage begin", "");
    bench.run("stage save mark - --marker", "6").expect(0);
    bench.step("stage done", "");
    bench.expect_covered(&[
        "stage begin: INSERT ON pipelines",
        "stage begin: DELETE ON pipelines",
        "stage begin: DELETE ON markers",
        "stage begin: UPDATE ON pipelines",
        "stage save: INSERT ON stages",
        "stage save: UPDATE ON stages",
        "stage save: INSERT ON markers",
        "stage invalidate: DELETE ON stages",
        "stage invalidate: DELETE ON markers",
        "stage done: DELETE ON pipelines",
        "stage done: DELETE ON markers",
    ]);
}

#[test]
fn no_command_of_handoff_acknowledges_a_swallowed_row() {
    let mut bench = Bench::new();
    bench.step("handoff nominate", POOL);
    for _ in 0..2 {
        let bundle_id = &bench.column("SELECT bundle_id FROM rounds WHERE superseded_at IS NULL")[0];
        bench.step("handoff judge -", &judgments(bundle_id));
        bench.step("handoff report -", &report(bundle_id));
        bench.step("handoff finalize --angles -", &angles(bundle_id));
        bench.step("handoff judge -", &judgments(bundle_id));
        bench.step("handoff report -", &report(bundle_id));
        bench.step("handoff finalize --angles -", &angles(bundle_id));
        bench.step("handoff nominate", POOL);
    }
    bench.step("handoff queue cover Gemma_4_chat", "");
    bench.expect_covered(&[
        "handoff nominate: INSERT ON rounds",
        "handoff nominate: INSERT ON nominations",
        "handoff nominate: UPDATE ON rounds",
        "handoff nominate: UPDATE ON pending_reports",
        "handoff judge: INSERT ON judgments",
        "handoff judge: UPDATE ON pending_reports",
        "handoff report: INSERT ON pending_reports",
        "handoff report: INSERT ON angle_inputs",
        "handoff finalize: INSERT ON angles",
        "handoff finalize: UPDATE ON pending_reports",
        "handoff finalize: INSERT ON queue",
        "handoff finalize: INSERT ON queue_counts",
        "handoff queue: UPDATE ON queue",
    ]);
}

#[test]
fn every_table_that_commands_write_has_its_swallowed_row_or_a_reason() {
    // Written once when a store is made, or when it was moved; by recovery, which refuses foreign triggers; by retention; as evidence; never.
    let reasons = [
        "store",
        "home",
        "recoveries",
        "removals",
        "shadow_evidence",
        "shadow_records",
        "event_types",
        "event_payload_keys",
        "event_statuses",
        "status_events",
    ];
    let this = include_str!("swallowed.rs");
    for table in Bench::new().tables() {
        let is_covered = this.contains(&format!(" ON {table}\","));
        assert_ne!(is_covered, reasons.contains(&table.as_str()), "{table}");
    }
}

/// Every statement of the library that changes rows goes through `src/db/change.rs`, which counts the rows.
#[test]
fn no_statement_of_the_library_goes_past_the_door() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut left = vec![sources.clone()];
    let mut seen = 0;
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let name = path.strip_prefix(&sources).unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        seen += 1;
        if name.ends_with(".sql") {
            // A question could change rows uncounted with this.
            assert!(!text.contains("RETURNING"), "{name}");
        } else if !name.contains("/tests") && name != "db/change.rs" {
            for past in [".execute(", ".raw_execute(", ".execute_batch(", "RETURNING"] {
                let makes_tables = ["db/migrate.rs", "db/inspect.rs"].contains(&name.as_str());
                assert!(
                    !text.contains(past) || makes_tables && past == ".execute_batch(",
                    "{name} has {past}: use the functions of db::change"
                );
            }
        }
    }
    assert!(seen > 200, "{seen}");
}
