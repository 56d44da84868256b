//! Policies that are gone all at once stay in force; those that are removed one by one do not.

use std::fs;

use plimsoll_core::PolicyState;
use plimsoll_directory::DirectoryConfig;

use crate::{
    fake::good,
    world::{Watched, World, member, tag},
};

/// A change that somebody makes to the files.
type Deed = fn(&World);

const FILES: [&str; 4] = ["x.wasm", "y.wasm", "gpu/a.wasm", "gpu/b.wasm"];

fn write_all(world: &World) {
    for name in FILES {
        world.write(name, &good("v1"));
    }
}

fn remove_all(world: &World) {
    for name in FILES {
        world.remove(name);
    }
}

fn watched() -> (World, Watched) {
    let world = World::new();
    write_all(&world);
    let mut watched = world.start(DirectoryConfig { allow_empty: false, ..world.config() });
    watched.wait_for("all are loaded", |roster| roster.members().all(|member| !member.is_stand_in()));
    (world, watched)
}

fn vanished(watched: &Watched) -> Vec<String> {
    let states = watched.roster.states();
    states.iter().filter(|(_, state)| **state == PolicyState::Vanished).map(|(id, _)| id.to_string()).collect()
}

#[test]
fn a_directory_that_is_emptied_keeps_the_last_good_policies_until_files_are_back() {
    let empty: [(&str, usize, Deed); 3] = [
        ("rm -r *", 1, |world| {
            world.remove("x.wasm");
            world.remove("y.wasm");
            fs::remove_dir_all(world.path("gpu")).unwrap();
        }),
        // The group's directory is still there, and still empty.
        ("rm of all files", 3, remove_all),
        ("an empty volume in its place", 1, |world| {
            fs::rename(world.path(""), world.path("").with_file_name("aside")).unwrap();
            fs::create_dir(world.path("")).unwrap();
        }),
    ];
    for (how, left, empty) in empty {
        let (world, mut watched) = watched();
        empty(&world);
        watched
            .wait_for(how, |roster| roster.failures().iter().any(|failure| failure.error.contains("no policy files")));
        assert_eq!(vanished(&watched), ["gpu/a", "gpu/b", "x", "y"], "{how}");
        assert_eq!(watched.roster.members().count(), 4, "{how}");
        assert!(watched.roster.failures().iter().all(|failure| failure.kept), "{how}");
        // A file that comes back counts, and the others are gone now.
        world.write("x.wasm", &good("v2"));
        watched.wait_for_tag("x", "v2");
        watched.wait_for("the others are gone", |roster| roster.members().count() == left);
        assert_eq!(watched.roster.failures().is_empty(), left == 1, "{how}");
    }
}

#[test]
fn a_group_that_loses_all_of_several_policies_at_once_keeps_them() {
    let (world, mut watched) = watched();
    world.remove("gpu/a.wasm");
    world.remove("gpu/b.wasm");
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    assert_eq!(vanished(&watched), ["gpu/a", "gpu/b"]);
    world.write("gpu/b.wasm", &good("v1"));
    watched.wait_for("one is back", |roster| member(roster, "gpu/a").is_none());
    assert_eq!(tag(&watched.roster, "gpu/b").as_deref(), Some("v1"));
    assert_eq!(watched.roster.failures(), []);
}

#[test]
fn a_group_that_is_removed_with_its_directory_is_gone() {
    let (world, mut watched) = watched();
    fs::remove_dir_all(world.path("gpu")).unwrap();
    watched.wait_for("no group", |roster| roster.group("gpu").is_none());
}

#[test]
fn files_that_are_removed_one_by_one_are_gone_but_for_the_last() {
    let (world, mut watched) = watched();
    for (name, id) in [("gpu/a.wasm", "gpu/a"), ("gpu/b.wasm", "gpu/b"), ("x.wasm", "x")] {
        world.remove(name);
        watched.wait_for(id, |roster| member(roster, id).is_none());
    }
    world.remove("y.wasm");
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    assert_eq!(vanished(&watched), ["y"]);
}

#[test]
fn what_may_be_empty_lets_everything_go() {
    let world = World::new();
    write_all(&world);
    let mut watched = world.watch();
    remove_all(&world);
    watched.wait_for("nothing is left", |roster| roster.members().count() == 0);
    assert_eq!(watched.roster.failures(), []);
}

/// A file that was never loaded is no sign that the others were meant to go.
#[test]
fn a_bad_first_file_does_not_end_the_protection_of_an_emptied_directory() {
    let first: [(&str, Deed); 4] = [
        ("a new bad module", |world| world.write("new.wasm", "bad")),
        ("a bad module in the place of a good one", |world| world.write("x.wasm", "bad")),
        ("a sidecar without its module", |world| world.write("x.yaml", "order: 5\n")),
        ("a bad module in a group", |world| world.write("gpu/new.wasm", "bad")),
    ];
    for (how, write) in first {
        for at_once in [false, true] {
            let (world, mut watched) = watched();
            remove_all(&world);
            if !at_once {
                watched.wait_for("they vanished", |roster| roster.failures().iter().any(|failure| failure.kept));
            }
            write(&world);
            watched.wait_for(how, |roster| {
                let says = |text: &str| roster.failures().iter().any(|failure| failure.error.contains(text));
                says("holds no policy file that loads: its") && roster.failures().len() == 2
            });
            assert_eq!(watched.roster.members().filter(|member| !member.is_stand_in()).count(), 4, "{how}");
            for id in ["gpu/a", "gpu/b", "x", "y"] {
                assert_eq!(tag(&watched.roster, id).as_deref(), Some("v1"), "{how}: {id}");
            }
            // A policy that loads ends it: the others were meant to go.
            world.write("y.wasm", &good("v2"));
            watched.wait_for_tag("y", "v2");
            watched.wait_for("the root's others are gone", |roster| {
                roster.failures().iter().all(|failure| !failure.error.contains("its 4"))
                    && member(roster, "gpu/b").is_some()
            });
        }
    }
}

#[test]
fn policies_that_are_all_replaced_at_once_stay_until_the_new_ones_are_tried() {
    let world = World::new();
    world.write("a.wasm", &good("a"));
    world.write("b.wasm", &good("b"));
    let mut watched = world.start(DirectoryConfig { allow_empty: false, ..world.config() });
    watched.wait_for("all are loaded", |roster| roster.members().all(|member| !member.is_stand_in()));
    world.loader.hold("v2");
    for (old, new, version) in [("a.wasm", "c.wasm", "v1"), ("b.wasm", "d.wasm", "v2")] {
        world.remove(old);
        world.write(new, &good(version));
    }
    watched.wait_for_tag("c", "v1");
    assert!(member(&watched.roster, "a").is_some() && member(&watched.roster, "b").is_some());
    world.loader.let_go("v2");
    watched.wait_for_tag("d", "v2");
    watched.wait_for("the old ones are gone", |roster| roster.members().count() == 2);
    assert_eq!(watched.roster.failures(), []);
}
