//! Shadow evidence and its gate, through the library: what a write's comparison records, and what opens the gate.

use std::sync::Arc;

use legbook::db::{Store, StoreOptions};
use legbook::digest::Digest;
use legbook::event::{self, Event, EventInput, Head};
use legbook::id::RunId;
use legbook::json::{self, Object, Value};
use legbook::projection;
use legbook::receipt::{self, DeadOwner};
use legbook::run::{self, Credentials, Written};
use legbook::shadow::{self, Evidence, Outcome, Readiness};
use legbook::step::Step;
use rusqlite::{Connection, params};
use tempfile::TempDir;

use crate::fakes::{CutAt, SetClock, cut_short, list, store_in, text, vectors};
use crate::support;

/// A store with one registered run, whose lock the test's own process holds.
struct Bench {
    _folder: TempDir,
    cut: Arc<CutAt>,
    store: Store,
    run_id: RunId,
    credentials: Credentials,
}

impl Bench {
    fn new(run_id: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cut = Arc::new(CutAt::default());
        let clock = SetClock::at("2026-03-04T05:06:07.000008Z");
        let options = StoreOptions { clock, observer: cut.clone(), ..StoreOptions::default() };
        let store = store_in(folder.path(), options);
        let run_id = RunId::parse(run_id).unwrap();
        let run_dir = folder.path().join("run");
        let token = run::register(&store, &run_id, &run_dir, folder.path(), std::process::id()).unwrap();
        let credentials = Credentials { token: Some(token), owner_pid: None };
        Self { _folder: folder, cut, store, run_id, credentials }
    }

    /// One whose run has been written with each of these statuses.
    fn written(statuses: &[&str]) -> Self {
        let bench = Self::new("r");
        for status in statuses {
            bench.status(status);
        }
        bench
    }

    fn write(&self, payload: &str) -> legbook::Result<Written> {
        run::write(&self.store, &self.run_id, payload.as_bytes(), &self.credentials)
    }

    fn status(&self, status: &str) {
        self.write(&snapshot(status)).unwrap();
    }

    fn events(&self) -> Vec<Event> {
        run::events(&self.store, &self.run_id, 0, usize::MAX).unwrap()
    }

    fn head(&self) -> Head {
        let events = self.events();
        let last = events.last().unwrap();
        Head { sequence: last.sequence(), digest: last.event_digest() }
    }

    fn evidence(&self) -> Option<Evidence> {
        self.gate().evidence
    }

    fn last(&self) -> shadow::Record {
        self.evidence().unwrap().last.unwrap()
    }

    fn gate(&self) -> Readiness {
        shadow::readiness(&self.store, &self.run_id)
    }

    fn reasons(&self) -> Vec<&'static str> {
        self.gate().reasons.iter().map(|reason| reason.word()).collect()
    }

    /// Changes the store as another program may.
    fn sql(&self, sql: &str) {
        Connection::open(self.store.path()).unwrap().execute_batch(sql).unwrap();
    }

    /// Changes events as no rule allows.
    fn damage(&self, sql: &str) {
        let connection = Connection::open(self.store.path()).unwrap();
        let update: String = connection
            .query_row("SELECT sql FROM sqlite_schema WHERE name = 'events_update'", [], |row| row.get(0))
            .unwrap();
        connection.execute_batch(&format!("DROP TRIGGER events_update; {sql}; {update}")).unwrap();
    }

    /// Appends an event that no write of legbook makes.
    fn append(&self, event_type: &str, payload: Object) {
        let head = self.head();
        let event = Event::new(EventInput {
            run_id: self.run_id.as_str(),
            sequence: head.sequence + 1,
            event_type,
            recorded_at: "2026-03-04T05:06:07.000008Z",
            idempotency_key: &format!("by hand {}", head.sequence),
            previous_digest: Some(head.digest),
            payload,
        })
        .unwrap();
        let sql = "INSERT INTO events (line, journal_bytes)
                   SELECT ?1, max(journal_bytes) + ?2 FROM events WHERE run_id = ?3";
        let parameters = params![event.line(), event.line().len() + 1, self.run_id.as_str()];
        Connection::open(self.store.path()).unwrap().execute(sql, parameters).unwrap();
    }
}

fn snapshot(status: &str) -> String {
    format!(r#"{{"status": "{status}", "task": "sort", "lifecycle_journal_requested": true}}"#)
}

/// Requires that the last record says of `written` what two whole snapshots say, the second one projected over the whole
/// journal.
#[track_caller]
fn check_last_record(bench: &Bench, written: &str) {
    let (record, head) = (bench.last(), bench.head());
    let written = json::parse_object(written.as_bytes()).unwrap();
    let mut candidate = written.clone();
    projection::stamp(&mut candidate, Some(head), true);
    let digest = |snapshot: &Object| Some(Digest::of(&json::snapshot_bytes(snapshot)));
    let status = written.get("status".as_bytes()).and_then(Value::as_str);
    assert_eq!(record.sequence.zip(record.event_digest), Some((head.sequence, head.digest)));
    assert_eq!(record.shadow_digest, digest(&candidate));
    match projection::project(&written, &bench.events(), true) {
        Ok(projected) => {
            assert_eq!(record.projected_digest, digest(&projected));
            let names: Vec<_> = record.differing_fields.iter().map(|name| name.as_str().unwrap()).collect();
            let (outcome, differing): (_, &[&str]) = if projected == candidate {
                (Outcome::Match, &[])
            } else if status.and_then(event::event_type_of_status).is_none() {
                (Outcome::Lag, &["status"])
            } else {
                (Outcome::Mismatch, &["status"])
            };
            assert_eq!((record.outcome, &names[..], record.category), (outcome, differing, None));
        }
        Err(refusal) => {
            assert_eq!(record.outcome, Outcome::Error);
            assert_eq!(record.category.unwrap(), format!("projection-error:{}", refusal.rule()));
            assert_eq!(record.diagnostic.unwrap(), refusal.to_string());
            assert_eq!(record.projected_digest, None);
        }
    }
}

#[test]
fn every_comparison_is_that_of_the_whole_journal() {
    let bench = Bench::new("r");
    let mut seen = std::collections::BTreeSet::new();
    for (n, status) in [
        r#""started""#,
        r#""planning""#,
        r#""planning""#,
        r#""artifact-collection""#,
        "5",
        r#""dispatching""#,
        r#""started""#,
        r#""incomplete""#,
        r#""result-processing""#,
        "null",
        r#""timeout""#,
        r#""ok""#,
        r#""strange""#,
        r#""failed""#,
        r#""failed""#,
    ]
    .iter()
    .enumerate()
    {
        // Every fourth snapshot has a field that the projection does not know.
        let other = if n % 4 == 3 { r#", "unknown": 1"# } else { "" };
        let payload = format!(
            r#"{{"status": {status}, "task": "{n}", "lifecycle_journal_requested": true, "projector_version": 1{other}}}"#
        );
        bench.write(&payload).unwrap();
        check_last_record(&bench, &payload);
        seen.insert(bench.last().category.unwrap_or_else(|| bench.last().outcome.word().to_owned()));
    }
    let expected =
        ["lag", "match", "projection-error:projection-input", "projection-error:unknown-snapshot-field"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(bench.evidence().unwrap().counts.comparisons, 15);
}

#[test]
fn every_write_of_the_vectors_is_compared_right() {
    let mut seen = std::collections::BTreeSet::new();
    for vector in vectors("journals.jsonl") {
        let bench = Bench::new(text(&vector, "run_id"));
        for write in list(&vector, "writes") {
            if let Some(receipt) = write.get("receipt").and_then(Value::as_str) {
                let connection = Connection::open(bench.store.path()).unwrap();
                support::keep_receipt(&connection, bench.run_id.as_str(), receipt.as_bytes());
                continue;
            }
            // The vectors' own fields are none that the projection knows.
            let payload =
                &text(write, "payload").replace("\"n\":", "\"worker\":").replace("\"x\":", "\"route\":");
            let events = bench.events().len();
            if write.get("exported") == Some(&Value::Bool(true)) {
                bench.write(payload).unwrap();
            } else {
                bench.cut.next(Some(Step::Committed));
                cut_short(|| bench.write(payload));
                bench.cut.next(None);
            }
            if bench.events().len() > events {
                check_last_record(&bench, payload);
            }
        }
        let records = bench.evidence().map(|evidence| evidence.recent_records).unwrap_or_default();
        seen.extend(
            records.into_iter().map(|record| record.category.unwrap_or(record.outcome.word().to_owned())),
        );
    }
    let expected = ["lag", "match", "projection-error:projection-input"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_run_whose_writes_all_match_is_ready() {
    let bench = Bench::written(&["started", "planning", "dispatching", "dispatching", "dispatching", "ok"]);
    let gate = bench.gate();
    assert!(gate.is_ready(), "{gate:?}");
    assert_eq!(gate.head, Some(bench.head()));
    let counts = gate.evidence.unwrap().counts;
    assert_eq!((counts.comparisons, counts.matches), (5, 5), "a replay is not compared again");
}

#[test]
fn a_lag_closes_the_gate_while_it_lasts() {
    let bench = Bench::written(&["started", "artifact-collection"]);
    assert_eq!(bench.reasons(), ["status-lag-current"]);
    bench.status("ok");
    assert_eq!(bench.reasons(), Vec::<&str>::new());
    assert_eq!(bench.evidence().unwrap().counts.lags, 1);
}

#[test]
fn a_mismatch_closes_the_gate_for_good() {
    let bench = Bench::written(&["started", "dispatching"]);
    // The run is recovered, and goes on with the receipt's own status: no event tells of it.
    let last = json::parse_object(snapshot("dispatching").as_bytes()).unwrap();
    let owner = DeadOwner { pid: json::Integer::from(77), workspace: None, acquired_at: None };
    let receipt = receipt::receipt(&last, &owner, "2026-03-04T05:06:07+00:00", true).unwrap();
    let connection = Connection::open(bench.store.path()).unwrap();
    support::keep_receipt(&connection, "r", &json::snapshot_bytes(&receipt));
    bench.status("failed");
    assert_eq!(bench.last().outcome, Outcome::Mismatch);
    assert_eq!(bench.reasons(), ["mismatch-recorded"]);
    bench.status("started");
    assert_eq!(bench.last().outcome, Outcome::Match);
    assert_eq!(bench.reasons(), ["mismatch-recorded"]);
}

#[test]
fn a_comparison_that_fails_leaves_the_write_whole_and_the_gate_closed() {
    let bench = Bench::written(&["started"]);
    let before = bench.evidence();
    // The evidence's row is changed by then: all of it must be undone.
    bench.sql("CREATE TRIGGER fails BEFORE INSERT ON shadow_records BEGIN SELECT RAISE(ABORT, 'no'); END");
    bench.status("planning");
    assert_eq!(bench.events().len(), 4);
    assert_eq!(bench.evidence(), before);
    assert_eq!(bench.reasons(), ["journal-ahead-of-evidence"]);

    bench.sql("DROP TRIGGER fails");
    bench.status("dispatching");
    let record = bench.last();
    assert_eq!(record.category.as_deref(), Some("comparison-gap"));
    assert_eq!(record.shadow_digest, record.projected_digest, "what was missed is read: {record:?}");
    bench.status("ok");
    assert_eq!(bench.last().outcome, Outcome::Match);
    assert_eq!(bench.reasons(), ["error-recorded"]);
}

#[test]
fn a_first_comparison_that_fails_is_made_up_for_by_the_whole_journal() {
    let bench = Bench::new("r");
    bench.sql("CREATE TRIGGER fails BEFORE INSERT ON shadow_evidence BEGIN SELECT RAISE(ABORT, 'no'); END");
    bench.status("started");
    bench.status("planning");
    assert_eq!(bench.reasons(), ["no-evidence"]);
    bench.sql("DROP TRIGGER fails");
    bench.status("incomplete");
    check_last_record(&bench, &snapshot("incomplete"));
    bench.status("ok");
    assert_eq!(bench.reasons(), Vec::<&str>::new());
}

#[test]
fn a_transaction_that_is_lost_in_the_comparison_is_no_write() {
    let bench = Bench::written(&["started"]);
    bench.sql("CREATE TRIGGER fails BEFORE INSERT ON shadow_records BEGIN SELECT RAISE(ROLLBACK, 'no'); END");
    bench.write(&snapshot("planning")).unwrap_err();
    assert_eq!(bench.events().len(), 2);
    bench.sql("DROP TRIGGER fails");
    bench.status("planning");
    assert!(bench.gate().is_ready());
}

#[test]
fn sixteen_records_are_kept_and_every_comparison_is_counted() {
    let bench = Bench::new("r");
    for n in 0..20 {
        bench.status(if n % 2 == 0 { "planning" } else { "dispatching" });
    }
    let evidence = bench.evidence().unwrap();
    assert_eq!(evidence.counts.matches, 20);
    let sequences: Vec<_> = evidence.recent_records.iter().map(|record| record.sequence.unwrap()).collect();
    assert_eq!(sequences, (5..=20).map(|write| write * 2).collect::<Vec<_>>());
    assert_eq!(evidence.last.as_ref(), evidence.recent_records.last());
}

#[test]
fn the_journal_before_the_last_comparison_is_not_read_again_by_a_write_but_by_the_gate() {
    let bench = Bench::written(&["started", "planning"]);
    bench.damage("UPDATE events SET line = replace(line, 'started', 'stopped') WHERE sequence = 2");
    bench.status("dispatching");
    assert_eq!(bench.last().outcome, Outcome::Match);
    assert_eq!(bench.reasons(), ["journal-unreadable"]);
    assert_eq!(bench.gate().diagnostics.len(), 1);
}

#[test]
fn a_journal_that_cannot_be_read_whole_is_an_error_that_stays() {
    let bench = Bench::written(&["started", "planning"]);
    bench.damage("UPDATE events SET line = replace(line, 'started', 'stopped') WHERE sequence = 2");
    bench.sql("DELETE FROM shadow_evidence");
    for status in ["dispatching", "ok"] {
        bench.status(status);
        assert_eq!(bench.last().category.as_deref(), Some("journal-unreadable"));
        assert_eq!(bench.last().projected_digest, None);
    }
    assert_eq!(bench.reasons(), ["journal-unreadable", "error-recorded"]);
}

#[test]
fn an_event_that_stands_for_no_status_is_refused_in_every_comparison_after_it() {
    let bench = Bench::written(&["started"]);
    bench.append("run.paused", Object::new());
    bench.status("planning");
    assert_eq!(bench.last().category.as_deref(), Some("comparison-gap"));
    for payload in [snapshot("ok"), r#"{"status": "failed", "unknown": 1}"#.to_owned(), snapshot("started")] {
        bench.write(&payload).unwrap();
        check_last_record(&bench, &payload);
    }
    assert_eq!(bench.last().category.as_deref(), Some("projection-error:unmapped-event-type"));
    assert_eq!(bench.reasons(), ["error-recorded"]);
}

#[test]
fn evidence_of_another_version_closes_the_gate_until_the_next_write() {
    let bench = Bench::written(&["started", "incomplete"]);
    bench.sql("UPDATE shadow_evidence SET projector_version = 1");
    assert_eq!(bench.reasons(), ["evidence-schema-mismatch"]);
    bench.status("ok");
    assert_eq!(bench.reasons(), Vec::<&str>::new());
    let evidence = bench.evidence().unwrap();
    assert_eq!((evidence.counts.comparisons, evidence.recent_records.len()), (1, 1));
}

#[test]
fn damaged_evidence_closes_the_gate_and_is_begun_anew_with_an_error() {
    let spoil = [
        "DELETE FROM shadow_records WHERE record_number = 2",
        "UPDATE shadow_evidence SET told_status = 'nothing'",
        "UPDATE shadow_evidence SET refused_sequence = 2",
        "UPDATE shadow_evidence SET refused_sequence = 99",
        "DELETE FROM shadow_records; INSERT INTO shadow_records VALUES ('r', 2, 'match', NULL, 4, 'x', NULL, NULL, '[]', '', NULL)",
    ];
    for sql in spoil {
        let bench = Bench::written(&["started", "planning"]);
        bench.sql(sql);
        let reasons = bench.reasons();
        bench.status("ok");
        assert_eq!(bench.last().category.as_deref(), Some("evidence-unreadable"), "{sql}");
        assert_eq!(bench.evidence().unwrap().counts.comparisons, 1);
        assert_eq!(bench.reasons(), ["error-recorded"]);
        assert!(!sql.contains("'x'") || reasons == ["evidence-unreadable"], "{sql}: {reasons:?}");
    }
    for sql in [
        "UPDATE shadow_evidence SET comparisons = 3, matches = 3",
        "DELETE FROM shadow_records",
        "DROP TRIGGER shadow_evidence_update; UPDATE shadow_evidence SET comparisons = 1, matches = 1",
        "DELETE FROM shadow_records; INSERT INTO shadow_records VALUES ('r', 2, 'match', NULL, 4, NULL, NULL, NULL, '{}', '', NULL)",
    ] {
        let bench = Bench::written(&["started", "planning"]);
        bench.sql(sql);
        assert_eq!(bench.reasons(), ["evidence-unreadable"], "{sql}");
    }
}

/// Puts evidence there as an import keeps it, in place of the store's own.
fn import_evidence(bench: &Bench, bytes: &[u8]) {
    bench.sql("DELETE FROM shadow_evidence; INSERT INTO imports (run_id, imported_at) VALUES ('r', '')");
    let sql = "INSERT INTO imported_files (run_id, path, mode, sha256, body)
               VALUES ('r', 'events/shadow-comparison.json', 384, ?1, ?2)";
    let parameters = params![Digest::of(bytes).to_hex(), bytes];
    Connection::open(bench.store.path()).unwrap().execute(sql, parameters).unwrap();
}

#[test]
fn imported_evidence_counts_and_is_gone_on_with() {
    let statuses: Vec<_> =
        ["started", "planning"].into_iter().cycle().take(20).chain(["incomplete"]).collect();
    let bench = Bench::written(&statuses);
    let bytes = shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap();
    let before = bench.evidence().unwrap();
    import_evidence(&bench, &bytes);
    assert_eq!(shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap(), bytes);
    assert_eq!(bench.reasons(), ["status-lag-current"]);
    bench.status("ok");
    check_last_record(&bench, &snapshot("ok"));
    assert_eq!(bench.reasons(), Vec::<&str>::new());
    let after = bench.evidence().unwrap();
    assert_eq!((after.counts.matches, after.counts.lags), (21, 1));
    assert_eq!(after.recent_records[..15], before.recent_records[1..]);
    assert_eq!(after.recent_records.len(), 16);
}

#[test]
fn imported_evidence_of_version_1_closes_the_gate_until_a_fresh_comparison() {
    let bench = Bench::written(&["started", "planning"]);
    let bytes = shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap();
    let version_1 =
        String::from_utf8(bytes).unwrap().replace("\"projector_version\": 2", "\"projector_version\": 1");
    import_evidence(&bench, version_1.as_bytes());
    assert_eq!(bench.reasons(), ["evidence-schema-mismatch"]);
    bench.status("ok");
    check_last_record(&bench, &snapshot("ok"));
    assert_eq!(bench.reasons(), Vec::<&str>::new());
    assert_eq!(bench.evidence().unwrap().counts.comparisons, 1);
}

#[test]
fn what_imported_evidence_has_against_a_run_is_never_forgotten() {
    let bench = Bench::written(&["started", "planning"]);
    let bytes = shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let counted = text
        .replace("\"comparisons\": 2", "\"comparisons\": 3")
        .replace("\"mismatches\": 0", "\"mismatches\": 1");
    import_evidence(&bench, counted.as_bytes());
    assert_eq!(bench.reasons(), ["mismatch-recorded"]);
    bench.status("dispatching");
    assert_eq!(bench.last().outcome, Outcome::Match);
    assert_eq!(bench.reasons(), ["mismatch-recorded"]);

    let bench = Bench::written(&["started", "planning"]);
    import_evidence(&bench, b"torn");
    assert_eq!(bench.reasons(), ["evidence-unreadable"]);
    bench.status("dispatching");
    assert_eq!(bench.last().category.as_deref(), Some("evidence-unreadable"));
    assert_eq!(bench.reasons(), ["error-recorded"]);

    let bench = Bench::written(&["started"]);
    let behind = shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap();
    bench.status("planning");
    import_evidence(&bench, &behind);
    assert_eq!(bench.reasons(), ["journal-ahead-of-evidence"]);
    bench.status("dispatching");
    assert_eq!(bench.last().category.as_deref(), Some("comparison-gap"));
}

#[test]
fn a_gate_without_journal_or_evidence_is_closed() {
    let bench = Bench::new("r");
    assert_eq!(bench.reasons(), ["no-journal", "no-evidence"]);
    let unknown = shadow::readiness(&bench.store, &RunId::parse("other").unwrap());
    assert_eq!(unknown, bench.gate());
    bench.status("started");
    bench.sql("DELETE FROM shadow_evidence");
    assert_eq!(bench.reasons(), ["no-evidence"]);
    bench.sql("INSERT INTO shadow_evidence VALUES ('r', 2, 0, 0, 0, 0, 0, NULL, NULL, NULL)");
    assert_eq!(bench.reasons(), ["journal-ahead-of-evidence", "no-comparisons"]);
    bench.sql("DROP TABLE shadow_records");
    assert_eq!(bench.reasons(), ["evidence-unreadable"]);
    bench.sql("DROP VIEW IF EXISTS shadow_overview; DROP TABLE settings");
    assert_eq!(bench.reasons(), ["journal-unreadable", "evidence-unreadable"]);
    assert_eq!(bench.gate().diagnostics.len(), 2);
}

#[test]
fn the_evidence_of_a_removed_run_goes_with_it() {
    let bench = Bench::written(&["started", "ok"]);
    bench.sql(
        "DELETE FROM locks;
         INSERT INTO removals SELECT 'r', '', sequence, event_digest FROM events ORDER BY sequence DESC LIMIT 1;
         DELETE FROM events; DELETE FROM runs",
    );
    let connection = Connection::open(bench.store.path()).unwrap();
    let sql = "SELECT (SELECT count(*) FROM shadow_evidence) + (SELECT count(*) FROM shadow_records)";
    assert_eq!(connection.query_row(sql, [], |row| row.get::<_, i64>(0)), Ok(0));
}

#[test]
fn the_file_has_the_legacy_shape_and_reads_back_as_it_was() {
    let bench = Bench::written(&["started", "incomplete"]);
    bench.write(r#"{"status": "ok", "unknown": 1}"#).unwrap();
    let bytes = shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap();
    let object = json::parse_object(&bytes).unwrap();
    assert_eq!(json::snapshot_bytes(&object), bytes);
    let mut keys: Vec<_> = object.keys().map(|key| key.as_str().unwrap()).collect();
    keys.sort_unstable();
    let expected = "comparisons errors lags last_compared_event_digest last_compared_sequence last_differing_fields \
        last_error_category last_outcome last_projected_digest last_recorded_at last_shadow_digest matches mismatches \
        projector_version recent_records run_id schema schema_version";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(
        object.get("last_error_category".as_bytes()),
        Some(&"projection-error:unknown-snapshot-field".into())
    );
    let records = object.get("recent_records".as_bytes()).and_then(Value::as_array).unwrap();
    let shapes: Vec<_> = records.iter().map(|record| record.as_object().unwrap().len()).collect();
    assert_eq!(shapes, [8, 8, 9], "only an error has a diagnostic");
    let evidence = shadow::from_legacy(&bytes, &bench.run_id).unwrap();
    assert_eq!(shadow::legacy_object(&bench.run_id, &evidence), object);
    assert_eq!(evidence.recent_records, bench.evidence().unwrap().recent_records);
}

#[test]
fn a_file_that_is_not_this_evidence_is_told_from_one_of_other_rules() {
    let bench = Bench::written(&["started", "incomplete"]);
    let bytes = shadow::legacy_bytes(&bench.store, &bench.run_id).unwrap().unwrap();
    let whole = String::from_utf8(bytes).unwrap();
    let error = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        let error = shadow::from_legacy(whole.replacen(from, to, 1).as_bytes(), &bench.run_id).unwrap_err();
        error.to_string().split(':').next().unwrap().to_owned()
    };
    for (from, to) in [
        ("\"projector_version\": 2", "\"projector_version\": 1"),
        ("\"projector_version\": 2", "\"projector_version\": \"2\""),
        ("brigade.run_shadow.v1", "brigade.run_shadow.v2"),
        ("\"schema_version\": 1", "\"schema_version\": 2"),
    ] {
        assert_eq!(error(from, to), "evidence-schema-mismatch", "{to}");
    }
    for (from, to) in [
        ("{", "["),
        ("\"run_id\": \"r\"", "\"run_id\": \"q\""),
        ("\"matches\": 1", "\"matches\": 2"),
        ("\"matches\": 1", "\"matches\": 1.0"),
        ("\"lags\": 1", "\"lags\": -1"),
        ("\"last_outcome\": \"lag\"", "\"last_outcome\": \"fine\""),
        ("\"last_outcome\": \"lag\"", "\"last_outcome\": null"),
        ("\"last_outcome\": \"lag\"", "\"last_outcome\": \"error\""),
        ("\"last_recorded_at\"", "\"last_recorded\""),
        ("\"recent_records\"", "\"records\""),
        ("\"last_shadow_digest\": \"", "\"last_shadow_digest\": \"0"),
        ("\"last_compared_sequence\": 3", "\"last_compared_sequence\": \"3\""),
    ] {
        assert_eq!(error(from, to), "evidence-unreadable", "{to}");
    }
}

#[test]
fn the_view_tells_how_far_the_evidence_is_behind() {
    let bench = Bench::written(&["started", "incomplete"]);
    bench.append("run.paused", Object::new());
    let connection = Connection::open(bench.store.path()).unwrap();
    let sql = "SELECT concat_ws('|', run_id, comparisons, matches, lags, mismatches, errors, last_outcome,
                                compared_to, events_since) FROM shadow_overview";
    assert_eq!(connection.query_row(sql, [], |row| row.get(0)), Ok("r|2|1|1|0|0|lag|3|1".to_owned()));
}
