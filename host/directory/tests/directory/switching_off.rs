//! `mode: off` counts as soon as it is written, whatever the module does.

use std::path::Path;

use plimsoll_core::{Mode, PolicyState, Roster};
use plimsoll_directory::{ChangeKind, DirectoryConfig, PolicyChange};

use crate::{
    fake::good,
    starting::{filter, filter_about},
    world::{Watched, World, member, wait_until},
};

fn is_off(roster: &Roster, id: &str) -> bool {
    member(roster, id).is_some_and(|member| member.config.mode == Mode::Off)
}

fn start(world: &World, last_good: &Path) -> Watched {
    let last_good = Some(last_good.to_owned());
    world.start(DirectoryConfig { allow_empty: false, last_good, ..world.config() })
}

/// A watched world in which `x` has been loaded.
fn watched(last_good: &Path) -> (World, Watched) {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("y.wasm", &good("a"));
    let mut watched = start(&world, last_good);
    watched.wait_for_tag("x", "v1");
    watched.wait_for_tag("y", "a");
    world.put("y.yaml", "mode: off\n");
    watched.wait_for("y is off", |roster| is_off(roster, "y") && roster.state("y") == PolicyState::Off);
    (world, watched)
}

#[test]
fn a_policy_whose_module_is_compiling_is_switched_off_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (world, mut watched) = watched(directory.path());
    world.loader.hold("v2");
    world.put("x.wasm", &good("v2"));
    wait_until(|| world.loader.loads_of("v2") == 1);
    world.put("x.yaml", "mode: off\n");
    watched.wait_for("x is off", |roster| is_off(roster, "x"));
    assert_eq!(watched.roster.state("x"), PolicyState::Off);
    assert_eq!(filter(&watched.roster, "a"), Ok(None));
    assert!(watched.changes.contains(&PolicyChange { id: "x".to_owned(), kind: ChangeKind::SwitchedOff }));
    // The compile was begun for the sidecar before: its result does not count.
    world.loader.let_go("v2");
    world.put("x.yaml", "order: 1\n");
    watched.wait_for("x is on", |roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v2".to_owned())));
}

#[test]
fn a_kept_a_vanished_and_a_rolled_back_policy_are_switched_off() {
    type Deed = fn(&World, &mut Watched);
    let ways: [(PolicyState, Deed); 3] = [
        (PolicyState::Kept, |world, _| world.put("x.wasm", "bad")),
        (PolicyState::Vanished, |world, _| {
            for name in ["x.wasm", "y.wasm", "y.yaml"] {
                world.remove(name);
            }
        }),
        (PolicyState::RolledBack, |world, watched| {
            assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
            world.put("x.wasm", &good("fails"));
            watched.wait_for("the new version", |roster| member(roster, "x").unwrap().version == 2);
            for uid in ["u", "u", "u", "u", "v"] {
                assert!(filter_about(&watched.roster, "a", uid).is_err());
            }
        }),
    ];
    for (state, deed) in ways {
        let directory = tempfile::tempdir().unwrap();
        let (world, mut watched) = watched(directory.path());
        deed(&world, &mut watched);
        watched.wait_for("its state", |roster| roster.state("x") == state);
        world.put("x.yaml", "mode: off\n");
        watched.wait_for("x is off", |roster| is_off(roster, "x"));
        assert_eq!(filter(&watched.roster, "a"), Ok(None), "{state:?}");
        if state == PolicyState::RolledBack {
            // With another sidecar, the version that was rolled back is tried again, and loads.
            continue;
        }
        // Switched on again, the last good version answers as before.
        world.put("x.yaml", "order: 7\n");
        let is_v1 = |roster: &Roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v1".to_owned()));
        watched.wait_for("x is on", is_v1);
    }
}

#[test]
fn a_sidecar_that_cannot_be_read_switches_nothing_on() {
    let directory = tempfile::tempdir().unwrap();
    let (world, mut watched) = watched(directory.path());
    world.put("x.yaml", "mode: off\n");
    watched.wait_for("x is off", |roster| roster.state("x") == PolicyState::Off);
    world.put("x.yaml", "mode: of\n");
    watched.wait_for("the sidecar's error", |roster| {
        roster.failures().iter().any(|failure| failure.error.contains("expected one of"))
    });
    assert_eq!((watched.roster.state("x"), filter(&watched.roster, "a")), (PolicyState::Off, Ok(None)));
}

#[test]
fn of_two_sidecars_the_one_that_is_left_says_whether_the_policy_is_off() {
    for (first, second) in [("x.yml", "x.yaml"), ("x.yaml", "x.yml")] {
        let directory = tempfile::tempdir().unwrap();
        let (world, mut watched) = watched(directory.path());
        world.put(first, "mode: off\n");
        watched.wait_for("x is off", |roster| is_off(roster, "x") && roster.state("x") == PolicyState::Off);
        world.put(second, "order: 1\n");
        watched.wait_for("two sidecars are refused", |roster| {
            roster.failures().iter().any(|failure| failure.error.contains("expected one sidecar"))
        });
        assert_eq!(filter(&watched.roster, "a"), Ok(None), "{second}: two sidecars switch nothing on");
        world.remove(first);
        watched.wait_for("x is on", |roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v1".to_owned())));
    }
}

/// A way from a good policy to one that is off and whose module is bad.
type Way = fn(&World, &mut Watched);

fn wait_for_off(watched: &mut Watched) {
    watched.wait_for("x is off", |roster| is_off(roster, "x") && roster.state("x") == PolicyState::Off);
}

#[test]
fn the_order_of_switching_off_and_of_bad_files_makes_no_difference() {
    let ways: [(&str, Way); 3] = [
        ("bad, then off", |world, watched| {
            world.put("x.wasm", "bad");
            watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Kept);
            world.put("x.yaml", "mode: off\n");
        }),
        ("off, then bad", |world, watched| {
            world.put("x.yaml", "mode: off\n");
            wait_for_off(watched);
            world.put("x.wasm", "bad");
        }),
        ("off, then deleted, then bad", |world, watched| {
            world.put("x.yaml", "mode: off\n");
            wait_for_off(watched);
            world.remove("x.wasm");
            world.put("x.wasm", "bad");
        }),
    ];
    for (way, go) in ways {
        let directory = tempfile::tempdir().unwrap();
        let (world, mut watched) = watched(directory.path());
        go(&world, &mut watched);
        wait_for_off(&mut watched);
        assert!(member(&watched.roster, "x").is_some_and(|member| member.is_stand_in()), "{way}");
        assert_eq!((filter(&watched.roster, "a"), watched.roster.failures()), (Ok(None), &[][..]), "{way}");
        watched.changes.clear();
        world.put("x.yaml", "mode: enforce\n");
        watched.wait_for("the last good version", |roster| {
            roster.state("x") == PolicyState::Kept && roster.failures()[0].kept
        });
        assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())), "{way}");
        // The log says that the policy that is switched on has a problem.
        watched.wait_for_change("a refusal", |change| matches!(change.kind, ChangeKind::Refused { kept: true, .. }));
        drop(watched);
        let mut watched = start(&world, directory.path());
        watched.wait_for("after a restart", |roster| roster.state("x") == PolicyState::Kept);
        assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())), "{way}");
    }
}

#[test]
fn a_policy_that_was_never_on_is_not_in_force_when_it_is_switched_on_with_a_bad_module() {
    for is_there_at_the_start in [true, false] {
        let (world, directory) = (World::new(), tempfile::tempdir().unwrap());
        if is_there_at_the_start {
            world.write("x.yaml", "mode: off\n");
        }
        let config = DirectoryConfig { last_good: Some(directory.path().to_owned()), ..world.config() };
        let mut watched = world.start(config);
        world.put("x.yaml", "mode: off\n");
        world.put("x.wasm", "bad");
        wait_for_off(&mut watched);
        world.put("x.yaml", "mode: enforce\n");
        watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
        let answer = filter(&watched.roster, "a");
        assert_eq!(answer.is_err(), is_there_at_the_start, "{answer:?}");
        drop(watched);
        // After a restart a policy that was off has no last good version.
        let mut watched = start(&world, directory.path());
        watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
        assert!(filter(&watched.roster, "a").is_err());
    }
}

#[test]
fn a_version_that_fails_is_not_replaced_by_one_that_is_off() {
    let (world, directory) = (World::new(), tempfile::tempdir().unwrap());
    world.write("x.yaml", "mode: off\n");
    world.write("x.wasm", &good("v1"));
    let mut watched = start(&world, directory.path());
    wait_for_off(&mut watched);
    world.put("x.wasm", &good("fails"));
    world.put("x.yaml", "mode: enforce\n");
    watched.wait_for("the new version", |roster| !is_off(roster, "x") && roster.state("x") == PolicyState::Active);
    for _ in 0..5 {
        assert!(filter(&watched.roster, "a").is_err());
    }
    // The other update shows that the first calls have been looked at.
    world.write("y.wasm", &good("a"));
    watched.wait_for_tag("y", "a");
    assert_eq!((watched.roster.state("x"), is_off(&watched.roster, "x")), (PolicyState::Active, false));
}

#[test]
fn a_policy_that_is_off_and_loses_its_sidecar_stays_off() {
    let directory = tempfile::tempdir().unwrap();
    let (world, mut watched) = watched(directory.path());
    world.remove("y.yaml");
    watched.wait_for("the sidecar is missed", |roster| {
        roster.failures().iter().any(|failure| failure.error.contains("the sidecar is missing"))
    });
    assert!(is_off(&watched.roster, "y") && watched.roster.state("y") == PolicyState::Off);
    world.put("y.yaml", "mode: off\n");
    watched.wait_for("nothing is amiss", |roster| roster.failures().is_empty());
    world.put("y.yaml", "{}\n");
    watched.wait_for_tag("y", "a");
}
