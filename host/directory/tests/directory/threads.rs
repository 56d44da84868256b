//! A policy that takes long holds up no other.

use plimsoll_core::{Mode, PolicyState};

use crate::{
    fake::good,
    world::{World, member, tag, wait_until},
};

/// More loads than run at once.
const MANY: usize = 12;

#[test]
fn while_all_threads_load_policies_are_switched_off_and_removed() {
    let world = World::new();
    for name in ["x", "y", "z"] {
        world.write(&format!("{name}.wasm"), &good("v1"));
    }
    let mut watched = world.start(world.config());
    for name in ["x", "y", "z"] {
        watched.wait_for_tag(name, "v1");
    }
    world.loader.hold("stuck");
    for number in 0..MANY {
        world.write(&format!("stuck-{number}.wasm"), &good("stuck"));
    }
    wait_until(|| world.loader.loads_of("stuck") == 8);
    world.put("x.wasm", &good("v2"));
    world.put("y.yaml", "mode: off\n");
    watched.wait_for("y is off", |roster| member(roster, "y").unwrap().config.mode == Mode::Off);
    world.remove("z.wasm");
    watched.wait_for("z is gone", |roster| member(roster, "z").is_none());
    assert_eq!(watched.roster.state("stuck-0"), PolicyState::Loading);
    assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v1"));
    world.loader.let_go("stuck");
    for number in 0..MANY {
        watched.wait_for("it is loaded", |roster| member(roster, &format!("stuck-{number}")).is_some());
    }
    watched.wait_for_tag("x", "v2");
}

#[test]
fn loads_of_one_policy_come_one_after_another_and_the_last_one_counts() {
    let world = World::new();
    world.write("x.wasm", &good("a"));
    let mut watched = world.start(world.config());
    watched.wait_for_tag("x", "a");
    world.loader.hold("v1");
    world.put("x.wasm", &good("v1"));
    wait_until(|| world.loader.loads_of("v1") == 1);
    world.put("x.wasm", &good("v2"));
    world.write("y.wasm", &good("b"));
    watched.wait_for_tag("y", "b");
    assert_eq!(tag(&watched.roster, "x").as_deref(), Some("a"), "the second load waits for the first");
    world.loader.let_go("v1");
    watched.wait_for_tag("x", "v2");
    assert_eq!(member(&watched.roster, "x").unwrap().version, 3);
}

#[test]
fn a_policy_that_is_removed_while_it_loads_does_not_come_back() {
    let world = World::new();
    world.write("x.wasm", &good("a"));
    world.write("y.wasm", &good("a"));
    let mut watched = world.start(world.config());
    watched.wait_for_tag("x", "a");
    watched.wait_for_tag("y", "a");
    world.loader.hold("v1");
    world.put("x.wasm", &good("v1"));
    wait_until(|| world.loader.loads_of("v1") == 1);
    world.remove("x.wasm");
    watched.wait_for("x is gone", |roster| member(roster, "x").is_none());
    world.loader.let_go("v1");
    world.put("y.wasm", &good("v2"));
    watched.wait_for_tag("y", "v2");
    assert!(member(&watched.roster, "x").is_none());
}
