//! One current round: what comes between two legs, sweeps at once, fixtures and real ones.

use super::*;

#[test]
fn a_sweep_that_found_nothing_ends_the_round_before() {
    let bench = Bench::new();
    let bundle_id = bench.reported();
    assert!(nominate(&bench.store, &pool(0), false).unwrap().is_none());
    assert_eq!(status(&bench.store).unwrap(), None);
    for error in [refused(bench.judge(&bundle_id)), refused(bench.finalize(None))] {
        assert!(matches!(error, HandoffError::Missing { .. }), "{error}");
    }
}

#[test]
fn a_nominate_between_the_legs_is_noticed_by_name() {
    // While judge waited for its file.
    let bench = Bench::new();
    let old = bench.nominate(2).bundle_id;
    let leg = JudgeLeg::begin(&bench.store, false).unwrap();
    let new = bench.nominate(2).bundle_id;
    let error = refused(leg.finish(judgments(&old).as_bytes()));
    let HandoffError::Superseded { bundle_id, by } = &error else { panic!("{error}") };
    assert_eq!((bundle_id, by.as_ref()), (&old, Some(&new)));

    // Between judge and report.
    let old = new;
    bench.judge(&old).unwrap();
    let new = bench.nominate(2).bundle_id;
    let error = refused(bench.report(&old, "r"));
    assert!(matches!(&error, HandoffError::Mismatch { superseded: true, .. }), "{error}");
    bench.judge(&new).unwrap();
    let error = refused(bench.report(&old, "r"));
    assert!(matches!(&error, HandoffError::Mismatch { superseded: true, .. }), "{error}");
    assert_eq!(error.category(), "superseded");

    // Between report and finalize.
    let old = new;
    bench.report(&old, "r").unwrap();
    let leg = FinalizeLeg::begin(&bench.store, false).unwrap();
    let new = bench.nominate(2).bundle_id;
    let error = refused(leg.finish(Some(angles(&old).as_bytes())));
    assert!(matches!(&error, HandoffError::PendingSuperseded { bundle_id } if *bundle_id == old), "{error}");
    assert!(matches!(refused(bench.finalize(None)), HandoffError::Missing { record: Record::PendingReport }));
    bench.judge(&new).unwrap();
    assert!(matches!(refused(bench.finalize(None)), HandoffError::Missing { record: Record::PendingReport }));
    assert!(topics(&bench.store).unwrap().is_empty());
}

#[test]
fn two_sweeps_at_once_leave_one_current_round() {
    let bench = Bench::new();
    let path = bench.folder.path().join("legbook.db");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let store = open(&path, &bench.clock);
                nominate(&store, &pool(3), false).unwrap().unwrap();
            });
        }
    });
    let plain = Connection::open(&path).unwrap();
    let count = |sql: &str| plain.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM rounds"), 8);
    assert_eq!(count("SELECT count(*) FROM rounds WHERE superseded_at IS NULL"), 1);
    assert_eq!(count("SELECT count(*) FROM nominations"), 24);
}

#[test]
fn a_report_needs_judgments_and_a_new_judge_ends_it() {
    let bench = Bench::new();
    let bundle_id = bench.nominate(2).bundle_id;
    assert!(matches!(refused(bench.report(&bundle_id, "r")), HandoffError::Unjudged { .. }));
    bench.judge(&bundle_id).unwrap();
    bench.report(&bundle_id, "r").unwrap();
    let leg = FinalizeLeg::begin(&bench.store, false).unwrap();
    bench.judge(&bundle_id).unwrap();
    assert!(matches!(refused(leg.finish(None)), HandoffError::PendingSuperseded { .. }));
    assert!(matches!(refused(bench.finalize(None)), HandoffError::Missing { .. }));
}

#[test]
fn nothing_solid_ends_a_pending_report_and_stores_none() {
    let bench = Bench::new();
    let bundle_id = bench.reported();
    let leg = ReportLeg::begin(&bench.store, false).unwrap();
    let error = refused(leg.nothing_solid("aaaaaaaaaaaaaaaa"));
    assert!(matches!(error, HandoffError::NotCurrent { .. }), "{error}");
    assert!(leg.nothing_solid(&bundle_id).unwrap().pending.is_none());
    assert!(matches!(refused(bench.finalize(None)), HandoffError::Missing { .. }));
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::NextSweep);
}

#[test]
fn mock_and_real_legs_do_not_mix() {
    let bench = Bench::new();
    for born_mock in [false, true] {
        nominate(&bench.store, &pool(2), born_mock).unwrap();
        let parity = |error: HandoffError| {
            assert!(
                matches!(error, HandoffError::MockParity { stored, .. } if stored == born_mock),
                "{error}"
            );
        };
        parity(refused(JudgeLeg::begin(&bench.store, !born_mock)));
        parity(refused(ReportLeg::begin(&bench.store, !born_mock)));
        let leg = JudgeLeg::begin(&bench.store, born_mock).unwrap();
        leg.finish(judgments(leg.bundle_id()).as_bytes()).unwrap();
        let report_leg = ReportLeg::begin(&bench.store, born_mock).unwrap();
        report_leg.finish(report(leg.bundle_id(), "r").as_bytes()).unwrap();
        parity(refused(FinalizeLeg::begin(&bench.store, !born_mock)));
        FinalizeLeg::begin(&bench.store, born_mock).unwrap().finish(None).unwrap();
        let surfaced = topics(&bench.store).unwrap().iter().map(|topic| topic.surface_count).sum::<i64>();
        assert_eq!(surfaced, 3, "a mock leg writes no queue");
    }
}
