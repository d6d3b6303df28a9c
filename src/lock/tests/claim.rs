//! Recovery's claims.

use super::*;

const RECOVERER: u32 = 300;
const RIVAL: u32 = 400;

/// A scene in which the owner of run one is dead and two recoverers run; with the owner's token.
fn stale() -> (Scene, OwnerToken) {
    let scene = Scene::new();
    let token = scene.token("/w", "one", OWNER);
    scene.kill(OWNER);
    scene.start(RECOVERER);
    scene.start(RIVAL);
    (scene, token)
}

#[test]
fn while_a_claim_stands_the_token_opens_nothing() {
    let (scene, token) = stale();
    let before = scene.rows();
    let claim = scene.claim("one", RECOVERER).unwrap();
    assert_eq!(claim.lock().owner.pid, OWNER);
    let error = refused(scene.hold("one", Some(&token)));
    assert!(matches!(&error, LockError::Claimed { claimer } if claimer.pid == RECOVERER), "{error}");
    assert!(matches!(refused(scene.release("one", &token)), LockError::Claimed { .. }));
    assert!(matches!(refused(scene.take("/w", "two", OTHER, None)), LockError::Claimed { .. }));
    assert!(matches!(refused(scene.claim("one", RIVAL)), LockError::Claimed { .. }));
    assert!(scene.stands(&claim));

    assert!(scene.store.write(|transaction| unclaim(transaction, &claim)).unwrap());
    assert_eq!(scene.rows(), before);
    assert!(!scene.stands(&claim));
    scene.write("one", &token, OTHER);
}

#[test]
fn a_claim_by_the_one_who_shows_no_token_of_the_lock_is_not_told() {
    let (scene, _) = stale();
    scene.claim("one", RECOVERER).unwrap();
    let forged = OwnerToken::parse(&"a".repeat(64)).unwrap();
    assert!(matches!(refused(scene.hold("one", Some(&forged))), LockError::UnknownToken { .. }));
}

#[test]
fn a_live_owners_lock_is_not_claimed() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    let before = scene.rows();
    assert!(matches!(refused(scene.claim("one", OTHER)), LockError::Held { .. }));
    // The operator's word is worth nothing against a process that is seen to run.
    let judge = Judge { owner_is_dead: true, ..scene.judge() };
    assert!(matches!(refused(scene.claim_by(&judge, "one", OTHER)), LockError::Held { .. }));
    assert!(matches!(refused(scene.claim("two", OTHER)), LockError::NotLocked { .. }));
    assert_eq!(scene.rows(), before);
}

#[test]
fn a_dead_recoverers_claim_is_taken_over_and_its_own_hand_is_gone() {
    let (scene, _) = stale();
    let first = scene.claim("one", RECOVERER).unwrap();
    scene.kill(RECOVERER);
    let second = scene.claim("one", RIVAL).unwrap();
    assert!(!scene.stands(&first) && scene.stands(&second));

    // The first was only stopped, in a namespace of its own perhaps, and goes on.
    assert!(!scene.store.write(|transaction| unclaim(transaction, &first)).unwrap());
    assert!(!scene.store.write(|transaction| remove_claimed(transaction, &first)).unwrap());
    assert!(scene.stands(&second));
    assert!(scene.store.write(|transaction| remove_claimed(transaction, &second)).unwrap());
    assert!(scene.rows().is_empty());
}

#[test]
fn a_dead_claim_does_not_hide_a_dead_owner_from_a_taker() {
    let (scene, _) = stale();
    scene.claim("one", RECOVERER).unwrap();
    scene.kill(RECOVERER);
    match scene.take("/w", "two", OTHER, None).unwrap() {
        Taken::DeadOwner(lock) => assert_eq!(lock.claim.unwrap().identity.pid, RECOVERER),
        Taken::Token(_) => panic!("stolen"),
    }
}

#[test]
fn the_operators_word_ends_an_owner_and_a_recovery_that_cannot_be_judged() {
    let (scene, _) = stale();
    scene.claim("one", RECOVERER).unwrap();
    scene.kill(RECOVERER);
    scene.move_to(|here| here.machine_id = Some("machine-2".to_owned()));
    assert!(matches!(refused(scene.claim("one", RIVAL)), LockError::Claimed { .. }));
    let judge = Judge { owner_is_dead: true, ..scene.judge() };
    let claim = scene.claim_by(&judge, "one", RIVAL).unwrap();
    assert!(scene.stands(&claim));
}

#[test]
fn the_operators_word_is_refused_while_a_process_that_may_be_meant_is_visible() {
    let scene = Scene::new();
    scene.token("/w", "one", OWNER);
    // Its start time was not recorded, so that nothing tells whether the process that has the pid is the owner.
    scene.damage("start_time = NULL");
    let judge = Judge { owner_is_dead: true, ..scene.judge() };
    assert!(matches!(refused(scene.claim_by(&judge, "one", OTHER)), LockError::OwnerVisible { .. }));
    assert_eq!(scene.word("one"), "live");
    scene.kill(OWNER);
    scene.claim_by(&judge, "one", OTHER).unwrap();
}

#[test]
fn the_operators_word_does_not_end_a_lease() {
    let scene = Scene::new();
    scene.leased("/w", "one", OWNER, Some(Duration::from_secs(60)));
    scene.move_to(|here| here.pid_namespace = Some("pid:[2]".to_owned()));
    scene.kill(OWNER);
    let judge = Judge { owner_is_dead: true, ..scene.judge() };
    assert!(matches!(refused(scene.claim_by(&judge, "one", OTHER)), LockError::Held { .. }));
    scene.set_clock(TimeDelta::seconds(60));
    let judge = Judge { owner_is_dead: true, ..scene.judge() };
    scene.claim_by(&judge, "one", OTHER).unwrap();
}

#[test]
fn of_sixteen_recoverers_at_once_one_claims() {
    let (scene, _) = stale();
    let gate = std::sync::Barrier::new(16);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let recoverers: Vec<_> = (0..16)
            .map(|_| {
                let (scene, gate) = (&scene, &gate);
                scope.spawn(move || {
                    let store = scene.open();
                    let claimer = Identity::of(RECOVERER, &*scene.world);
                    gate.wait();
                    store.write(|transaction| {
                        claim(transaction, &*scene.world, &Judge::new(&store), &id("one"), &claimer)
                    })
                })
            })
            .collect();
        recoverers.into_iter().map(|recoverer| recoverer.join().unwrap()).collect()
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.is_ok());
    assert_eq!(won.len(), 1);
    assert!(lost.into_iter().all(|answer| matches!(refused(answer), LockError::Claimed { .. })));
}

#[test]
fn only_a_dead_lock_is_cleared_from_a_run_that_has_ended() {
    let scene = Scene::new();
    let clear = |scene: &Scene| {
        scene.store.write(|transaction| clear_dead(transaction, &scene.judge(), &id("one"))).unwrap()
    };
    assert!(!clear(&scene));
    scene.token("/w", "one", OWNER);
    assert!(!clear(&scene));
    scene.kill(OWNER);
    scene.start(RECOVERER);
    scene.claim("one", RECOVERER).unwrap();
    assert!(!clear(&scene));
    scene.kill(RECOVERER);
    assert!(clear(&scene));
    assert!(scene.rows().is_empty());

    scene.token("/w", "one", OTHER);
    scene.damage("pid = 0");
    assert!(!clear(&scene));
}
