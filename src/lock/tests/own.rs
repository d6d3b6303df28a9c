//! Taking, proving, keeping and letting go.

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_second_run_of_a_locked_workspace_is_told_who_has_it() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    for run in ["one", "two"] {
        let error = refused(scene.take("/w", run, OTHER, None));
        assert_eq!(
            error.to_string(),
            "the workspace is locked by run one (pid 100 on host-1 since 2026-01-02T03:04:05+00:00): \
             its process is running"
        );
        assert!(matches!(error, LockError::Held { .. }));
    }
    scene.token("/elsewhere", "two", OTHER);
}

#[test]
fn of_sixteen_who_take_a_lock_at_once_one_gets_it_and_the_others_are_told_by_whom() {
    let scene = Scene::new();
    for number in 0..16 {
        scene.sql(&format!("INSERT INTO runs (run_id, created_at) VALUES ('run-{number}', 'now')"));
    }
    let gate = std::sync::Barrier::new(16);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..16)
            .map(|number| {
                let (scene, gate) = (&scene, &gate);
                scope.spawn(move || {
                    // A store of its own, as another process has it.
                    let store = scene.open();
                    let owner = Identity::of(OWNER, &*scene.world);
                    let request = Request {
                        workspace: Path::new("/w"),
                        run_id: &id(&format!("run-{number}")),
                        owner: &owner,
                        token: None,
                        lease: None,
                    };
                    gate.wait();
                    store.write(|transaction| take(transaction, &*scene.world, &Judge::new(&store), &request))
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.is_ok());
    assert!(matches!(won.as_slice(), [Ok(Taken::Token(_))]), "{won:?}");
    for answer in lost {
        assert!(matches!(refused(answer), LockError::Held { owner, .. } if owner.pid == OWNER));
    }
    assert_eq!(scene.rows().len(), 1);
}

#[test]
fn the_lock_of_a_dead_owner_is_shown_to_the_taker_and_left_as_it_was() {
    let dead: [fn(&Scene); 3] = [
        |scene| scene.kill(OWNER),
        // The pid is another process's now.
        |scene| scene.start(OWNER),
        |scene| scene.move_to(|here| here.boot_id = Some("boot-2".to_owned())),
    ];
    for die in dead {
        let scene = Scene::new();
        scene.token("/w", "one", OWNER);
        let before = scene.rows();
        die(&scene);
        match scene.take("/w", "two", OTHER, None).unwrap() {
            Taken::DeadOwner(lock) => {
                assert_eq!((lock.run_id.as_str(), lock.owner.pid), ("one", OWNER));
                assert_eq!(lock.acquired_at, "2026-01-02T03:04:05+00:00");
            }
            Taken::Token(_) => panic!("stolen"),
        }
        assert_eq!(scene.rows(), before);
    }
}

#[test]
fn an_owner_that_cannot_be_judged_from_here_is_never_robbed() {
    let elsewhere: [fn(&mut Identity); 2] = [
        |here| here.machine_id = Some("machine-2".to_owned()),
        |here| here.pid_namespace = Some("pid:[2]".to_owned()),
    ];
    for go in elsewhere {
        let scene = Scene::new();
        scene.token("/w", "one", OWNER);
        scene.move_to(go);
        scene.kill(OWNER);
        let error = refused(scene.take("/w", "two", OTHER, None));
        assert!(matches!(error, LockError::OwnerUnknown { .. }), "{error}");
        assert!(error.to_string().contains("pid 100 on host-1") && error.to_string().contains("it may live"));
    }
}

#[test]
fn a_run_that_has_a_lock_gets_no_second_one() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    assert!(matches!(
        refused(scene.take("/elsewhere", "one", OWNER, None)),
        LockError::LockedElsewhere { .. }
    ));
}

#[test]
fn a_pid_that_nobody_has_owns_nothing() {
    let scene = Scene::new();
    scene.kill(OWNER);
    assert!(matches!(
        refused(scene.take("/w", "one", OWNER, None)),
        LockError::OwnerNotRunning { pid: OWNER }
    ));
    assert!(scene.rows().is_empty());
}

#[test]
fn a_write_is_proved_by_the_token_of_that_very_lock() {
    let scene = Scene::new();
    let one = scene.token("/w", "one", OWNER);
    assert!(matches!(refused(scene.hold("two", Some(&one))), LockError::NotLocked { .. }));
    let two = scene.token("/v", "two", OWNER);

    assert_eq!(scene.hold("one", Some(&one)).unwrap().0.run_id, id("one"));
    // As it comes back from its owner.
    let spoken = OwnerToken::parse(two.expose()).unwrap();
    assert_eq!(scene.hold("two", Some(&spoken)).unwrap().0.workspace, Path::new("/v"));

    assert!(matches!(refused(scene.hold("one", None)), LockError::NoToken { .. }));
    assert!(matches!(
        refused(scene.hold("one", Some(&two))),
        LockError::TokenOfAnotherRun { run_id, holder } if run_id == id("one") && holder == id("two")
    ));
    let forged = OwnerToken::parse(&"a".repeat(64)).unwrap();
    assert!(matches!(refused(scene.hold("one", Some(&forged))), LockError::UnknownToken { .. }));
    // What the store keeps of a token is none.
    let digest = OwnerToken::parse(&one.digest().to_hex()).unwrap();
    assert!(matches!(refused(scene.hold("one", Some(&digest))), LockError::UnknownToken { .. }));
}

#[test]
fn a_dead_owners_token_still_proves_a_write() {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    scene.kill(OWNER);
    scene.hold("one", Some(&token)).unwrap();
}

#[test]
fn a_lock_that_was_let_go_is_free_and_its_token_is_worth_nothing() {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    scene.release("one", &token).unwrap();
    assert!(scene.rows().is_empty());
    assert!(matches!(refused(scene.hold("one", Some(&token))), LockError::NotLocked { .. }));
    let next = scene.token("/w", "one", OWNER);
    assert!(matches!(refused(scene.release("one", &token)), LockError::UnknownToken { .. }));
    scene.hold("one", Some(&next)).unwrap();
}

#[test]
fn a_write_rehomes_a_lock_whose_owner_is_dead_and_no_other() {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    scene.write("one", &token, OTHER);
    assert_eq!(scene.owner().pid, OWNER);

    scene.kill(OWNER);
    scene.write("one", &token, OTHER);
    assert_eq!(scene.owner(), Identity::of(OTHER, &*scene.world));
    assert_eq!(scene.word("one"), "live");

    // The pid is given to another process, and that one writes.
    scene.start(OTHER);
    assert_eq!(scene.word("one"), "stale");
    scene.write("one", &token, OTHER);
    assert_eq!(scene.word("one"), "live");
}

#[test]
fn a_lock_is_not_rehomed_from_where_its_owner_cannot_be_judged() {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    let before = scene.owner();
    scene.move_to(|here| here.pid_namespace = Some("pid:[2]".to_owned()));
    scene.write("one", &token, OTHER);
    assert_eq!(scene.owner(), before);
}

#[test]
fn a_pid_that_nobody_has_inherits_nothing() {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    scene.kill(OWNER);
    scene.kill(OTHER);
    scene.write("one", &token, OTHER);
    assert_eq!(scene.owner().pid, OWNER);
    scene.start(OTHER);
    assert_eq!(scene.word("one"), "stale");
}

#[test]
fn a_lease_keeps_a_lock_live_without_any_process_to_its_last_moment_and_not_longer() {
    let scene = Scene::new();
    scene.leased("/w", "one", OWNER, Some(HOUR));
    scene.kill(OWNER);
    assert_eq!(scene.word("one"), "live");
    assert_eq!(scene.state("/w", "one").why(), Some("its lease holds until 2026-01-02T04:04:05Z"));
    assert!(matches!(refused(scene.take("/w", "two", OTHER, None)), LockError::Held { .. }));
    assert!(matches!(refused(scene.claim("one", OTHER)), LockError::Held { .. }));

    scene.set_clock(TimeDelta::hours(1) - TimeDelta::microseconds(1));
    assert_eq!(scene.word("one"), "live");
    scene.set_clock(TimeDelta::microseconds(1));
    assert_eq!(scene.word("one"), "stale");
    assert_eq!(
        scene.state("/w", "one").why(),
        Some("its process has ended, and its lease did at 2026-01-02T04:04:05Z")
    );
    assert!(matches!(scene.take("/w", "two", OTHER, None).unwrap(), Taken::DeadOwner(_)));
}

#[test]
fn a_write_begins_the_lease_anew() {
    let scene = Scene::new();
    let token = scene.leased("/w", "one", OWNER, Some(HOUR));
    scene.set_clock(TimeDelta::minutes(50));
    scene.write("one", &token, OWNER);
    scene.kill(OWNER);
    scene.set_clock(TimeDelta::minutes(59));
    assert_eq!(scene.word("one"), "live");
    scene.set_clock(TimeDelta::minutes(1));
    assert_eq!(scene.word("one"), "stale");
    // Late, but the token is its lock's and nobody has claimed that.
    scene.write("one", &token, OTHER);
    assert_eq!(scene.word("one"), "live");
}

#[test]
fn a_clock_set_back_does_not_lengthen_a_lease() {
    let scene = Scene::new();
    let token = scene.leased("/w", "one", OWNER, Some(HOUR));
    scene.kill(OWNER);
    scene.set_clock(TimeDelta::microseconds(-1));
    assert_eq!(scene.word("one"), "stale");
    scene.write("one", &token, 99);
    assert_eq!(scene.word("one"), "live");
}

#[test]
fn an_owner_that_runs_needs_no_lease() {
    let scene = Scene::new();
    scene.leased("/w", "one", OWNER, Some(HOUR));
    scene.set_clock(TimeDelta::days(400));
    assert_eq!(scene.word("one"), "live");
}

#[test]
fn a_lease_is_whole_seconds_and_at_most_366_days() {
    let scene = Scene::new();
    for lease in [Duration::ZERO, Duration::from_millis(999), Duration::MAX, Duration::from_secs(31_622_401)]
    {
        let error = refused(scene.take("/w", "one", OWNER, Some(lease)));
        assert!(matches!(error, LockError::Lease { .. }), "{lease:?}: {error}");
    }
    scene.leased("/w", "one", OWNER, Some(Duration::from_millis(1_999)));
    scene.kill(OWNER);
    scene.set_clock(TimeDelta::seconds(1));
    assert_eq!(scene.word("one"), "stale");
}

#[test]
fn a_token_is_nowhere_in_the_store_and_in_no_debug_output() {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    let other = scene.token("/v", "two", OWNER);
    scene.write("one", &token, OTHER);
    let said = [
        format!("{token:?}"),
        format!("{:?}", Taken::Token(token.clone())),
        format!("{:?}", scene.hold("one", Some(&token)).unwrap()),
        format!("{:?}", scene.state("/w", "one")),
        format!("{0:?} {0}", refused(scene.hold("one", Some(&other)))),
        format!("{0:?} {0}", refused(scene.take("/w", "two", OTHER, None))),
    ];
    for text in said {
        assert!(!text.contains(token.expose()) && !text.contains(other.expose()), "{text}");
    }
    // Distinguishable in the test's own random bytes, which are mostly zeros.
    assert!(token.expose().ends_with(|last: char| last != '0'));
    let mut files = 0;
    for entry in std::fs::read_dir(scene.folder.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        assert!(!holds(token.expose().as_bytes()));
        files += usize::from(holds(token.digest().to_hex().as_bytes()));
    }
    assert!(files > 0, "the digest is in the store's files, so that the search is one");
}

#[test]
fn a_message_stays_short_and_printable_whatever_the_row_holds() {
    let scene = Scene::new();
    let long = "r".repeat(128);
    scene.sql(&format!("INSERT INTO runs (run_id, created_at) VALUES ('{long}', 'now')"));
    scene.token("/w", &long, OWNER);
    scene.damage("host_name = char(27) || '[2J' || printf('%.300c', 'h')");
    scene.move_to(|here| here.machine_id = Some("machine-2".to_owned()));
    let message = refused(scene.take("/w", "two", OTHER, None)).to_string();
    assert_eq!(message.chars().count(), crate::error::MAX_DIAGNOSTIC);
    assert!(message.contains(&long) && !message.contains('\u{1b}'), "{message}");
}
