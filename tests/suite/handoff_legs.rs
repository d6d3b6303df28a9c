//! The legs of the handoff through the library, with a clock that the test sets. Here: a whole round, and the queue.

mod reading;
mod rounds;
mod time;

use std::path::Path;
use std::sync::Arc;

use chrono::TimeDelta;
use legbook::clock::{Clock, event_time, snapshot_time};
use legbook::db::{Store, StoreOptions};
use legbook::error::{Error, HandoffError, Record, StoreError};
use legbook::handoff::{
    Awaits, Bundle, FinalizeLeg, Finalized, JudgeLeg, Judged, LegacyBundle, Nominated, Pool, ReportLeg,
    Reported, cover, nominate, not_stored, status, topics,
};
use legbook::json::{Value, parse};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::fakes::SetClock;

/// A store in a folder of its own, under a clock that the test turns.
struct Bench {
    folder: TempDir,
    clock: Arc<SetClock>,
    store: Store,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = SetClock::at("2026-11-30T12:00:00Z");
        let store = open(&folder.path().join("legbook.db"), &clock);
        Self { folder, clock, store }
    }

    /// Moves the clock, by less than a second too.
    fn turn(&self, by: TimeDelta) {
        self.clock.set(&event_time(self.clock.now() + by));
    }

    /// What a person with a plain shell can do, triggers out of the way.
    fn tamper(&self, sql: &str) {
        let plain = Connection::open(self.folder.path().join("legbook.db")).unwrap();
        let triggers: Vec<String> = plain
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for trigger in triggers {
            plain.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
        }
        plain.execute_batch(sql).unwrap();
    }

    fn nominate(&self, nominations: usize) -> Nominated {
        nominate(&self.store, &pool(nominations), false).unwrap().unwrap()
    }

    fn judge(&self, bundle_id: &str) -> legbook::Result<Judged> {
        JudgeLeg::begin(&self.store, false)?.finish(judgments(bundle_id).as_bytes())
    }

    fn report(&self, bundle_id: &str, run_ref: &str) -> legbook::Result<Reported> {
        ReportLeg::begin(&self.store, false)?.finish(report(bundle_id, run_ref).as_bytes())
    }

    fn finalize(&self, angles: Option<&str>) -> legbook::Result<Finalized> {
        FinalizeLeg::begin(&self.store, false)?.finish(angles.map(str::as_bytes))
    }

    /// A round up to its pending report.
    fn reported(&self) -> String {
        let bundle_id = self.nominate(2).bundle_id;
        self.judge(&bundle_id).unwrap();
        self.report(&bundle_id, "run-a").unwrap();
        bundle_id
    }
}

fn open(path: &Path, clock: &Arc<SetClock>) -> Store {
    Store::open(path, StoreOptions { clock: clock.clone(), ..StoreOptions::default() }).unwrap()
}

fn pool(nominations: usize) -> Pool {
    let rows: Vec<String> =
        (1..=nominations).map(|n| row(n, &format!(r#"{{"title": "Title {n}"}}"#))).collect();
    pool_of(&rows)
}

fn row(n: usize, items: &str) -> String {
    format!(
        r#"{{"cluster_id": "c{n}", "heuristic_name": "Topic {n}", "heuristic_junk": false,
            "nomination": {{"name": "topic {n}", "items": [{items}]}}}}"#
    )
}

fn pool_of(rows: &[String]) -> Pool {
    let text = format!(
        r#"{{"domain": "", "tier": "deep", "from_date": "2026-11-01", "to_date": "2026-11-30",
            "context": {{"enrichment_source_boundary": null, "requested_sources": [], "lookback_days": 30}},
            "source_status": {{"reddit": {{"state": "ok"}}, "x": {{"state": "timeout"}}}},
            "warnings": ["x timed out"], "nominations": [{}]}}"#,
        rows.join(",")
    );
    Pool::read(text.as_bytes(), None).unwrap()
}

fn judgments(bundle_id: &str) -> String {
    format!(
        r#"{{"bundle_id": "{bundle_id}", "judgments": [{{"id": "n1", "name": "Better", "worthiness": 85}}]}}"#
    )
}

fn report(bundle_id: &str, run_ref: &str) -> String {
    format!(
        r#"{{"bundle_id": "{bundle_id}", "run_ref": "{run_ref}",
            "report": {{"topics": [{{"id": "n1", "name": "Better"}}, {{"name": "Topic 2"}}, {{"name": "Other"}}]}},
            "angle_inputs": {{"n1": {{"name": "Better"}}, "n2": {{"name": "Topic 2"}}}}}}"#
    )
}

fn angles(bundle_id: &str) -> String {
    format!(
        r#"{{"bundle_id": "{bundle_id}", "angles": [{{"id": "n1", "podcast": "Hear  this"}},
            {{"id": "n2", "x_article": "Read this"}}]}}"#
    )
}

#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: legbook::Result<T>) -> HandoffError {
    match outcome.unwrap_err() {
        Error::Handoff(error) => error,
        other => panic!("{other}"),
    }
}

fn members(answer: &str) -> Value {
    parse(answer.as_bytes()).unwrap()
}

fn texts<'a>(value: &'a Value, key: &str) -> Vec<&'a str> {
    let Value::Array(items) = value else { panic!("{value:?}") };
    items.iter().map(|item| item.get(key).unwrap().as_str().unwrap()).collect()
}

fn legacy(stamp: &str, version: &str) -> String {
    format!(
        r#"{{"schema_version": "{version}", "kind": "discovery-nominations", "bundle_id": "feedfacefeedface",
            "generated_at": "{stamp}", "from_date": "a", "to_date": "b", "domain": "", "tier": "deep",
            "nominations": [{{"id": "n1", "nomination": {{"name": "x", "items": []}}}}, 5, {{"id": "n1"}}, {{"nomination": {{}}}},
              {{"id": "n1", "nomination": {{}}}}]}}"#
    )
}

#[test]
fn a_round_goes_from_leg_to_leg() {
    let bench = Bench::new();
    assert_eq!(status(&bench.store).unwrap(), None);
    let nominated = bench.nominate(2);
    assert_eq!(nominated.bundle_id.len(), 16);
    assert_eq!(snapshot_time(nominated.expires_at), "2026-11-30T13:00:00Z");
    assert!(nominated.host_digest.starts_with("2 nominations await judgment.\n"));
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::Judgments);

    let judged = bench.judge(&nominated.bundle_id).unwrap();
    let answer = members(judged.answer.as_str());
    let keys: Vec<_> = answer.as_object().unwrap().keys().map(|key| key.as_str().unwrap()).collect();
    assert_eq!(
        keys,
        [
            "bundle_id",
            "domain",
            "tier",
            "from_date",
            "to_date",
            "context",
            "source_status",
            "warnings",
            "mock",
            "judgments",
            "nominations"
        ]
    );
    let rows = answer.get("nominations").unwrap();
    assert_eq!(texts(rows, "name"), ["Better", "Topic 2"]);
    let Value::Array(rows) = rows else { panic!() };
    assert_eq!(rows[0].get("worthiness").unwrap().as_i64(), Some(85));
    assert_eq!(rows[0].get("judged"), Some(&Value::Bool(true)));
    assert_eq!(rows[1].get("worthiness"), Some(&Value::Null));
    assert_eq!(rows[1].get("judged"), Some(&Value::Bool(false)));
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::Report);

    let reported = bench.report(&nominated.bundle_id, "run-a").unwrap();
    assert_eq!(reported.pending.unwrap().run_ref, "run-a");
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::Angles);

    let finalized = bench.finalize(Some(&angles(&nominated.bundle_id))).unwrap();
    assert_eq!(finalized.warnings, [""; 0]);
    assert_eq!(
        legbook::json::line(&finalized.answer),
        format!(
            r#"{{"bundle_id": "{}", "run_ref": "run-a", "source_status": {{"reddit": {{"state": "ok"}}, "x": {{"state": "timeout"}}}}, "warnings": ["x timed out"], "report": {{"topics": [{{"id": "n1", "name": "Better", "podcast_angle": "Hear this"}}, {{"name": "Topic 2", "x_article_angle": "Read this"}}, {{"name": "Other"}}]}}}}"#,
            nominated.bundle_id
        )
    );
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::Nothing);
    let names: Vec<_> = topics(&bench.store).unwrap().into_iter().map(|topic| topic.name).collect();
    assert_eq!(names, ["Better", "Other", "Topic 2"]);
}

#[test]
fn retries_count_each_topic_once_a_run() {
    let bench = Bench::new();
    let bundle_id = bench.nominate(2).bundle_id;
    for (run_ref, count) in [("a", 1), ("a", 1), ("b", 2), ("a", 2), ("b", 2)] {
        bench.judge(&bundle_id).unwrap();
        bench.report(&bundle_id, run_ref).unwrap();
        bench.finalize(None).unwrap();
        bench.finalize(Some(&angles(&bundle_id))).unwrap();
        let corrected = angles(&bundle_id).replace("Hear  this", "Hear that");
        let answer = bench.finalize(Some(&corrected)).unwrap().answer;
        assert!(legbook::json::line(&answer).contains("Hear that"));
        for topic in topics(&bench.store).unwrap() {
            assert_eq!(topic.surface_count, count, "{topic:?}");
        }
    }
}

#[test]
fn a_covered_topic_stays_covered() {
    let bench = Bench::new();
    bench.reported();
    bench.finalize(None).unwrap();
    let covered = cover(&bench.store, "better!").unwrap();
    assert_eq!((covered.name.as_str(), covered.state()), ("Better", "covered"));
    bench.clock.advance(60);
    assert_eq!(cover(&bench.store, "BETTER").unwrap().covered_at, covered.covered_at);
    bench.reported();
    bench.finalize(None).unwrap();
    let topics = topics(&bench.store).unwrap();
    assert_eq!(topics.last().unwrap().state(), "covered", "covered topics come last");
    assert!(matches!(refused(cover(&bench.store, "nothing")), HandoffError::UnknownTopic));
}

#[test]
fn a_queue_that_cannot_be_written_is_a_warning() {
    let bench = Bench::new();
    bench.reported();
    bench.tamper("DROP TABLE queue_counts");
    let finalized = bench.finalize(None).unwrap();
    assert_eq!(finalized.warnings.len(), 1, "{:?}", finalized.warnings);
    assert!(finalized.warnings[0].starts_with("the queue was not written: "));
    assert!(legbook::json::line(&finalized.answer).contains("\"topics\""));
}

#[test]
fn what_keeps_the_store_from_writing_is_one_kind_of_error() {
    let io = |kind: std::io::ErrorKind| Error::Io { action: "make", path: "x".into(), source: kind.into() };
    for error in [
        Error::Store(StoreError::Full),
        Error::Store(StoreError::ReadOnly),
        Error::Store(StoreError::Unopenable { path: "x".into() }),
        io(std::io::ErrorKind::StorageFull),
        io(std::io::ErrorKind::ReadOnlyFilesystem),
    ] {
        let mapped = not_stored(Record::Bundle)(error);
        assert!(matches!(&mapped, Error::Handoff(HandoffError::NotStored { .. })), "{mapped}");
    }
    assert!(matches!(
        not_stored(Record::Bundle)(Error::Store(StoreError::Busy)),
        Error::Store(StoreError::Busy)
    ));
}
