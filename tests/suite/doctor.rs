//! Doctor on stores that are well, and its command: verdicts, exit codes, what is said and what is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use legbook::clock::SystemClock;
use legbook::db::{Store, StoreOptions};
use legbook::doctor::{self, Examined, Heads, NoProgress, Options, Outcome, Report, RunVerdict};
use legbook::id::RunId;
use legbook::process::SystemProcesses;
use legbook::recovery;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::support::{LEGBOOK, Workspace};

pub(crate) const POOL: &str = r#"{"domain": "ai", "tier": "deep", "from_date": "2026-11-01", "to_date": "2026-11-30",
    "context": {"enrichment_source_boundary": null, "requested_sources": ["reddit"], "lookback_days": 30}, "source_status": {"reddit": {"state": "ok"}}, "warnings": [],
    "nominations": [{"cluster_id": "c1", "heuristic_name": "Gemma 4", "heuristic_junk": false,
         "nomination": {"name": "gemma", "items": [{"title": "Gemma 4 is out", "source": "reddit"}]}}]}"#;

/// A store that is well, with something of everything in it.
///
/// * `ended`: a journal that ended ok, of ten events; `failed`: one that failed, with a large snapshot.
/// * `plain`: a run without a journal. `recovered`: a receipt is its last snapshot.
/// * `live`: under way, twelve events long, its lock held by this process.
/// * a pipeline with a stage and a marker; a round of the handoff.
pub(crate) struct Clinic {
    folder: TempDir,
}

static TEMPLATE: LazyLock<Workspace> = LazyLock::new(build);

fn build() -> Workspace {
    let workspace = Workspace::new();
    let script = r#"for s in planning dispatching synthesizing; do "$0" runs status ended $s -q; done"#;
    workspace.legbook(["run", "--run-id", "ended", "--", "sh", "-c", script, LEGBOOK]).expect(0);
    let task = "long ".repeat(1_000);
    workspace.legbook(["run", "--run-id", "failed", "--task", &task, "--", "false"]).expect(1);
    workspace.legbook(["run", "--run-id", "plain", "--no-journal", "--", "true"]).expect(0);
    let mut owner = Command::new("sleep").arg("600").spawn().unwrap();
    workspace.legbook(["runs", "start", "recovered", "--pid", &owner.id().to_string()]).expect(0);
    owner.kill().unwrap();
    owner.wait().unwrap();
    let store = Store::open_existing(workspace.store(), StoreOptions::default()).unwrap();
    recovery::recover(&store, &RunId::parse("recovered").unwrap(), &recovery::Options::default()).unwrap();
    drop(store);
    let own_pid = std::process::id().to_string();
    let started = workspace.legbook(["runs", "start", "live", "--pid", &own_pid, "--json"]).json();
    let token = started["token"].as_str().unwrap();
    for status in ["planning", "dispatching", "result-processing", "synthesizing", "handoff"] {
        workspace.legbook(["runs", "status", "live", status, "--token", token]).expect(0);
    }
    workspace.legbook(["stage", "begin", "--pipeline", "line"]).expect(0);
    workspace.legbook_reading(["stage", "save", "fetch", "--pipeline", "line"], r#"{"seen": 3}"#).expect(0);
    let marker = ["stage", "save", "proof", "--marker", "--pipeline", "line"];
    workspace.legbook_reading(marker, r#"{"seen": 4}"#).expect(0);
    workspace.legbook_reading(["handoff", "nominate", "--domain", "ai"], POOL).expect(0);
    workspace
}

impl Clinic {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&TEMPLATE.path().join(".legbook"), &folder.path().join(".legbook"));
        let clinic = Self { folder };
        let store = Connection::open(clinic.store()).unwrap();
        // A copy of a template, but a store of its own: the next write notes its home.
        store.execute("DELETE FROM home", []).unwrap();
        store
            .execute(
                "UPDATE runs SET run_dir = replace(run_dir, ?1, ?2), workspace = ?2",
                [TEMPLATE.path().to_str().unwrap(), clinic.path().to_str().unwrap()],
            )
            .unwrap();
        clinic
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.path().join(".legbook/store.db")
    }

    pub(crate) fn run_json(&self, run_id: &str) -> PathBuf {
        self.path().join(".legbook/runs").join(run_id).join("run.json")
    }

    pub(crate) fn look(&self) -> Report {
        look(&self.store(), true, None).unwrap()
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.store()).unwrap().execute_batch(sql).unwrap();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What doctor says of `store`.
pub(crate) fn look(store: &Path, full: bool, heads: Option<&Heads>) -> legbook::Result<Report> {
    doctor::examine(store, options(full, heads))
}

pub(crate) fn options(full: bool, heads: Option<&Heads>) -> Options<'_> {
    Options {
        full,
        alone: false,
        heads,
        accept_heads: false,
        clock: &SystemClock,
        processes: &SystemProcesses,
        progress: &NoProgress,
    }
}

fn run<'a>(report: &'a Report, run_id: &str) -> &'a RunVerdict {
    report.runs.iter().find(|run| run.run_id == run_id).unwrap()
}

#[test]
fn a_store_that_is_well_has_no_findings() {
    let clinic = Clinic::new();
    let report = clinic.look();
    assert_eq!(report.outcome(), Outcome::Ok, "{report:#?}");
    assert_eq!(report.findings, []);
    assert_eq!(report.detail(), "ok=4 warn=0 fail=0 omitted=1");
    let says: Vec<(&str, &str, &str)> =
        report.runs.iter().map(|run| (run.run_id.as_str(), run.verdict.word(), run.says.as_str())).collect();
    assert_eq!(
        says,
        [
            ("live", "ok", "live owner"),
            ("recovered", "ok", "stale-lock-recovery receipt matches checkpoint reconstruction"),
            ("plain", "omitted", "no journal"),
            ("failed", "ok", "checkpoint bytes match run.json"),
            ("ended", "ok", "checkpoint bytes match run.json")
        ]
    );
}

#[test]
fn of_more_than_fifty_runs_the_oldest_are_skipped_and_counted() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.run_json("ended")).unwrap();
    let more: String = (0..48)
        .map(|n| {
            format!(
                "INSERT INTO runs (run_id, created_at) VALUES ('more-{n}', '2026-01-01T00:00:00.000000Z');"
            )
        })
        .collect();
    clinic.sql(&more);
    let newest = look(&clinic.store(), false, None).unwrap();
    assert_eq!((newest.runs.len(), newest.skipped), (50, 3));
    assert_eq!(newest.detail(), "ok=2 warn=0 fail=0 omitted=51");
    let all = clinic.look();
    assert_eq!((all.runs.len(), all.skipped), (53, 0));
    assert_eq!(all.detail(), "ok=3 warn=1 fail=0 omitted=49");
}

#[test]
fn a_run_that_is_locked_or_has_not_ended_is_judged_however_old_it_is() {
    let clinic = Clinic::new();
    let mut more = String::from(
        "INSERT INTO runs (run_id, created_at, status, run_dir)
         VALUES ('open', '2026-01-01T00:00:00.000000Z', 'planning', '/open');",
    );
    for n in 0..60 {
        more += &format!(
            "INSERT INTO runs (run_id, created_at) VALUES ('more-{n}', '2026-01-01T00:00:00.000000Z');"
        );
    }
    clinic.sql(&more);
    let report = look(&clinic.store(), false, None).unwrap();
    let old: Vec<&str> = report
        .runs
        .iter()
        .map(|run| run.run_id.as_str())
        .filter(|run_id| !run_id.starts_with("more-"))
        .collect();
    assert_eq!((old, report.runs.len(), report.skipped), (vec!["open", "live"], 52, 14));
}

#[test]
fn an_owner_that_cannot_be_judged_is_said_and_warned_of_when_it_is_silent_for_long() {
    let clinic = Clinic::new();
    let said = |change: &str| {
        clinic.sql(&format!("UPDATE locks SET {change}"));
        let report = clinic.look();
        assert_eq!(run(&report, "live").says, "live owner", "{report:?}");
        let [finding] = &report.findings[..] else { panic!("{report:?}") };
        (finding.kind.word(), finding.what.clone(), report.outcome())
    };
    let (kind, what, outcome) = said("pid_namespace = 'pid:[1]'");
    assert_eq!((kind, outcome), ("owner-unknown", Outcome::Ok));
    assert!(what.contains("it ran in another pid namespace; pid "), "{what}");
    let (kind, what, outcome) = said("last_write_at = '2026-01-01T00:00:00.000000Z'");
    assert_eq!((kind, outcome), ("owner-silent", Outcome::Warn));
    assert!(what.contains("last write 2026-01-01T00:00:00Z"), "{what}");
    // A lease is the longer word; when it ends it is the shorter one.
    clinic.sql("UPDATE locks SET lease_seconds = 31622400");
    assert_eq!(run(&clinic.look(), "live").says, "live owner");
    let (kind, _, _) = said("lease_seconds = 1");
    assert_eq!(kind, "owner-silent");
    clinic.sql("UPDATE settings SET value = highest WHERE key = 'max-silence-seconds'");
    let (kind, what, _) = said("lease_seconds = NULL, machine_id = 'another'");
    assert_eq!(kind, "owner-unknown");
    assert!(what.contains("it ran on another machine"), "{what}");
}

#[test]
fn a_live_lock_speaks_for_its_own_run_and_no_other() {
    let clinic = Clinic::new();
    fs::write(clinic.run_json("live"), "{}").unwrap();
    fs::write(clinic.run_json("ended"), "{}").unwrap();
    let report = clinic.look();
    assert_eq!(run(&report, "live").says, "live owner");
    assert_eq!(run(&report, "ended").says, "run.json does not match checkpoint");
}

#[test]
fn detail_names_eight_failures_and_all_of_them_with_full() {
    let clinic = Clinic::new();
    let more: String = (0..10)
        .map(|n| {
            format!(
                "INSERT INTO runs (run_id, created_at, journaled_at)
                 VALUES ('bad-{n}', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000000Z');"
            )
        })
        .collect();
    clinic.sql(&more);
    let eight = look(&clinic.store(), false, None).unwrap().detail();
    let names: Vec<String> = (2..10).rev().map(|n| format!("bad-{n} (empty journal)")).collect();
    assert_eq!(eight, format!("ok=4 warn=0 fail=10 omitted=1; failures: {}, …", names.join(", ")));
    assert!(clinic.look().detail().ends_with("bad-1 (empty journal), bad-0 (empty journal)"));
}

#[test]
fn replaced_views_and_triggers_change_no_verdict() {
    let clinic = Clinic::new();
    fs::remove_file(clinic.run_json("ended")).unwrap();
    let before = clinic.look();
    let store = Connection::open(clinic.store()).unwrap();
    let names: Vec<(String, String)> = store
        .prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'trigger')")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (kind, name) in &names {
        store.execute_batch(&format!("DROP {kind} {name}")).unwrap();
        if kind == "view" {
            store.execute_batch(&format!("CREATE VIEW {name} AS SELECT 'all is well' AS verdict")).unwrap();
        }
    }
    let after = clinic.look();
    assert_eq!(after.runs, before.runs);
    assert_eq!(after.findings.len(), names.len(), "{after:#?}");
    assert_eq!(after.outcome(), Outcome::Fail);
}

#[test]
fn a_view_in_a_tables_place_is_never_asked() {
    let clinic = Clinic::new();
    clinic.sql(
        "ALTER TABLE events RENAME TO hidden;
         CREATE VIEW events AS SELECT * FROM hidden WHERE 0;",
    );
    let report = clinic.look();
    assert_eq!(report.outcome(), Outcome::Fail);
    assert_eq!(report.not_judged.as_deref(), Some("the table events is not the one of the schema"));
    assert_eq!(report.runs, []);
}

#[test]
fn many_stores_come_back_in_order_and_the_worst_decides() {
    let well = Clinic::new();
    let warned = Clinic::new();
    fs::remove_file(warned.run_json("ended")).unwrap();
    let failed = Clinic::new();
    fs::write(failed.run_json("ended"), "{}").unwrap();
    let absent = well.path().join("absent.db");
    let mut paths = vec![well.store(), warned.store()];
    let outcomes = |paths: &[PathBuf]| -> Vec<Outcome> {
        let stores = doctor::examine_all(paths, options(false, None));
        assert!(stores.iter().map(|store| &store.path).eq(paths));
        let mut outcomes: Vec<Outcome> = stores.iter().map(Examined::outcome).collect();
        outcomes.push(doctor::worst(&stores));
        outcomes
    };
    assert_eq!(outcomes(&paths), [Outcome::Ok, Outcome::Warn, Outcome::Warn]);
    paths.insert(0, absent);
    assert_eq!(outcomes(&paths), [Outcome::Unchecked, Outcome::Ok, Outcome::Warn, Outcome::Unchecked]);
    paths.insert(1, failed.store());
    let worst = Outcome::Fail;
    assert_eq!(outcomes(&paths), [Outcome::Unchecked, worst, Outcome::Ok, Outcome::Warn, worst]);
}

#[test]
fn heads_are_made_then_compared_and_kept_back_where_a_journal_went_backwards() {
    let clinic = Clinic::new();
    let file = clinic.path().join("heads.json");
    let store = clinic.store();
    let none = Heads::read(&file).unwrap();
    assert!(none.is_new());
    let keep = |mut heads: Heads| {
        let stores = doctor::examine_all(std::slice::from_ref(&store), options(false, Some(&heads)));
        let went_back = Heads::went_back(&stores);
        if !went_back {
            heads.take_over(&stores);
            heads.write().unwrap();
        }
        went_back
    };
    assert!(!keep(none));
    let kept = fs::read(&file).unwrap();
    assert!(!keep(Heads::read(&file).unwrap()));
    assert_eq!(fs::read(&file).unwrap(), kept, "nothing happened, so the heads are the same");
    clinic.sql(
        "DROP TRIGGER events_delete;
         DELETE FROM events WHERE run_id = 'ended' AND sequence > 8;",
    );
    assert!(keep(Heads::read(&file).unwrap()));
    assert_eq!(fs::read(&file).unwrap(), kept);
}

#[test]
fn a_run_that_retention_removed_is_no_missing_head() {
    let clinic = Clinic::new();
    let mut heads = Heads::read(&clinic.path().join("heads.json")).unwrap();
    heads.take_over(&doctor::examine_all(&[clinic.store()], options(false, Some(&heads))));
    clinic.sql(
        "INSERT INTO removals (run_id, removed_at, last_sequence, last_digest)
         SELECT run_id, '2026-03-01T00:00:00.000000Z', max(sequence), event_digest FROM events WHERE run_id = 'ended';
         DELETE FROM events WHERE run_id = 'ended';
         DELETE FROM checkpoints
         WHERE NOT EXISTS (SELECT 1 FROM events WHERE checkpoint_sha256 = checkpoints.sha256);
         DELETE FROM runs WHERE run_id = 'ended';",
    );
    let report = look(&clinic.store(), true, Some(&heads)).unwrap();
    assert_eq!(report.findings, []);
}

#[test]
fn a_heads_file_of_other_contents_is_refused_and_left() {
    let clinic = Clinic::new();
    let file = clinic.path().join("heads.json");
    fs::write(&file, "{}\n").unwrap();
    assert!(Heads::read(&file).unwrap_err().to_string().ends_with("is not a heads file of legbook"));
    assert_eq!(fs::read(&file).unwrap(), b"{}\n");
}
