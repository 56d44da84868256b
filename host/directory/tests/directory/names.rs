//! Names and links that make no policies and no groups.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
};

use plimsoll_directory::ChangeKind;

use crate::{
    fake::good,
    world::{World, tag},
};

#[test]
fn a_file_that_looks_like_a_policy_and_is_ignored_is_reported_once() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    for name in ["Warm.WASM", "gpu/deep/y.wasm", "gpu/z.Yaml", "notes.txt", "gpu/empty/notes.txt", ".hidden.WASM"] {
        world.write(name, &good("v1"));
    }
    for name in [&b"caf\xe9.wasm"[..], b"caf\xe9.txt"] {
        fs::write(world.path("").join(OsStr::from_bytes(name)), good("v1")).unwrap();
    }
    let mut watched = world.watch();
    for tag in ["v2", "v3"] {
        world.put("x.wasm", &good(tag));
        watched.wait_for_tag("x", tag);
    }
    let ignored = watched.changes.iter().filter(|change| matches!(change.kind, ChangeKind::Ignored { .. }));
    let ignored: Vec<&str> = ignored.map(|change| change.id.as_str()).collect();
    assert_eq!(ignored, ["Warm.WASM", "caf\u{fffd}.wasm", "gpu/deep", "gpu/z.Yaml"]);
    assert!(watched.roster.failures().is_empty(), "{:?}", watched.roster.failures());
    let listed = plimsoll_directory::ignored_files(&world.path("")).unwrap();
    assert_eq!(listed.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ignored);
}

#[test]
fn a_link_to_a_directory_is_a_group() {
    let world = World::new();
    world.write("..data/gpu/y.wasm", &good("v1"));
    world.write("x.wasm", &good("v1"));
    symlink("..data/gpu", world.path("gpu")).unwrap();
    let roster = world.open().roster;
    let groups: Vec<&str> = roster.groups().map(|(name, _)| &**name).collect();
    assert_eq!(groups, ["", "gpu"]);
    assert_eq!(tag(&roster, "gpu/y").as_deref(), Some("v1"));
}

#[test]
fn a_name_is_escaped_wherever_it_is_told() {
    let world = World::new();
    let forged = "x\nERROR policy gone";
    world.write(&format!("{forged}.wasm"), &good("v1"));
    world.write(&format!("{forged}/y.wasm"), &good("v1"));
    world.write("(directory).wasm", &good("v1"));
    let update = world.open();
    assert_eq!(update.roster.failures().len(), 3, "{:?}", update.roster.failures());
    for failure in update.roster.failures() {
        assert!(!failure.error.contains('\n') && !failure.name.contains('\n'), "{failure:?}");
        assert!(!failure.is_of_directory(), "{failure:?}");
    }
    assert!(update.changes.iter().all(|change| !change.id.contains('\n')), "{:?}", update.changes);
}
