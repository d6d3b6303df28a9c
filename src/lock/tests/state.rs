//! The five states.

use super::*;

#[test]
fn each_state_is_told_by_its_word() {
    let scene = Scene::new();
    assert_eq!((scene.word("one"), scene.word("two")), ("absent", "absent"));
    scene.token("/w", "one", OWNER);
    assert_eq!((scene.word("one"), scene.word("two")), ("live", "live"));
    scene.kill(OWNER);
    assert_eq!((scene.word("one"), scene.word("two")), ("stale", "foreign"));
    scene.damage("pid = 0");
    assert_eq!((scene.word("one"), scene.word("two")), ("invalid", "invalid"));
}

#[test]
fn a_live_owner_of_another_run_is_not_taken_for_ones_own() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    assert!(scene.state("/w", "one").is_live_owner_of(&id("one")));
    assert!(!scene.state("/w", "two").is_live_owner_of(&id("two")));
}

#[test]
fn a_run_is_found_by_its_own_lock_wherever_its_workspace_is_looked_for() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    scene.token("/moved", "two", OTHER);
    scene.kill(OWNER);
    let state = scene.state("/moved", "one");
    assert_eq!((state.word(), state.lock().unwrap().workspace.as_path()), ("stale", Path::new("/w")));
    assert_eq!(scene.state("/w", "two").lock().unwrap().workspace, Path::new("/moved"));
    assert_eq!(state::state(&scene.store, None, &id("one")).unwrap().word(), "stale");
    assert_eq!(state::state(&scene.store, None, &id("three")).unwrap().word(), "absent");
}

#[test]
fn an_owner_that_may_live_is_live_and_the_reason_is_said() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    scene.move_to(|here| here.machine_id = Some("machine-2".to_owned()));
    let state = scene.state("/w", "one");
    assert_eq!(
        (state.word(), state.why()),
        ("live", Some("whether it lives cannot be judged: it ran on another machine"))
    );
}

#[test]
fn the_recovery_of_a_stale_lock_is_told() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    scene.kill(OWNER);
    scene.claim("one", OTHER).unwrap();
    assert_eq!(scene.state("/w", "one").why(), Some("its process has ended; pid 200 is recovering it"));
    scene.kill(OTHER);
    assert_eq!(
        scene.state("/w", "two").why(),
        Some("its process has ended; pid 200, which was recovering it, is dead too")
    );
}

#[test]
fn asking_for_the_state_changes_nothing() {
    let scene = Scene::new();
    scene.leased("/w", "one", OWNER, Some(Duration::from_secs(1)));
    scene.kill(OWNER);
    scene.set_clock(TimeDelta::hours(1));
    let before = scene.rows();
    assert_eq!(scene.word("one"), "stale");
    assert_eq!(scene.rows(), before);
}

/// Whatever stands in a row, the state is told and nothing that needs the owner goes on.
#[test]
fn a_row_that_no_owner_wrote_is_invalid_for_the_state_and_for_every_caller() {
    for damage in [
        "pid = 0",
        "pid = -1",
        "pid = NULL",
        "pid = 4294967296",
        "acquired_at = 'yesterday'",
        "last_write_at = ''",
        "last_write_at = '2026-13-01T00:00:00Z'",
        "run_id = 'two two'",
        "token_sha256 = 'short'",
        "host_name = CAST(x'ff' AS TEXT)",
        "boot_id = CAST(x'c328' AS TEXT)",
        "workspace = CAST(x'2f77ff' AS TEXT)",
        "lease_seconds = 0",
        "lease_seconds = 9223372036854775807",
        "lease_seconds = 31622401",
        "claim_id = 'c'",
        "claim_id = 'c', claimed_at = '2026-01-02T03:04:05Z', claim_pid = -7",
    ] {
        let scene = Scene::new();
        let token = scene.token("/w", "one", OWNER);
        scene.damage(damage);
        // Two of them take the row out of sight of one of the two questions.
        let run = if damage.starts_with("run_id") { "two" } else { "one" };
        if !damage.starts_with("workspace") {
            let error = refused(scene.take("/w", "two", OTHER, None));
            assert!(matches!(error, LockError::Unreadable { .. }), "{damage}: {error}");
        }
        let state = scene.state("/w", run);
        assert_eq!(state.word(), "invalid", "{damage}");
        assert!(state.lock().is_none() && state.why().is_some_and(|why| why.len() <= 240), "{damage}");
        if run == "one" {
            assert!(
                matches!(refused(scene.hold("one", Some(&token))), LockError::Unreadable { .. }),
                "{damage}"
            );
            assert!(matches!(refused(scene.claim("one", OTHER)), LockError::Unreadable { .. }), "{damage}");
        }
    }
}
