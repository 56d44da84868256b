//! Names and links that make no policies and no groups.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    time::{Duration, Instant},
};

use plimsoll_directory::PolicyChange;

use crate::{
    fake::good,
    world::{By, World, tag, wait_until},
};

#[test]
fn a_file_whose_name_is_no_text_is_told_once_and_passed_over() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    fs::write(world.path("").join(OsStr::from_bytes(b"caf\xe9.wasm")), good("v1")).unwrap();
    fs::write(world.path("").join(OsStr::from_bytes(b"caf\xe9.txt")), "nothing").unwrap();
    // A try that is repeated takes 500 ms each time. On a busy machine another one may as well, but not each.
    wait_until(|| {
        let started = Instant::now();
        drop(world.open());
        started.elapsed() < Duration::from_millis(450)
    });
    let mut watched = world.watch(By::Polling);
    assert!(world.failure(&watched.roster).ends_with(".wasm' is not UTF-8: the file is passed over"));
    world.put("x.wasm", &good("v2"));
    watched.wait_for_tag("x", "v2");
    let told = watched.changes.iter().filter(|change| matches!(change, PolicyChange::Refused { .. })).count();
    assert_eq!(told, 1, "{:?}", watched.changes);
}

#[test]
fn a_link_makes_a_group_only_of_a_directory_inside() {
    let world = World::new();
    let outside = world.path("").with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("evil.wasm"), good("v1")).unwrap();
    world.write("..data/gpu/y.wasm", &good("v1"));
    world.write("x.wasm", &good("v1"));
    symlink("..data/gpu", world.path("gpu")).unwrap();
    for (target, link) in
        [(".", "self"), ("..", "parent"), ("/", "all"), ("../outside", "outside"), ("../policies", "here")]
    {
        symlink(target, world.path(link)).unwrap();
    }
    let roster = world.open().roster;
    let groups: Vec<&str> = roster.groups().map(|(name, _)| &**name).collect();
    assert_eq!(groups, ["", "gpu"]);
    assert_eq!(tag(&roster, "gpu/y").as_deref(), Some("v1"));
    let told: Vec<&str> = roster.failures().iter().map(|failure| &*failure.name).collect();
    // Of those that hold no policies there is nothing to say.
    assert_eq!(told, ["here", "outside", "self"]);
    assert!(roster.failures()[0].error.contains("is a link that leads out of the directory"));
}
