//! Importing and exporting legacy run directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use legbook::db::StoreOptions;
use legbook::digest::Digest;
use legbook::doctor;
use legbook::id::RunId;
use legbook::json::Value;
use legbook::legacy::{self, Outcome};
use legbook::run;
use legbook::step::Step;

use crate::doctor::{look, options};
use crate::fakes::{CutAt, cut_short, list, text, vectors};
use crate::legacy_trees::{Home, LegacyRun, picture, write_files};
use crate::support::Workspace;
use crate::write_path::replay;

const STATUSES: &[&str] = &["started", "planning", "dispatching", "ok"];

fn id(run_id: &str) -> RunId {
    RunId::parse(run_id).unwrap()
}

/// Exports `run_id` of `home` into a new folder and compares the tree with the one at `directory`.
#[track_caller]
fn comes_out_as(home: &Home, run_id: &str, directory: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let exported = legacy::export(&home.store, &id(run_id), folder.path()).unwrap();
    assert_eq!(picture(&exported.directory), picture(directory));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the directory: {left:?}");
}

#[test]
fn every_journal_of_the_vectors_is_exported_taken_in_and_exported_again() {
    let mut seen = 0;
    for vector in vectors("journals.jsonl") {
        let bench = replay(&vector);
        let run_id = text(&vector, "run_id");
        let folder = tempfile::tempdir().unwrap();
        let exported = legacy::export(&bench.store, &bench.run_id, folder.path()).unwrap();
        let tree = picture(&exported.directory);
        let journal: String =
            list(&vector, "lines").iter().map(|line| line.as_str().unwrap().to_owned() + "\n").collect();
        assert_eq!(
            tree[Path::new("./events/lifecycle.jsonl")],
            (0o600, Some(journal.into_bytes())),
            "{run_id}"
        );
        for directory in [".", "./events", "./events/recovery-checkpoints"] {
            assert_eq!(tree[Path::new(directory)], (0o700, None));
        }
        let checkpoints: Vec<String> = list(&vector, "checkpoints")
            .iter()
            .map(|sha256| format!("./events/recovery-checkpoints/{}.json", sha256.as_str().unwrap()))
            .collect();
        for path in &checkpoints {
            let (mode, bytes) = &tree[Path::new(path)];
            assert_eq!(*mode, 0o600);
            assert!(path.contains(&Digest::of(bytes.as_ref().unwrap()).to_hex()), "{path}");
        }
        assert!(tree.contains_key(Path::new("./events/shadow-comparison.json")));
        assert_eq!(tree.len(), checkpoints.len() + 6, "{tree:?}");
        // A commit whose export never happened is exported here.
        let says = legacy::examine(&exported.directory, options(true, None)).unwrap();
        assert_eq!(says.outcome(), doctor::Outcome::Ok, "{says:#?}");

        let home = Home::new();
        let imported = home.import(&exported.directory).unwrap();
        assert_eq!(imported.outcome, Outcome::New);
        comes_out_as(&home, run_id, &exported.directory);
        let after = look(home.store.path(), true, None).unwrap();
        assert_eq!(after.findings, [], "{run_id}");
        assert_eq!((after.runs[0].verdict, &after.runs[0].says), (says.runs[0].verdict, &says.runs[0].says));
        assert_eq!(home.import(&exported.directory).unwrap().outcome, Outcome::Unchanged);
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn taken_again_nothing_is_written() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let directory = LegacyRun::new("r", STATUSES).write(folder.path());
    let first = home.import(&directory).unwrap();
    assert_eq!((first.outcome, first.events, first.new_events), (Outcome::New, 8, 8));
    let before = home.dump();
    let again = home.import(&directory).unwrap();
    assert_eq!((again.outcome, again.events, again.new_events), (Outcome::Unchanged, 8, 0));
    assert_eq!(home.dump(), before);
    let details = run::show(&home.store, &id("r")).unwrap();
    assert_eq!((details.run.run_dir, details.run.status.as_deref()), (None, Some("ok")));
}

#[test]
fn a_journal_that_has_grown_is_extended() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    home.import(&legacy_run.write(folder.path())).unwrap();
    legacy_run.step("planning");
    legacy_run.step("failed");
    let directory = legacy_run.write(folder.path());
    let grown = home.import(&directory).unwrap();
    assert_eq!((grown.outcome, grown.events, grown.new_events), (Outcome::Extended, 6, 4));
    comes_out_as(&home, "r", &directory);
    assert_eq!(run::show(&home.store, &id("r")).unwrap().run.status.as_deref(), Some("failed"));
}

#[test]
fn a_journal_that_differs_or_went_back_is_refused() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    home.import(&LegacyRun::new("r", STATUSES).write(folder.path())).unwrap();
    let error =
        home.refuses(&LegacyRun::new("r", &["started", "dispatching", "ok", "ok"]).write(folder.path()));
    assert!(
        error
            .ends_with("events/lifecycle.jsonl: line 3: it is not the line that the store has in this place"),
        "{error}"
    );
    let error = home.refuses(&LegacyRun::new("r", &["started"]).write(folder.path()));
    assert!(error.contains("it has 2 lines, and the store has 8 of it"), "{error}");
    let directory = LegacyRun::new("r", STATUSES).write(folder.path());
    fs::remove_dir_all(directory.join("events")).unwrap();
    let error = home.refuses(&directory);
    assert!(error.contains("it has 0 lines, and the store has 8 of it"), "{error}");
}

#[test]
fn run_json_beside_the_same_journal_may_change() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let directory = LegacyRun::new("r", &["started"]).write(folder.path());
    home.import(&directory).unwrap();
    fs::write(directory.join("run.json"), "no object").unwrap();
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Updated);
    comes_out_as(&home, "r", &directory);
    fs::remove_file(directory.join("run.json")).unwrap();
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Updated);
    comes_out_as(&home, "r", &directory);
    let verdict = &look(home.store.path(), true, None).unwrap().runs[0];
    assert_eq!(verdict.says, "run.json missing with valid checkpoint");
}

#[test]
fn the_receipt_of_a_legacy_recovery_is_the_runs_last_snapshot() {
    let vector = vectors("journals.jsonl")
        .into_iter()
        .find(|vector| list(vector, "writes").last().is_some_and(|write| write.get("receipt").is_some()));
    let bench = replay(&vector.unwrap());
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let exported = legacy::export(&bench.store, &bench.run_id, folder.path()).unwrap();
    home.import(&exported.directory).unwrap();
    let details = run::show(&home.store, &bench.run_id).unwrap();
    assert_eq!(details.run.status.as_deref(), Some("failed"));
    assert!(details.last_snapshot.unwrap().1, "it is a receipt");
    assert_eq!(home.import(&exported.directory).unwrap().outcome, Outcome::Unchanged);
}

#[test]
fn a_partial_last_line_is_kept_told_and_comes_out_where_it_was() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let whole = LegacyRun::new("r", &["started", "planning"]);
    let directory = LegacyRun::new("r", &["started"]).write(folder.path());
    let journal = directory.join("events/lifecycle.jsonl");
    let partial = &whole.lines[2][..40];
    let torn = fs::read_to_string(&journal).unwrap() + partial;
    fs::write(&journal, &torn).unwrap();
    let imported = home.import(&directory).unwrap();
    let kept = imported.partial.unwrap();
    assert_eq!((kept.whole_lines, kept.byte_size, kept.sha256), (2, 40, Digest::of(partial.as_bytes())));
    comes_out_as(&home, "r", &directory);
    assert_eq!(look(home.store.path(), true, None).unwrap().runs[0].says, "partial tail");
    let readiness = legbook::shadow::readiness(&home.store, &id("r"));
    assert!(readiness.reasons.contains(&legbook::shadow::Reason::JournalUnreadable), "{readiness:?}");
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Unchanged);

    // The legacy program quarantines it and goes on.
    let name = format!("lifecycle-partial-000002-{}.bin", kept.sha256);
    let directory = whole.write(folder.path());
    write_files(&directory, [(format!("events/quarantine/{name}").as_str(), partial.as_bytes())]);
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Extended);
    comes_out_as(&home, "r", &directory);
    assert_eq!(look(home.store.path(), true, None).unwrap().outcome(), doctor::Outcome::Ok);
}

#[test]
fn what_a_run_here_goes_on_after_is_exported_as_quarantine() {
    let workspace = Workspace::new();
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    let directory = legacy_run.write(&workspace.path());
    let journal = directory.join("events/lifecycle.jsonl");
    fs::write(&journal, legacy_run.journal() + "{\"event").unwrap();
    workspace.legbook(["runs", "import", "r"]).expect(0);
    workspace.legbook(["runs", "start", "r", "--resume"]).expect(0);
    workspace.legbook(["runs", "export", "r", "--to", "out"]).expect(0);
    let tree = picture(&workspace.path().join("out/r"));
    let name = format!("./events/quarantine/lifecycle-partial-000002-{}.bin", Digest::of(b"{\"event"));
    assert_eq!(tree[Path::new(&name)], (0o600, Some(b"{\"event".to_vec())));
    let lines = fs::read_to_string(workspace.path().join("out/r/events/lifecycle.jsonl")).unwrap();
    assert!(lines.starts_with(&legacy_run.journal()) && lines.ends_with("}\n"), "{lines}");
    // Now it lives here: its old directory is compared, and no longer taken.
    legacy_run.write(&workspace.path());
    workspace.legbook(["runs", "import", "r"]).refused(2, "it has 2 lines, and the store has 3 of it");
    legacy_run.step("planning");
    legacy_run.write(&workspace.path());
    workspace.legbook(["runs", "import", "r"]).refused(2, "line 3: it is not the line that the store has");
}

#[test]
fn everything_beside_the_journal_comes_out_as_it_was_modes_included() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let directory = LegacyRun::new("r", STATUSES).write(folder.path());
    let orphan = b"{\n  \"status\": \"never named\"\n}\n";
    let partial = b"{\"half";
    let names = [
        format!("events/recovery-checkpoints/{}.json", Digest::of(orphan)),
        format!("events/quarantine/lifecycle-partial-000003-{}.bin", Digest::of(partial)),
        format!("events/quarantine/lifecycle-partial-000003-{}-1.bin", Digest::of(partial)),
    ];
    write_files(
        &directory,
        [
            (names[0].as_str(), &orphan[..]),
            (names[1].as_str(), &partial[..]),
            (names[2].as_str(), &partial[..]),
            // Of a version that no gate takes: its bytes are kept as they are.
            (
                "events/shadow-comparison.json",
                br#"{"schema": "brigade.run_shadow.v1", "projector_version": 1}"#,
            ),
        ],
    );
    let usual = ["run.json", "events/shadow-comparison.json", names[0].as_str(), names[1].as_str()];
    for (path, mode) in usual.into_iter().zip([0o644, 0o640, 0o444, 0o400]) {
        fs::set_permissions(directory.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let imported = home.import(&directory).unwrap();
    assert_eq!(imported.left_out, 0);
    comes_out_as(&home, "r", &directory);
    let report = look(home.store.path(), true, None).unwrap();
    assert_eq!(report.findings, [], "a checkpoint that no event names belongs to the import");
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Unchanged);
}

#[test]
fn temporary_files_and_those_of_others_are_left_out_and_counted() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let directory = LegacyRun::new("r", STATUSES).write(folder.path());
    let clean = picture(&directory);
    write_files(
        &directory,
        [
            (".run.json.x.tmp", &b"x"[..]),
            ("plan.md", b"x"),
            ("events/other.txt", b"x"),
            ("events/recovery-checkpoints/.checkpoint.x.tmp", b"x"),
        ],
    );
    assert_eq!(home.import(&directory).unwrap().left_out, 4);
    let exported = legacy::export(&home.store, &id("r"), &home.path().join("out")).unwrap();
    assert_eq!(picture(&exported.directory), clean);
}

#[test]
fn a_run_without_a_journal_comes_in_as_such() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let directory = folder.path().join("r");
    write_files(&directory, [("run.json", &br#"{"status":"failed", "task": "sort"}"#[..])]);
    let imported = home.import(&directory).unwrap();
    assert_eq!((imported.journaled, imported.events), (false, 0));
    comes_out_as(&home, "r", &directory);
    let run = run::get(&home.store, &id("r")).unwrap();
    assert_eq!(
        (run.journaled, run.status.as_deref(), run.task.as_deref()),
        (false, Some("failed"), Some("sort"))
    );
    // It was activated since.
    let directory = LegacyRun::new("r", &["started"]).write(folder.path());
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Extended);
    comes_out_as(&home, "r", &directory);
}

#[test]
fn an_empty_journal_and_an_empty_run_json_are_kept_apart_from_none() {
    let folder = tempfile::tempdir().unwrap();
    for (name, files) in [
        ("empty", vec![("events/lifecycle.jsonl", &b""[..])]),
        ("both", vec![("events/lifecycle.jsonl", &b""[..]), ("run.json", b"")]),
        ("folder", vec![("events/quarantine/x", &b""[..]), ("run.json", b"")]),
    ] {
        let home = Home::new();
        let directory = folder.path().join(name);
        write_files(&directory, files);
        if name == "folder" {
            fs::remove_file(directory.join("events/quarantine/x")).unwrap();
        }
        home.import(&directory).unwrap();
        comes_out_as(&home, name, &directory);
    }
}

#[test]
fn a_folder_is_kept_where_the_journal_does_not_imply_it_or_its_mode() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    for (run_id, path) in [("one", "events"), ("two", "events/recovery-checkpoints")] {
        let directory = LegacyRun::new(run_id, STATUSES).write(folder.path());
        fs::set_permissions(directory.join(path), fs::Permissions::from_mode(0o750)).unwrap();
        home.import(&directory).unwrap();
        comes_out_as(&home, run_id, &directory);
    }
    // A journal without a checkpoint, beside a folder for them.
    let directory = folder.path().join("empty");
    write_files(&directory, [("events/lifecycle.jsonl", &b""[..]), ("run.json", b"{}")]);
    let empty = directory.join("events/recovery-checkpoints");
    fs::create_dir(&empty).unwrap();
    fs::set_permissions(&empty, fs::Permissions::from_mode(0o700)).unwrap();
    home.import(&directory).unwrap();
    comes_out_as(&home, "empty", &directory);
}

#[test]
fn an_export_never_replaces_anything() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    home.import(&LegacyRun::new("r", STATUSES).write(folder.path())).unwrap();
    let out = folder.path().join("out");
    let taken = out.join("r");
    for make in [
        |path: &Path| fs::create_dir(path).unwrap(),
        |path: &Path| fs::write(path, "mine").unwrap(),
        |path: &Path| std::os::unix::fs::symlink("/nowhere", path).unwrap(),
    ] {
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        make(&taken);
        let error = legacy::export(&home.store, &id("r"), &out).unwrap_err().to_string();
        assert!(error.ends_with("out/r exists, and is different from what would be written"), "{error}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
}

#[test]
fn nothing_spoiled_is_exported() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    home.import(&LegacyRun::new("r", STATUSES).write(folder.path())).unwrap();
    let out = folder.path().join("out");
    for (sql, words) in [
        ("UPDATE checkpoints SET body = CAST('{}' AS BLOB), byte_size = 2", "digest-mismatch"),
        (
            "UPDATE events SET line = replace(line, 'planning', 'Planning') WHERE sequence = 4",
            "malformed chain: line 4",
        ),
        ("UPDATE imported_files SET body = CAST('{}' AS BLOB) WHERE path = 'run.json'", "another SHA-256"),
    ] {
        let plain = rusqlite::Connection::open(home.store.path()).unwrap();
        plain
            .execute_batch(
                "DROP TRIGGER IF EXISTS checkpoints_update; DROP TRIGGER IF EXISTS events_update;
                 DROP TRIGGER IF EXISTS imported_files_update; BEGIN",
            )
            .unwrap();
        plain.execute_batch("COMMIT").unwrap();
        let whole = home.path().join("whole.db");
        let _ = fs::remove_file(&whole);
        plain.execute_batch(&format!("VACUUM INTO '{}'", whole.display())).unwrap();
        plain.execute_batch(sql).unwrap();
        let error = legacy::export(&home.store, &id("r"), &out).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
        plain.execute_batch(&format!("ATTACH '{}' AS whole", whole.display())).unwrap();
        plain
            .execute_batch(
                "UPDATE checkpoints SET (byte_size, body) = (SELECT byte_size, body FROM whole.checkpoints AS good WHERE good.sha256 = checkpoints.sha256);
                 UPDATE events SET line = (SELECT line FROM whole.events AS good WHERE good.event_number = events.event_number);
                 UPDATE imported_files SET body = (SELECT body FROM whole.imported_files AS good WHERE good.path = imported_files.path);",
            )
            .unwrap();
    }
}

#[test]
fn an_imported_run_gets_a_directory_by_export_and_goes_on() {
    let workspace = Workspace::new();
    LegacyRun::new("r", &["started", "planning"]).write(&workspace.path());
    workspace.legbook(["runs", "import", "r"]).expect(0);
    workspace.legbook(["doctor"]).expect(0);
    workspace.legbook(["runs", "export", "r"]).expect(0);
    let run_json = fs::read(workspace.run_json("r")).unwrap();
    assert_eq!(run_json, fs::read(workspace.path().join("r/run.json")).unwrap());
    fs::remove_file(workspace.run_json("r")).unwrap();
    workspace.legbook(["doctor"]).expect(1);
    workspace.legbook(["runs", "start", "r", "--resume"]).expect(0);
}

#[test]
fn a_thousand_imported_runs_come_out_as_they_were() {
    let workspace = Workspace::new();
    let runs = workspace.path().join(".brigade/runs");
    for number in 0..1_000 {
        let statuses = &STATUSES[..1 + number % 2];
        LegacyRun::new(&format!("run-{number:04}"), statuses).write(&runs);
    }
    let answer = workspace.legbook(["runs", "import", ".", "--json"]).json();
    assert_eq!((&answer["new"], &answer["refused"]), (&1_000.into(), &0.into()));
    let answer = workspace.legbook(["runs", "export", "--all", "--to", "out", "--json"]).json();
    assert_eq!((&answer["exported"], &answer["failed"]), (&1_000.into(), &0.into()));
    assert_eq!(picture(&workspace.path().join("out")), picture(&runs));
    let answer = workspace.legbook(["runs", "import", ".brigade/runs", "--json"]).json();
    assert_eq!(answer["unchanged"], 1_000);
    let says = workspace.legbook(["doctor", "--full", "--json"]).json();
    assert_eq!(says["stores"][0]["detail"], "ok=1000 warn=0 fail=0 omitted=0");
}

#[test]
fn one_refused_directory_stops_or_is_told_and_passed() {
    let workspace = Workspace::new();
    let runs = workspace.path().join("runs");
    for name in ["a", "b", "c"] {
        LegacyRun::new(name, &["started"]).write(&runs);
    }
    let journal = runs.join("b/events/lifecycle.jsonl");
    let spoiled = fs::read_to_string(&journal).unwrap().replace("created", "Created");
    fs::write(&journal, spoiled).unwrap();
    let said = "b is refused: events/lifecycle.jsonl: malformed chain: line 1: ";
    workspace.legbook(["runs", "import", "runs", "-q"]).refused(2, said);
    let known = workspace.legbook(["runs", "list", "--json"]).json();
    assert_eq!(known["runs"].as_array().unwrap().len(), 1, "what came before stays: {known}");
    let answer = workspace.legbook(["runs", "import", "runs", "--keep-going", "--json"]);
    assert_eq!(answer.code, 2);
    assert!(answer.stderr.contains(said), "{answer:?}");
    let said: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    let outcomes: Vec<&str> =
        said["runs"].as_array().unwrap().iter().map(|run| run["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["unchanged", "refused", "new"]);
    let refused = &said["runs"][1];
    assert_eq!((&refused["file"], &refused["line"]), (&"events/lifecycle.jsonl".into(), &1.into()));
    let keys = |run: &serde_json::Value| run.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(refused), keys(&said["runs"][2]));
    workspace.legbook(["runs", "import", "."]).refused(2, "is no legacy run directory");
    workspace.legbook(["runs", "import", "absent"]).refused(1, "cannot read");
}

#[test]
fn a_native_run_is_read_by_legacy_eyes_and_its_export_is_no_news() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r", "--", "true"]).expect(0);
    workspace.legbook(["run", "--run-id", "plain", "--no-journal", "--", "true"]).expect(0);
    workspace.legbook(["runs", "export", "--all", "--to", "out"]).expect(0);
    let says = workspace.legbook(["doctor", "--legacy", "out", "--json"]).json();
    assert_eq!(says["stores"][0]["detail"], "ok=1 warn=0 fail=0 omitted=1");
    let answer = workspace.legbook(["runs", "import", "out", "--json"]).json();
    assert_eq!(answer["unchanged"], 2, "{answer}");
}

#[test]
fn the_first_words_of_a_value_are_in_no_message() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    let secret = [(legbook::json::Text::from("detail"), Value::from("hunter2"))];
    legacy_run.append("run.planning.failed", "key", secret.into_iter().collect());
    legacy_run.lines[2] = legacy_run.lines[2].replace("\"key\"", "\"hunter2\"");
    let error = home.refuses(&legacy_run.write(folder.path()));
    assert!(!error.contains("hunter2"), "{error}");
}

#[test]
fn a_cut_import_leaves_nothing_and_the_same_call_again_takes_all() {
    let folder = tempfile::tempdir().unwrap();
    let directory = LegacyRun::new("r", STATUSES).write(folder.path());
    let cut = Arc::new(CutAt::default());
    let options = StoreOptions { observer: cut.clone(), ..StoreOptions::default() };
    let home = Home::with(options);
    let before = home.dump();
    cut.next(Some(Step::BeforeCommit));
    cut_short(|| home.import(&directory));
    assert_eq!(home.dump(), before);
    cut.next(Some(Step::Committed));
    cut_short(|| home.import(&directory));
    cut.next(None);
    assert_eq!(home.import(&directory).unwrap().outcome, Outcome::Unchanged);
    comes_out_as(&home, "r", &directory);
}

#[test]
fn imported_evidence_of_version_1_closes_the_gate_until_a_fresh_comparison() {
    let workspace = Workspace::new();
    workspace.legbook(["run", "--run-id", "r", "--", "true"]).expect(0);
    workspace.legbook(["runs", "export", "r", "--to", "out"]).expect(0);
    let evidence = workspace.path().join("out/r/events/shadow-comparison.json");
    let version_1 = fs::read_to_string(&evidence)
        .unwrap()
        .replace("\"projector_version\": 2", "\"projector_version\": 1");
    assert!(version_1.contains("\"projector_version\": 1"));
    fs::write(&evidence, &version_1).unwrap();
    let other = ["--store", "other/store.db"];
    let call = |arguments: &[&str]| workspace.legbook(other.iter().chain(arguments));
    call(&["runs", "import", "out/r"]).expect(0);
    let gate = call(&["runs", "readiness", "r", "--json"]);
    assert_eq!(gate.code, 2, "{gate:?}");
    assert!(gate.stdout.contains("\"evidence-schema-mismatch\""), "{gate:?}");
    call(&["runs", "export", "r", "--to", "again"]).expect(0);
    let again = workspace.path().join("again/r/events/shadow-comparison.json");
    assert_eq!(fs::read_to_string(&again).unwrap(), version_1, "kept as it is");
    call(&["runs", "start", "r", "--resume"]).expect(0);
    let gate = call(&["runs", "readiness", "r", "--json"]);
    assert!(!gate.stdout.contains("evidence-schema-mismatch"), "{gate:?}");
}

#[test]
fn a_checkpoint_that_was_spoiled_since_refuses_the_directory_though_the_store_has_it() {
    let (home, folder) = (Home::new(), tempfile::tempdir().unwrap());
    let legacy_run = LegacyRun::new("r", &["started"]);
    let directory = legacy_run.write(folder.path());
    home.import(&directory).unwrap();
    let sha256 = legacy_run.checkpoints.keys().next().unwrap();
    let path = format!("events/recovery-checkpoints/{sha256}.json");
    fs::write(directory.join(&path), "{}\n").unwrap();
    assert!(home.refuses(&directory).contains(&path));
}

#[test]
fn a_store_with_raised_bounds_takes_what_legacy_cannot_read_and_says_so() {
    let workspace = Workspace::new();
    let mut legacy_run = LegacyRun::new("r", &["started"]);
    while legacy_run.lines.len() < 600 {
        let key = format!("key-{}", legacy_run.lines.len());
        legacy_run.append("run.planning.completed", &key, legbook::json::Object::default());
    }
    legacy_run.write(&workspace.path());
    LegacyRun::new("small", &["started"]).write(&workspace.path());
    workspace.legbook(["runs", "import", "small"]).expect(0);
    workspace.legbook(["db", "set", "max-journal-events", "512"]).expect(0);
    let refused = workspace.legbook(["runs", "import", "r"]);
    let said = refused.refused(2, "newer format: the journal has 600 events, and at most 512 are read here");
    // What the help says is run.
    let raise = said.rsplit("legbook ").next().unwrap().trim();
    workspace.legbook(raise.split(' ')).expect(0);
    workspace.legbook(["runs", "import", "r"]).expect(0);
    let answer = workspace.legbook(["runs", "export", "r", "--to", "out", "--json"]).json();
    assert_eq!(answer["runs"][0]["within_legacy_bounds"], false);
    let told = workspace.legbook(["runs", "export", "r", "--to", "again"]);
    assert!(told.stderr.contains("warning: r has 600 events; the legacy programs refuse"), "{told:?}");
    let told = workspace.legbook(["runs", "export", "small", "--to", "again"]);
    assert_eq!((told.code, told.stderr.as_str()), (0, ""));
    assert_eq!(picture(&workspace.path().join("out/r")), picture(&workspace.path().join("r")));
}

#[test]
fn without_a_terminal_there_is_no_bar_and_quiet_says_nothing() {
    let workspace = Workspace::new();
    LegacyRun::new("r", &["started"]).write(&workspace.path());
    let answer = workspace.legbook(["runs", "import", "r"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "no bar without a terminal");
    assert_eq!(workspace.legbook(["runs", "import", "r", "--quiet"]).stdout, "");
}

#[test]
fn an_import_names_the_directories_that_hold_no_run() {
    let workspace = Workspace::new();
    LegacyRun::new("r", &["started"]).write(&workspace.path().join("runs"));
    fs::create_dir(workspace.path().join("runs/empty")).unwrap();
    let answer = workspace.legbook(["runs", "import", "runs"]);
    answer.expect(0);
    assert!(answer.stderr.contains("runs/empty: passed over: it has neither run.json nor"), "{answer:?}");
    assert_eq!(workspace.legbook(["runs", "import", "runs", "--json"]).json()["passed_over"], 1);
    let shown = workspace.legbook(["runs", "show", "r"]);
    assert!(shown.expect(0).contains("run.json   is kept as it was imported"), "{shown:?}");
}
