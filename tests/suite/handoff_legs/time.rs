//! How long a round lives: ages to the microsecond, stamps ahead of the clock, a clock that goes back.

use super::*;

#[test]
fn a_bundle_is_fresh_for_an_hour_and_not_a_microsecond_longer() {
    for (micros, fresh) in [
        (3_599_000_000, true),
        (3_600_000_000, true),
        (3_600_000_001, false),
        (3_601_000_000, false),
        (-299_000_000, true),
        (-300_000_000, true),
        (-301_000_000, false),
    ] {
        let bench = Bench::new();
        let bundle_id = bench.nominate(1).bundle_id;
        bench.turn(TimeDelta::microseconds(micros));
        let outcome = bench.judge(&bundle_id);
        match (fresh, micros > 0) {
            (true, _) => drop(outcome.unwrap()),
            (false, true) => assert!(matches!(
                refused(outcome),
                HandoffError::Stale { record: Record::Bundle, age: 3_601, limit: 3_600, .. }
            )),
            (false, false) => {
                assert!(matches!(refused(outcome), HandoffError::FromTheFuture { ahead: 301, .. }));
            }
        }
    }
}

#[test]
fn a_pending_report_has_a_clock_of_its_own() {
    let bench = Bench::new();
    let bundle_id = bench.nominate(2).bundle_id;
    bench.judge(&bundle_id).unwrap();
    // The engine's work between the legs may be long: the bundle is stale by now, and the report is taken.
    bench.clock.advance(7_000);
    bench.report(&bundle_id, "run-a").unwrap();
    bench.clock.advance(3_600);
    bench.finalize(None).unwrap();
    bench.clock.advance(1);
    let error = refused(bench.finalize(None));
    assert!(matches!(error, HandoffError::Stale { record: Record::PendingReport, .. }), "{error}");
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::Sweep);
}

#[test]
fn a_stale_pending_report_beside_a_fresh_bundle_awaits_judgments() {
    let bench = Bench::new();
    bench.reported();
    bench.tamper("UPDATE pending_reports SET expired_at = 'now'");
    assert_eq!(status(&bench.store).unwrap().unwrap().awaits, Awaits::Judgments);
}

#[test]
fn a_clock_that_goes_back_makes_nothing_fresh_again() {
    let bench = Bench::new();
    let bundle_id = bench.nominate(1).bundle_id;
    bench.clock.advance(7_800);
    assert!(matches!(refused(bench.judge(&bundle_id)), HandoffError::Stale { .. }));
    bench.clock.advance(-7_200);
    assert!(matches!(refused(bench.judge(&bundle_id)), HandoffError::Expired { .. }));

    let bundle_id = bench.nominate(2).bundle_id;
    bench.clock.advance(-7_200);
    assert!(matches!(refused(bench.judge(&bundle_id)), HandoffError::FromTheFuture { ahead: 7_200, .. }));
    // The clock is right again: what was stamped is neither lost nor eternal.
    bench.clock.advance(7_200);
    bench.judge(&bundle_id).unwrap();
    bench.report(&bundle_id, "r").unwrap();
    bench.clock.advance(3_601);
    assert!(matches!(refused(bench.finalize(None)), HandoffError::Stale { .. }));
    bench.clock.advance(-7_200);
    assert!(matches!(
        refused(bench.finalize(None)),
        HandoffError::Expired { record: Record::PendingReport, .. }
    ));
}

#[test]
fn a_stamp_without_a_zone_is_utc() {
    for (stamp, fresh) in [
        ("2026-11-30T11:30:00", true),
        ("2026-11-30T11:30:00.5", true),
        ("2026-11-30T12:30:00+01:00", true),
        ("2026-11-30T10:59:59", false),
        ("2026-11-30T11:30:00+01:00", false),
    ] {
        let bench = Bench::new();
        LegacyBundle::read(legacy(stamp, "1.0").as_bytes()).unwrap().store(&bench.store).unwrap();
        let outcome = bench.judge("feedfacefeedface");
        assert_eq!(outcome.is_ok(), fresh, "{stamp}: {outcome:?}");
    }
}
