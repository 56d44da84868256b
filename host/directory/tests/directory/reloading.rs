use std::{fs, io::Write as _, sync::Arc};

use plimsoll_core::PolicyState;
use plimsoll_directory::{ChangeKind, PolicyChange};

use crate::{
    fake::good,
    world::{Watched, World, member, tag, wait_until},
};

/// A watched world with the policy `x` at version v1, and `other`.
fn watched() -> (World, Watched) {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("other.wasm", &good("a"));
    let watched = world.watch();
    assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v1"));
    (world, watched)
}

#[test]
fn a_changed_module_is_loaded_and_others_keep_their_member() {
    let (world, mut watched) = watched();
    let other = member(&watched.roster, "other").unwrap();
    world.write("x.wasm", &good("v2"));
    watched.wait_for_tag("x", "v2");
    world.put("x.wasm", &good("v3"));
    watched.wait_for_tag("x", "v3");
    assert_eq!(member(&watched.roster, "x").unwrap().version, 3);
    assert!(Arc::ptr_eq(&other, &member(&watched.roster, "other").unwrap()));
}

#[test]
fn a_changed_sidecar_is_loaded_without_compiling() {
    let (world, mut watched) = watched();
    world.write("x.yaml", "settings: v1\n");
    watched.wait_for("settings", |roster| &*member(roster, "x").unwrap().settings == "\"v1\"");
    assert_eq!((world.loader.loads_of("a"), world.loader.loads_of("v1")), (1, 1));
    world.put("x.yaml", "{}\n");
    watched.wait_for("no settings", |roster| &*member(roster, "x").unwrap().settings == "null");
}

#[test]
fn a_bad_version_leaves_the_last_good_in_force_and_says_so() {
    let (world, mut watched) = watched();
    for bad in [("x.wasm", "bad"), ("x.yaml", "settings: v2"), ("x.yaml", "mode: of")] {
        let before = member(&watched.roster, "x").unwrap();
        world.put(bad.0, bad.1);
        watched.wait_for("a failure", |roster| !roster.failures().is_empty());
        assert!(watched.roster.failures()[0].kept);
        assert!(Arc::ptr_eq(&before, &member(&watched.roster, "x").unwrap()));
        world.put("x.wasm", &good("v1"));
        let _ = fs::remove_file(world.path("x.yaml"));
        watched.wait_for("no failure", |roster| roster.failures().is_empty());
        assert!(Arc::ptr_eq(&before, &member(&watched.roster, "x").unwrap()), "the same files, the same version");
        assert_eq!(watched.changes.last(), Some(&PolicyChange { id: "x".to_owned(), kind: ChangeKind::Unchanged }));
    }
}

#[test]
fn a_new_policy_that_is_bad_is_a_failure_without_a_version() {
    let (world, mut watched) = watched();
    world.write("new.wasm", "bad");
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    assert!(!watched.roster.failures()[0].kept);
    world.write("new.wasm", &good("v1"));
    watched.wait_for_tag("new", "v1");
    assert_eq!(watched.roster.failures(), []);
}

#[test]
fn a_deleted_policy_is_removed_and_may_come_back() {
    let (world, mut watched) = watched();
    world.remove("x.wasm");
    watched.wait_for("x is gone", |roster| member(roster, "x").is_none());
    assert_eq!(
        watched.changes.last(),
        Some(&PolicyChange { id: "x".to_owned(), kind: ChangeKind::Removed { was_kept: false } })
    );
    world.write("x.wasm", &good("v1"));
    watched.wait_for_tag("x", "v1");
    assert_eq!(member(&watched.roster, "x").unwrap().version, 1);
}

#[test]
fn a_failure_goes_with_its_files() {
    let (world, mut watched) = watched();
    world.write("new.wasm", "bad");
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    world.remove("new.wasm");
    watched.wait_for("no failure", |roster| roster.failures().is_empty());
}

#[test]
fn a_renamed_policy_has_its_new_name() {
    let (world, mut watched) = watched();
    fs::rename(world.path("x.wasm"), world.path("y.wasm")).unwrap();
    watched.wait_for_tag("y", "v1");
    watched.wait_for("x is gone", |roster| member(roster, "x").is_none());
}

#[test]
fn a_shared_module_changes_every_policy_that_names_it() {
    let (world, mut watched) = watched();
    world.write("a.yaml", "module: x.wasm\n");
    world.write("gpu/b.yaml", "module: ../x.wasm\n");
    watched.wait_for_tag("a", "v1");
    watched.wait_for_tag("gpu/b", "v1");
    world.put("x.wasm", &good("v2"));
    for id in ["a", "gpu/b"] {
        watched.wait_for_tag(id, "v2");
    }
}

#[test]
fn a_module_that_others_name_is_a_policy_only_with_a_sidecar_of_its_own() {
    let (world, mut watched) = watched();
    world.write("a.yaml", "module: x.wasm\n");
    watched.wait_for("x is a library", |roster| roster.state("x") == PolicyState::Library);
    assert!(member(&watched.roster, "x").is_none() && watched.roster.failures().is_empty());
    assert!(watched.changes.contains(&PolicyChange { id: "x".to_owned(), kind: ChangeKind::Library }));
    world.write("x.yaml", "mode: shadow\n");
    watched.wait_for_tag("x", "v1");
    world.remove("x.yaml");
    watched.wait_for("x is a library", |roster| roster.state("x") == PolicyState::Library);
    world.remove("a.yaml");
    watched.wait_for_tag("x", "v1");
}

#[test]
fn a_module_that_comes_after_its_sidecar_is_found() {
    let (world, mut watched) = watched();
    world.write("gpu/b.yaml", "module: late.wasm\n");
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    world.write("gpu/late.wasm", &good("v1"));
    watched.wait_for_tag("gpu/b", "v1");
    assert_eq!(watched.roster.failures(), []);
}

#[test]
fn groups_come_change_and_go() {
    let (world, mut watched) = watched();
    world.write("gpu/x.wasm", &good("v1"));
    watched.wait_for_tag("gpu/x", "v1");
    world.write("gpu/x.wasm", &good("v2"));
    watched.wait_for_tag("gpu/x", "v2");
    fs::remove_dir_all(world.path("gpu")).unwrap();
    watched.wait_for("no group", |roster| roster.group("gpu").is_none());
    assert_eq!(tag(&watched.roster, "x").as_deref(), Some("v1"));
}

#[test]
fn a_directory_that_goes_and_comes_keeps_the_last_good() {
    let (world, mut watched) = watched();
    let before = member(&watched.roster, "x").unwrap();
    let aside = world.path("").with_file_name("aside");
    fs::rename(world.path(""), &aside).unwrap();
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    assert!(watched.roster.failures()[0].kept && watched.roster.failures()[0].error.contains("cannot be read"));
    assert!(Arc::ptr_eq(&before, &member(&watched.roster, "x").unwrap()));
    world.write("x.wasm", &good("v2"));
    world.write("other.wasm", &good("a"));
    watched.wait_for_tag("x", "v2");
    assert_eq!(watched.roster.failures(), []);
    world.write("x.wasm", &good("v3"));
    watched.wait_for_tag("x", "v3");
}

/// The pieces come with pauses longer than it takes to settle, and shorter than those that make a failure.
#[test]
fn a_file_that_is_written_in_pieces_is_no_failure() {
    let (world, mut watched) = watched();
    let mut file = fs::File::create(world.path("x.wasm")).unwrap();
    for piece in good("v2").as_bytes().chunks(3) {
        file.write_all(piece).unwrap();
        file.sync_data().unwrap();
        // Another policy settles in between: a pass has seen the half-written file.
        world.write("y.wasm", &good("v1"));
        watched.wait_for_tag("y", "v1");
        world.remove("y.wasm");
        watched.wait_for("y is gone", |roster| member(roster, "y").is_none());
    }
    watched.wait_for_tag("x", "v2");
    let refused = watched.changes.iter().find(|change| matches!(change.kind, ChangeKind::Refused { .. }));
    assert_eq!(refused, None);
}

#[test]
fn a_file_that_is_always_written_does_not_hold_up_others() {
    let (world, mut watched) = watched();
    let path = world.path("busy.wasm");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writer = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(&path, "never good").unwrap();
            }
        }
    });
    world.put("x.wasm", &good("v2"));
    watched.wait_for_tag("x", "v2");
    world.put("x.wasm", &good("v3"));
    watched.wait_for_tag("x", "v3");
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().unwrap();
}

#[test]
fn files_that_are_touched_change_nothing() {
    let (world, mut watched) = watched();
    let before = member(&watched.roster, "x").unwrap();
    world.put("x.wasm", &good("v1"));
    world.put("other.wasm", &good("b"));
    watched.wait_for_tag("other", "b");
    assert_eq!(watched.updates, 1);
    assert!(Arc::ptr_eq(&before, &member(&watched.roster, "x").unwrap()));
}

/// To publish costs time for every policy of the roster.
#[test]
fn outcomes_of_many_jobs_are_not_published_one_by_one() {
    let world = World::new();
    world.write("first.wasm", &good("a"));
    let mut watched = world.watch();
    world.loader.hold("v1");
    for number in 0..500 {
        world.write(&format!("p{number}.wasm"), &good("v1"));
    }
    wait_until(|| world.loader.loads_of("v1") > 0);
    world.loader.let_go("v1");
    watched.wait_for("all of them", |roster| roster.members().count() == 501);
    assert!(watched.updates < 100, "{} updates", watched.updates);
}
