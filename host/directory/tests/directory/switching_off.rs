//! `mode: off` counts as soon as it is written, whatever the module does.

use std::path::Path;

use plimsoll_core::{Mode, PolicyState, Roster};
use plimsoll_directory::{DirectoryConfig, PolicyChange};

use crate::{
    fake::good,
    starting::{filter, filter_about},
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
    assert!(watched.changes.contains(&PolicyChange::SwitchedOff { id: "x".to_owned() }));
    // The compile was begun for the sidecar before: its result stays off as well.
    world.loader.let_go("v2");
    watched.wait_for("the new module", |roster| tag(roster, "x").as_deref() == Some("v2"));
    assert!(is_off(&watched.roster, "x") && filter(&watched.roster, "a") == Ok(None));
    world.put("x.yaml", "order: 1\n");
    watched.wait_for("x is on", |roster| filter(&roster.clone().into(), "a") == Ok(Some("x: v2".to_owned())));
}

#[test]
fn a_policy_that_was_never_loaded_is_switched_off_although_many_wait_before_it() {
    let world = World::new();
    world.loader.hold("s");
    for number in 0..20 {
        world.write(&format!("a-{number:02}.wasm"), &good("s"));
        world.write(&format!("a-{number:02}.yaml"), "onError: ignore\n");
    }
    // Small modules come first, so it is the largest.
    world.write("x.wasm", &good("v1"));
    let mut watched = world.start(world.config());
    wait_until(|| world.loader.loads_of("s") == 6);
    assert!(filter(&watched.roster, "a").is_err());
    world.put("x.yaml", "mode: off\n");
    watched.wait_for("x is off", |roster| roster.state("x") == PolicyState::Off);
    assert_eq!((filter(&watched.roster, "a"), world.loader.loads_of("v1")), (Ok(None), 0));
    world.loader.let_go("s");
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

fn wait_for_failure(watched: &mut Watched, state: PolicyState) {
    watched.wait_for("a failure", |roster| !roster.failures().is_empty() && roster.state("x") == state);
}

fn refusals(watched: &Watched) -> Vec<bool> {
    let kept = |change: &PolicyChange| match change {
        PolicyChange::Refused { kept, .. } => Some(*kept),
        _ => None,
    };
    watched.changes.iter().filter_map(kept).collect()
}

#[test]
fn the_order_of_switching_off_and_of_bad_files_makes_no_difference() {
    let ways: [(&str, Way); 4] = [
        ("bad, then off", |world, watched| {
            world.put("x.wasm", "bad");
            wait_for_failure(watched, PolicyState::Kept);
            world.put("x.yaml", "mode: off\n");
        }),
        ("off, then bad", |world, watched| {
            world.put("x.yaml", "mode: off\n");
            wait_for_off(watched);
            world.put("x.wasm", "bad");
        }),
        ("off, then another module, then bad", |world, watched| {
            world.put("x.yaml", "mode: off\n");
            wait_for_off(watched);
            world.put("x.wasm", &good("v2"));
            watched.wait_for_tag("x", "v2");
            world.put("x.wasm", "bad");
        }),
        ("off, then deleted, then bad", |world, watched| {
            world.put("x.yaml", "mode: off\n");
            wait_for_off(watched);
            world.remove("x.wasm");
            wait_for_failure(watched, PolicyState::Off);
            world.put("x.wasm", "bad");
        }),
    ];
    for (way, go) in ways {
        let directory = tempfile::tempdir().unwrap();
        let (world, mut watched) = watched(directory.path());
        go(&world, &mut watched);
        watched.wait_for(way, |roster| {
            roster.state("x") == PolicyState::Off && roster.failures().iter().any(|one| one.error.contains("x.wasm"))
        });
        assert!(member(&watched.roster, "x").is_some_and(|member| member.is_stand_in()), "{way}");
        assert_eq!((filter(&watched.roster, "a"), watched.roster.failures()[0].kept), (Ok(None), false), "{way}");
        watched.changes.clear();
        world.put("x.yaml", "mode: enforce\n");
        watched.wait_for("the last good version", |roster| {
            roster.state("x") == PolicyState::Kept && roster.failures()[0].kept
        });
        assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())), "{way}");
        // The log says that the policy that is switched on has a problem.
        wait_for_refusal(&mut watched);
        assert_eq!(refusals(&watched), [true], "{way}");
        drop(watched);
        let mut watched = start(&world, directory.path());
        wait_for_failure(&mut watched, PolicyState::Kept);
        assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())), "{way}: after a restart");
    }
}

fn wait_for_refusal(watched: &mut Watched) {
    watched.wait_for_change("a refusal", |change| matches!(change, PolicyChange::Refused { .. }));
}

#[test]
fn a_policy_that_was_never_on_is_not_in_force_when_it_is_switched_on_with_a_bad_module() {
    let ways: [(&str, Way); 2] = [
        ("off, then bad", |world, watched| {
            world.put("x.yaml", "mode: off\n");
            world.put("x.wasm", &good("v1"));
            wait_for_off(watched);
            world.put("x.wasm", "bad");
            wait_for_failure(watched, PolicyState::Off);
        }),
        ("bad from the start", |world, _| {
            world.put("x.yaml", "mode: off\n");
            world.put("x.wasm", "bad");
        }),
    ];
    for is_there_at_the_start in [true, false] {
        for (way, go) in ways {
            let (world, directory) = (World::new(), tempfile::tempdir().unwrap());
            if is_there_at_the_start {
                world.write("x.yaml", "mode: off\n");
                world.write("x.wasm", &good("v1"));
            }
            let config = DirectoryConfig { last_good: Some(directory.path().to_owned()), ..world.config() };
            let mut watched = world.start(config);
            go(&world, &mut watched);
            wait_for_failure(&mut watched, PolicyState::Off);
            world.put("x.yaml", "mode: enforce\n");
            wait_for_failure(&mut watched, PolicyState::Failed);
            let answer = filter(&watched.roster, "a");
            assert_eq!(answer.is_err(), is_there_at_the_start, "{way}: {answer:?}");
            drop(watched);
            // After a restart a policy that was off has no last good version.
            let mut watched = start(&world, directory.path());
            wait_for_failure(&mut watched, PolicyState::Failed);
            assert!(filter(&watched.roster, "a").is_err(), "{way}");
        }
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
fn a_policy_is_switched_off_though_the_directory_holds_too_many_files() {
    let directory = tempfile::tempdir().unwrap();
    let (world, mut watched) = watched(directory.path());
    world.write("z.wasm", &good("v1"));
    watched.wait_for_tag("z", "v1");
    for number in 0..2_000 {
        world.write(&format!("n{number}.yaml"), "lable: x\n");
    }
    let is_full =
        |roster: &Roster| roster.failures().iter().any(|failure| failure.error.contains("holds more than 2000"));
    watched.wait_for("the complaint", |roster| is_full(roster));
    // By a new sidecar, and by one that was there.
    world.put("x.yaml", "mode: off\n");
    watched.wait_for("x is off", |roster| is_off(roster, "x") && is_full(roster));
    world.put("y.yaml", "order: 1\n");
    watched.wait_for("y is on", |roster| !is_off(roster, "y") && is_full(roster));
    world.put("z.wasm", &good("v2"));
    watched.wait_for_tag("z", "v2");
    world.remove("z.wasm");
    watched.wait_for("z is gone", |roster| member(roster, "z").is_none() && tag(roster, "x").is_some());
    // New policies count once there is room.
    world.write("new.wasm", &good("v1"));
    for number in 0..2_000 {
        world.remove(&format!("n{number}.yaml"));
    }
    watched.wait_for_tag("new", "v1");
    watched.wait_for("no complaint", |roster| !is_full(roster));
    assert!(is_off(&watched.roster, "x") && tag(&watched.roster, "y").is_some());
}
