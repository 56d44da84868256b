//! Directories as a kubelet mounts a ConfigMap: links into `..data`, which is swapped as a whole.

use std::{collections::HashSet, fs, path::Path};

use plimsoll_directory::ChangeKind;

use crate::{
    fake::good,
    world::{World, link, member, tag},
};

/// Mounts a version: `..data` leads to the new files before links for new names appear.
fn mount(world: &World, version: &str, files: &[(&str, String)]) {
    let stamped = format!("..{version}");
    fs::create_dir(world.path(&stamped)).unwrap();
    for (name, text) in files {
        let path = world.path(&stamped).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let old = fs::read_link(world.path("..data")).ok();
    link(Path::new(&stamped), &world.path("..data"));
    let tops: HashSet<&str> = files.iter().filter_map(|(name, _)| name.split('/').next()).collect();
    for top in &tops {
        if world.path(top).symlink_metadata().is_err() {
            link(&Path::new("..data").join(top), &world.path(top));
        }
    }
    for entry in fs::read_dir(world.path("")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("..") && !tops.contains(name.as_str()) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    if let Some(old) = old {
        fs::remove_dir_all(world.path("").join(old)).unwrap();
    }
}

fn files(tag: &str) -> Vec<(&'static str, String)> {
    let settings = format!("settings: {tag}\n");
    vec![
        ("x.wasm", good(tag)),
        ("x.yaml", settings.clone()),
        ("gpu/y.wasm", good(tag)),
        ("gpu/y.yaml", settings.clone()),
        ("z.yaml", format!("module: x.wasm\n{settings}")),
    ]
}

#[test]
fn a_swap_is_one_update() {
    let world = World::new();
    mount(&world, "v1", &files("v1"));
    let mut watched = world.watch();
    assert_eq!(watched.roster.failures(), []);
    for (round, version) in ["v2", "v3"].into_iter().enumerate() {
        mount(&world, version, &files(version));
        watched.wait_for_tag("x", version);
        for id in ["x", "gpu/y", "z"] {
            assert_eq!(tag(&watched.roster, id).as_deref(), Some(version), "{id}");
        }
        assert_eq!(watched.updates, round + 1);
    }
}

#[test]
fn a_sidecar_never_meets_the_module_of_another_swap() {
    let world = World::new();
    mount(&world, "start", &files("v1"));
    let mut watched = world.watch();
    for round in 0..60 {
        let tag = if round % 2 == 0 { "a" } else { "b" };
        mount(&world, &format!("round-{round}"), &files(tag));
    }
    mount(&world, "end", &files("v3"));
    watched.wait_for_tag("x", "v3");
    watched.wait_for_tag("gpu/y", "v3");
    for (tag, settings) in world.loader.validated.lock().unwrap().iter() {
        assert_eq!(*settings, format!("\"{tag}\""));
    }
    assert!(!watched.changes.iter().any(|change| matches!(change.kind, ChangeKind::Refused { .. })));
}

#[test]
fn a_swap_adds_and_removes_policies() {
    let world = World::new();
    mount(&world, "one", &files("v1"));
    let mut watched = world.watch();
    mount(&world, "two", &[("new.wasm", good("v1"))]);
    watched.wait_for_tag("new", "v1");
    watched.wait_for("others are gone", |roster| roster.members().count() == 1 && roster.group("gpu").is_none());
    assert!(member(&watched.roster, "x").is_none());
}
