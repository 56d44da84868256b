//! A version that fails from its first calls on is rolled back, and that outlasts a restart.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, time::Duration};

use plimsoll_core::PolicyState;
use plimsoll_directory::{ChangeKind, DirectoryConfig, PolicyChange};

use crate::{
    fake::good,
    starting::{filter, filter_about, prioritize_about},
    world::{Watched, World, digest_of, member, tag, wait_until},
};

/// A change that somebody makes to a file, whose bytes were these.
type Damage = fn(&Path, &[u8]);

/// A world with version v1 of `x`, and a directory for its last good versions.
fn world_with_v1() -> (World, tempfile::TempDir) {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    (world, tempfile::tempdir().unwrap())
}

/// A world whose last good versions are kept in this directory.
fn start(world: &World, last_good: &Path) -> Watched {
    world.start(DirectoryConfig { last_good: Some(last_good.to_owned()), ..world.config() })
}

/// Loads version v1 of `x`, then this one, and has it asked until its circuit opens.
fn replace_by(world: &World, watched: &mut Watched, version: &str) {
    watched.wait_for_tag("x", "v1");
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
    replace(world, watched, version);
}

/// Loads this version of `x`, and has it asked until its circuit opens.
fn replace(world: &World, watched: &mut Watched, version: &str) {
    let before = member(&watched.roster, "x").unwrap().version;
    world.put("x.wasm", &good(version));
    watched.wait_for("the new version", |roster| member(roster, "x").unwrap().version > before);
    ask_five_times(watched);
}

/// Asks about two pods.
fn ask_five_times(watched: &Watched) {
    for uid in ["u", "u", "u", "u", "v"] {
        assert!(filter_about(&watched.roster, "a", uid).is_err());
    }
}

fn wait_for_rollback(watched: &mut Watched) {
    watched.wait_for("the version before", |roster| roster.state("x") == PolicyState::RolledBack);
    assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v1"));
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
}

#[test]
fn a_version_that_fails_every_call_is_rolled_back_and_not_tried_again() {
    let (world, beside) = world_with_v1();
    let mut watched = start(&world, &beside.path().join("last-good"));
    replace_by(&world, &mut watched, "fails");
    wait_for_rollback(&mut watched);
    let error = "its first calls of filter all failed (trap: unreachable)".to_owned();
    let kind = ChangeKind::RolledBack { version: 2, back: 1, digest: digest_of("v1"), error };
    assert!(watched.changes.contains(&PolicyChange { id: "x".to_owned(), kind }));
    let [failure] = watched.roster.failures() else { panic!("{:?}", watched.roster.failures()) };
    assert!(failure.kept && failure.error.ends_with("; the last good version is in force"), "{failure:?}");
    world.put("x.wasm", &good("fails"));
    world.write("y.wasm", &good("a"));
    watched.wait_for_tag("y", "a");
    assert_eq!(watched.roster.state("x"), PolicyState::RolledBack, "the same bytes are not tried again");
    world.put("x.wasm", &good("v2"));
    watched.wait_for_tag("x", "v2");
    assert_eq!((member(&watched.roster, "x").unwrap().version, watched.roster.failures().len()), (3, 0));
}

/// The pod may be the cause.
#[test]
fn a_version_that_fails_about_one_pod_alone_stays() {
    let (world, beside) = world_with_v1();
    let mut watched = start(&world, &beside.path().join("last-good"));
    watched.wait_for_tag("x", "v1");
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
    world.put("x.wasm", &good("fails"));
    watched.wait_for("the new version", |roster| member(roster, "x").unwrap().version == 2);
    for _ in 0..5 {
        assert!(filter(&watched.roster, "a").is_err());
    }
    for tag in ["a", "b"] {
        // The other update shows that the first calls have been looked at.
        world.put("y.wasm", &good(tag));
        watched.wait_for_tag("y", tag);
    }
    assert_eq!((watched.roster.state("x"), member(&watched.roster, "x").unwrap().version), (PolicyState::Active, 2));
    // Another pod shows that the version is the cause.
    assert!(filter_about(&watched.roster, "a", "v").is_err());
    wait_for_rollback(&mut watched);
}

/// The rule would be off: `onError` decides instead.
#[test]
fn a_version_that_enforces_is_not_rolled_back_to_one_in_shadow() {
    let (world, beside) = (World::new(), tempfile::tempdir().unwrap());
    world.write("x.wasm", &good("fails"));
    world.write("x.yaml", "mode: shadow\n");
    let mut watched = start(&world, &beside.path().join("last-good"));
    watched.wait_for("the version in shadow", |roster| {
        member(roster, "x").is_some_and(|own| *own.digest == digest_of("fails"))
    });
    world.put("x.yaml", "mode: enforce\n");
    watched.wait_for("the version that enforces", |roster| member(roster, "x").unwrap().version == 2);
    ask_five_times(&watched);
    for tag in ["a", "b"] {
        // The other update shows that the first calls have been looked at.
        world.put("y.wasm", &good(tag));
        watched.wait_for_tag("y", tag);
    }
    assert_eq!((watched.roster.state("x"), member(&watched.roster, "x").unwrap().version), (PolicyState::Active, 2));
}

/// kube-scheduler asks for scores between two filters, and a client may do so before the first one.
#[test]
fn a_filter_that_always_fails_is_rolled_back_although_the_score_works() {
    let (world, beside) = world_with_v1();
    let mut watched = start(&world, &beside.path().join("last-good"));
    watched.wait_for_tag("x", "v1");
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
    world.put("x.wasm", &good("fails-scores"));
    watched.wait_for("the new version", |roster| member(roster, "x").unwrap().version == 2);
    assert_eq!(prioritize_about(&watched.roster, "a", "u"), Ok(()));
    // The other update shows that this call has been looked at.
    world.write("y.wasm", &good("a"));
    watched.wait_for_tag("y", "a");
    for uid in ["u", "v", "w", "x", "y"] {
        assert!(filter_about(&watched.roster, "a", uid).is_err());
        assert_eq!(prioritize_about(&watched.roster, "a", uid), Ok(()));
    }
    watched.wait_for("the version before", |roster| roster.state("x") == PolicyState::RolledBack);
    assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v1"));
}

#[test]
fn a_version_that_was_rolled_back_is_not_in_force_after_a_restart() {
    let (world, beside) = world_with_v1();
    let last_good = beside.path().join("last-good");
    let mut watched = start(&world, &last_good);
    replace_by(&world, &mut watched, "fails");
    wait_for_rollback(&mut watched);
    drop(watched);
    wait_for_rollback(&mut start(&world, &last_good));
}

#[test]
fn a_version_that_has_not_answered_yet_is_rolled_back_after_a_restart_as_well() {
    let (world, beside) = world_with_v1();
    let last_good = beside.path().join("last-good");
    let mut watched = start(&world, &last_good);
    watched.wait_for_tag("x", "v1");
    world.put("x.wasm", &good("fails"));
    watched.wait_for("the new version", |roster| member(roster, "x").unwrap().version == 2);
    drop(watched);
    let mut watched = start(&world, &last_good);
    watched.wait_for("x is loaded", |roster| roster.state("x") == PolicyState::Active);
    ask_five_times(&watched);
    wait_for_rollback(&mut watched);
}

#[test]
fn a_file_that_went_bad_leaves_the_last_good_version_in_force_after_a_restart() {
    let (world, beside) = (World::new(), tempfile::tempdir().unwrap());
    let last_good = beside.path().join("last-good");
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", "match:\n  namespaces: [a]\n");
    start(&world, &last_good).wait_for_tag("x", "v1");
    let loads = world.loader.loads_of("v1");
    world.put("x.wasm", &good("never"));
    start(&world, &last_good).wait_for("the last good version", |roster| roster.state("x") == PolicyState::Kept);
    assert_eq!(world.loader.loads_of("v1"), loads + 1, "it is loaded and tried once, not for each use");
    for (name, bad) in [("x.wasm", "bad"), ("x.yaml", "mode: of")] {
        world.put(name, bad);
        let mut watched = start(&world, &last_good);
        watched.wait_for("the last good version", |roster| roster.state("x") == PolicyState::Kept);
        assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())), "{name}");
        assert_eq!(filter(&watched.roster, "b"), Ok(None), "{name}");
    }
    // A policy that is switched off stays so.
    world.put("x.yaml", "mode: off\n");
    let mut watched = start(&world, &last_good);
    watched.wait_for("x is off", |roster| roster.state("x") == PolicyState::Off);
    assert_eq!(filter(&watched.roster, "a"), Ok(None));
    // And a policy that is removed is forgotten.
    world.remove("x.wasm");
    world.remove("x.yaml");
    watched.wait_for("x is gone", |roster| member(roster, "x").is_none());
    world.write("x.wasm", "bad");
    start(&world, &last_good).wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
}

#[test]
fn nothing_is_believed_that_others_could_have_written() {
    let (world, beside) = (World::new(), tempfile::tempdir().unwrap());
    let last_good = beside.path().join("last-good");
    world.write("x.wasm", &good("v1"));
    start(&world, &last_good).wait_for_tag("x", "v1");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let kept: Vec<_> = fs::read_dir(&last_good).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((mode(&last_good), mode(file)), (0o700, 0o600));
    world.put("x.wasm", "bad");
    let bytes = fs::read(file).unwrap();
    let damage: [(&str, Damage); 2] = [
        ("a directory of others", |file, _| {
            fs::set_permissions(file.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("other bytes", |file, bytes| {
            fs::write(file, [&bytes[..bytes.len() - 4], b"tail".as_slice()].concat()).unwrap();
        }),
    ];
    for (what, damage) in damage {
        damage(file, &bytes);
        let mut watched = start(&world, &last_good);
        watched.wait_for(what, |roster| roster.state("x") == PolicyState::Failed);
        drop(watched);
        fs::set_permissions(&last_good, fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(file, &bytes).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    start(&world, &last_good).wait_for("the last good version", |roster| roster.state("x") == PolicyState::Kept);
}

#[test]
fn a_policy_that_would_fail_every_call_is_refused_before_it_is_in_force() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    let mut watched = world.start(world.config());
    watched.wait_for_tag("x", "v1");
    world.put("x.wasm", &good("never"));
    watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Kept);
    assert_eq!(
        world.failure(&watched.roster),
        "x.wasm: every call of filter would fail, as a trial did: trap: unreachable"
    );
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
    // In shadow, its faults harm nobody, and the test looks for them.
    world.put("x.yaml", "mode: shadow\n");
    watched.wait_for("it is in shadow", |roster| member(roster, "x").unwrap().version == 2);
}

#[test]
fn a_version_that_crashes_on_the_sample_is_refused_while_another_is_in_force() {
    for (tag, sidecar) in [
        ("timeout-late", "timeout: 100ms\n"),
        // A trial has one second, whatever a call has.
        ("loops", "timeout: 60s\n"),
        ("panic-late", "{}\n"),
        ("trap-late", "{}\n"),
        ("memory-late", "{}\n"),
        ("stack-late", "{}\n"),
    ] {
        let (world, beside) = world_with_v1();
        let last_good = beside.path().join("last-good");
        world.write("x.yaml", sidecar);
        let mut watched = start(&world, &last_good);
        watched.wait_for_tag("x", "v1");
        world.put("x.wasm", &good(tag));
        for run in ["before a restart", "after it"] {
            watched.wait_for(tag, |roster| roster.state("x") == PolicyState::Kept);
            assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())), "{tag}, {run}");
            let failure = world.failure(&watched.roster);
            let expected = "x.wasm: filter failed on a sample pod and node, and the version in force did not: ";
            assert!(failure.starts_with(expected), "{failure}");
            drop(watched);
            watched = start(&world, &last_good);
        }
    }
}

/// It may need a label that the sample does not have.
#[test]
fn a_version_that_crashes_on_the_sample_as_the_one_in_force_does_comes_into_force() {
    let world = World::new();
    world.write("x.wasm", &good("panic-a"));
    let mut watched = world.start(world.config());
    for (version, tag) in [(1, "panic-a"), (2, "panic-b")] {
        world.put("x.wasm", &good(tag));
        watched.wait_for(tag, |roster| member(roster, "x").unwrap().version == version);
    }
}

#[test]
fn a_trial_takes_a_second_at_most_and_one_that_had_less_time_than_calls_have_refuses_nothing() {
    let world = World::new();
    world.write("x.wasm", &good("loops"));
    world.write("x.yaml", "timeout: 60s\n");
    let mut watched = world.start(world.config());
    watched.wait_for("a policy in force", |roster| {
        roster.state("x") == PolicyState::Active && roster.members().count() == 1
    });
    let times = std::mem::take(&mut *world.loader.times.lock().unwrap());
    assert!(matches!(times[..], [time] if time <= Duration::from_secs(1)), "{times:?}");
    world.put("x.yaml", "timeout: 100ms\n");
    watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Kept);
    assert_eq!(
        world.failure(&watched.roster),
        "x.wasm: every call of filter would fail, as a trial did: timeout: too slow"
    );
}

#[test]
fn a_slow_verb_does_not_spare_the_others_their_trials() {
    let world = World::new();
    world.write("x.wasm", &good("slow"));
    world.write("x.yaml", "timeout: 2s\n");
    let mut watched = world.start(world.config());
    watched.wait_for("a policy in force", |roster| roster.state("x") == PolicyState::Active);
    world.put("x.wasm", &good("slow-and-bad"));
    watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Kept);
    let expected = "x.wasm: every call of score would fail, as a trial did: trap: unreachable";
    assert_eq!(world.failure(&watched.roster), expected);
}

#[test]
fn of_three_versions_in_quick_succession_the_one_that_answered_comes_back() {
    let (world, beside) = (World::new(), tempfile::tempdir().unwrap());
    let last_good = beside.path().join("last-good");
    world.write("x.wasm", &good("v1"));
    let mut watched = start(&world, &last_good);
    watched.wait_for_tag("x", "v1");
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
    world.put("x.wasm", &good("v2"));
    watched.wait_for_tag("x", "v2");
    world.loader.hold("fails");
    world.put("x.wasm", &good("fails"));
    wait_until(|| world.loader.loads_of("fails") == 1);
    // The second answers just before the third comes into force.
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v2".to_owned())));
    world.loader.let_go("fails");
    watched.wait_for("the third version", |roster| member(roster, "x").unwrap().version == 3);
    ask_five_times(&watched);
    for run in ["before a restart", "after it"] {
        watched.wait_for(run, |roster| roster.state("x") == PolicyState::RolledBack);
        assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v2"), "{run}");
        drop(watched);
        watched = start(&world, &last_good);
    }
}

#[test]
fn a_version_that_was_loading_while_the_one_before_was_rolled_back_comes_into_force() {
    let (world, beside) = world_with_v1();
    let mut watched = start(&world, &beside.path().join("last-good"));
    watched.wait_for_tag("x", "v1");
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
    world.put("x.wasm", &good("fails"));
    watched.wait_for("the new version", |roster| member(roster, "x").unwrap().version == 2);
    world.loader.hold("v2");
    world.put("x.wasm", &good("v2"));
    wait_until(|| world.loader.loads_of("v2") == 1);
    ask_five_times(&watched);
    wait_for_rollback(&mut watched);
    world.loader.let_go("v2");
    watched.wait_for_tag("x", "v2");
    assert_eq!((watched.roster.state("x"), watched.roster.failures().len()), (PolicyState::Active, 0));
}

#[test]
fn a_policy_that_is_removed_while_it_is_loaded_is_not_kept() {
    let (world, beside) = (World::new(), tempfile::tempdir().unwrap());
    let last_good = beside.path().join("last-good");
    let mut watched = start(&world, &last_good);
    world.loader.hold("v1");
    world.put("x.wasm", &good("v1"));
    wait_until(|| world.loader.loads_of("v1") == 1);
    world.remove("x.wasm");
    world.put("y.wasm", &good("a"));
    watched.wait_for_tag("y", "a");
    world.loader.let_go("v1");
    world.put("z.wasm", &good("b"));
    watched.wait_for_tag("z", "b");
    wait_until(|| fs::read_dir(&last_good).unwrap().count() == 2);
    drop(watched);
    world.put("x.wasm", "bad");
    start(&world, &last_good).wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
}

/// A key that is lost from a ConfigMap must not enforce a policy in shadow mode for every pod.
#[test]
fn a_policy_that_loses_its_sidecar_keeps_it_until_the_files_say_what_is_meant() {
    let sidecars = ["mode: shadow\n", "match:\n  namespaces: [a]\n", "onError: ignore\norder: 7\n", "{}\n"];
    let told = "x.yaml: the sidecar is missing: expected one, '{}' for the defaults, or no module either";
    for sidecar in sidecars {
        let (world, beside) = world_with_v1();
        let last_good = beside.path().join("last-good");
        world.write("x.yaml", sidecar);
        let mut watched = start(&world, &last_good);
        watched.wait_for_tag("x", "v1");
        let config = member(&watched.roster, "x").unwrap().config.clone();
        world.remove("x.yaml");
        for (run, module, other) in [("before a restart", "v2", "a"), ("after it", "v3", "b")] {
            watched.wait_for(run, |roster| roster.state("x") == PolicyState::Kept);
            assert_eq!(member(&watched.roster, "x").unwrap().config, config, "{sidecar}, {run}");
            assert_eq!((world.failure(&watched.roster).as_str(), watched.roster.failures()[0].kept), (told, true));
            // Another module says nothing about the sidecar; the other policy shows that it has been looked at.
            world.put("x.wasm", &good(module));
            world.put("y.wasm", &good(other));
            watched.wait_for_tag("y", other);
            assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v1"), "{sidecar}, {run}");
            drop(watched);
            watched = start(&world, &last_good);
        }
        world.write("x.yaml", "order: 9\n");
        watched.wait_for("the new sidecar", |roster| member(roster, "x").unwrap().config.order == 9);
        assert_eq!(watched.roster.failures(), []);
        world.remove("x.yaml");
        world.remove("x.wasm");
        watched.wait_for("x is gone", |roster| member(roster, "x").is_none());
        world.write("x.wasm", &good("v1"));
        watched.wait_for_tag("x", "v1");
        assert_eq!(watched.roster.failures(), [], "a policy of this name that comes later is another one");
    }
}
