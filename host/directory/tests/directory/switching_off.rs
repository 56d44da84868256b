//! `mode: off` counts as soon as it is written, whatever the module does.

use std::path::Path;

use plimsoll_core::{Mode, PolicyState, Roster};
use plimsoll_directory::{DirectoryConfig, PolicyChange};

use crate::{
    fake::good,
    starting::filter,
    world::{Watched, World, member, tag, wait_until},
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
    watched.wait_for("y is off", |roster| is_off(roster, "y") && roster.state("y") == PolicyState::Active);
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
    assert!(watched.changes.contains(&PolicyChange::SwitchedOff { id: "x".to_owned() }));
    // The compile was begun for the sidecar before: what comes of it stays off as well.
    world.loader.let_go("v2");
    watched.wait_for("the new module", |roster| tag(roster, "x").as_deref() == Some("v2"));
    assert!(is_off(&watched.roster, "x") && filter(&watched.roster, "a") == Ok(None));
    world.put("x.yaml", "order: 1\n");
    watched.wait_for("x is on", |roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v2".to_owned())));
}

#[test]
fn a_policy_that_was_never_loaded_is_switched_off_although_many_wait_before_it() {
    let world = World::new();
    world.loader.hold("stuck");
    for number in 0..20 {
        world.write(&format!("a-{number:02}.wasm"), &good("stuck"));
        world.write(&format!("a-{number:02}.yaml"), "onError: ignore\n");
    }
    world.write("x.wasm", &good("v1"));
    let mut watched = world.start(world.config());
    wait_until(|| world.loader.loads_of("stuck") == 6);
    assert!(filter(&watched.roster, "a").is_err());
    world.put("x.yaml", "mode: off\n");
    watched.wait_for("x is off", |roster| roster.state("x") == PolicyState::Off);
    assert_eq!((filter(&watched.roster, "a"), world.loader.loads_of("v1")), (Ok(None), 0));
    world.loader.let_go("stuck");
    watched.wait_for_tag("x", "v1");
    assert!(is_off(&watched.roster, "x"));
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
            for _ in 0..5 {
                assert!(filter(&watched.roster, "a").is_err());
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
            // With another sidecar, what was rolled back is tried again, and loads.
            continue;
        }
        // Switched on again, the last good version answers as before.
        world.put("x.yaml", "order: 7\n");
        watched.wait_for("x is on", |roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v1".to_owned())));
    }
}

#[test]
fn a_sidecar_that_cannot_be_read_switches_nothing_on() {
    let directory = tempfile::tempdir().unwrap();
    let (world, mut watched) = watched(directory.path());
    world.put("x.wasm", "bad");
    world.put("x.yaml", "mode: off\n");
    watched.wait_for("x is off", |roster| roster.state("x") == PolicyState::Off && !roster.failures().is_empty());
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
        watched.wait_for("x is off", |roster| is_off(roster, "x") && roster.state("x") == PolicyState::Active);
        world.put(second, "order: 1\n");
        watched.wait_for("two sidecars are refused", |roster| {
            roster.failures().iter().any(|failure| failure.error.contains("expected one sidecar"))
        });
        assert_eq!(filter(&watched.roster, "a"), Ok(None), "{second}: two sidecars switch nothing on");
        world.remove(first);
        watched.wait_for("x is on", |roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v1".to_owned())));
    }
}
