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
    assert!(world.failure(&watched.roster).ends_with(".wasm' is not UTF-8: the file is ignored"));
    world.put("x.wasm", &good("v2"));
    watched.wait_for_tag("x", "v2");
    let told = watched.changes.iter().filter(|change| matches!(change, PolicyChange::Problem { .. })).count();
    assert_eq!(told, 1, "{:?}", watched.changes);
}

#[test]
fn a_file_that_looks_like_a_policy_and_is_ignored_is_reported_once() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    for name in ["Warm.WASM", "gpu/deep/y.wasm", "gpu/z.Yaml", "notes.txt", "gpu/empty/notes.txt", ".hidden.WASM"] {
        world.write(name, &good("v1"));
    }
    let mut watched = world.watch(By::Polling);
    for tag in ["v2", "v3"] {
        world.put("x.wasm", &good(tag));
        watched.wait_for_tag("x", tag);
    }
    let ignored = watched.changes.iter().filter(|change| matches!(change, PolicyChange::Ignored { .. }));
    let ignored: Vec<&str> = ignored.map(PolicyChange::id).collect();
    assert_eq!(ignored, ["Warm.WASM", "gpu/deep", "gpu/z.Yaml"]);
    assert!(watched.roster.failures().is_empty(), "{:?}", watched.roster.failures());
    let listed = plimsoll_directory::ignored_files(&world.path("")).unwrap();
    assert_eq!(listed.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ignored);
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

#[test]
fn nothing_of_a_file_outside_is_quoted_through_a_link() {
    let world = World::new();
    let outside = world.path("").with_file_name("secrets");
    fs::create_dir(&outside).unwrap();
    for (number, text) in
        ["hunter2: x\n", "hunter2\n", "mode: hunter2\n", "'hunter2", "{hunter2: 1, hunter2: 2}"].iter().enumerate()
    {
        fs::write(outside.join(number.to_string()), text).unwrap();
        symlink(outside.join(number.to_string()), world.path(&format!("x{number}.yaml"))).unwrap();
        world.write(&format!("x{number}.wasm"), &good("v1"));
    }
    symlink(outside.join("0"), world.path("y.wasm")).unwrap();
    let digest = format!("digest: sha256:{}\n", "0".repeat(64));
    world.write("y.yaml", &digest);
    symlink(outside.join("0"), world.path("z.wasm")).unwrap();
    let roster = world.open().roster;
    let of_link = roster.failures().iter().find(|failure| &*failure.name == "z").unwrap();
    assert!(of_link.error.contains("to a file that is no WebAssembly module"), "{of_link:?}");
    assert_eq!(roster.failures().len(), 7, "{:?}", roster.failures());
    for failure in roster.failures() {
        assert!(!failure.error.contains("hunter2"), "{failure:?}");
        assert!(!failure.error.contains("its digest is sha256"), "{failure:?}");
    }
    // A link within the directory, as in a mounted ConfigMap, is quoted.
    let world = World::new();
    world.write("..data/x.yaml", "lable: x\n");
    world.write("x.wasm", &good("v1"));
    symlink("..data/x.yaml", world.path("x.yaml")).unwrap();
    assert!(world.failure(&world.open().roster).contains("unknown key 'lable'"));
}

#[test]
fn a_name_is_escaped_wherever_it_is_told() {
    let world = World::new();
    let forged = "x\nERROR policy gone";
    world.write(&format!("{forged}.wasm"), &good("v1"));
    world.write(&format!("{forged}/y.wasm"), &good("v1"));
    world.write("(directory).wasm", &good("v1"));
    symlink(world.path("").parent().unwrap(), world.path("out")).unwrap();
    let update = world.open();
    assert_eq!(update.roster.failures().len(), 3, "{:?}", update.roster.failures());
    for failure in update.roster.failures() {
        assert!(!failure.error.contains('\n') && !failure.name.contains('\n'), "{failure:?}");
        assert!(!failure.is_of_directory(), "{failure:?}");
    }
    assert!(update.changes.iter().all(|change| !change.id().contains('\n')), "{:?}", update.changes);
}
