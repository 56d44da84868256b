use std::fs;

use plimsoll_core::{Mode, PolicyState};
use plimsoll_directory::{
    ChangeKind, Directory, DirectoryConfig, DirectoryError, PolicyChange, load_one, policy_files,
};

use crate::{
    fake::{FakeLoader, good},
    world::{World, digest_of, member, tag},
};

#[test]
fn a_module_without_sidecar_is_a_policy_with_defaults() {
    let world = World::new();
    world.write("pool.wasm", &good("v1"));
    let update = world.open();
    let member = member(&update.roster, "pool").unwrap();
    assert_eq!((&*member.settings, member.version, member.size), ("null", 1, good("v1").len() as u64));
    assert!(
        matches!(&update.changes[..], [PolicyChange { id, kind: ChangeKind::Loaded { version: 1, .. } }] if id == "pool")
    );
}

#[test]
fn a_sidecar_configures_the_module_of_its_name() {
    let world = World::new();
    world.write("pool.wasm", &good("v1"));
    world.write("pool.yaml", "mode: shadow\nsettings: v1\n");
    let member = member(&world.open().roster, "pool").unwrap();
    assert_eq!((&*member.settings, member.config.mode), (r#""v1""#, Mode::Shadow));
}

#[test]
fn several_sidecars_share_one_module_that_is_loaded_for_each() {
    let world = World::new();
    world.write("pool.wasm", &good("v1"));
    world.write("pool.yaml", "mode: shadow\n");
    world.write("a.yaml", "module: pool.wasm\nsettings: v1\n");
    world.write("gpu/b.yml", "module: ../pool.wasm\n");
    let roster = world.open().roster;
    assert_eq!(roster.failures(), []);
    for id in ["a", "gpu/b", "pool"] {
        assert_eq!(tag(&roster, id).as_deref(), Some("v1"), "{id}");
    }
}

#[test]
fn of_a_policy_that_is_off_only_the_sidecar_is_read() {
    let world = World::new();
    world.write("pool.wasm", "bad");
    world.write("pool.yaml", "mode: off\nsettings: wrong\n");
    let roster = world.open().roster;
    assert_eq!((roster.failures(), roster.state("pool")), (&[][..], PolicyState::Off));
    assert_eq!(member(&roster, "pool").unwrap().config.mode, Mode::Off);
    assert_eq!(world.loader.refusals.load(std::sync::atomic::Ordering::SeqCst), 0);
}

#[test]
fn a_sub_directory_is_a_group_even_without_policies() {
    let world = World::new();
    world.write("gpu/pool.wasm", &good("v1"));
    fs::create_dir(world.path("empty")).unwrap();
    let roster = world.open().roster;
    let names: Vec<_> = roster.groups().map(|(name, group)| (name.to_string(), group.members().len())).collect();
    assert_eq!(names, [(String::new(), 0), ("empty".to_owned(), 0), ("gpu".to_owned(), 1)]);
}

#[test]
fn hidden_and_foreign_files_are_passed_over() {
    let world = World::new();
    for name in ["..data", ".pool.wasm.swp", ".hidden.wasm", "pool.wasm~", "README.md", "pool.wasm.bak", "4913"] {
        world.write(name, "something");
    }
    fs::create_dir(world.path("lost+found")).unwrap();
    let update = world.open();
    assert_eq!(update.roster.members().count() + update.roster.failures().len(), 0);
}

/// Each file that is refused by itself, and the reason.
#[test]
fn each_refusal_names_file_and_expectation() {
    let ten = "a".repeat(64);
    let wrong_digest = format!("x.yaml says sha256:{ten}");
    let table = [
        (&[("x.wasm", "bad")][..], "x.wasm: no module: expected 'good TAG end'"),
        (&[("x.wasm", "")], "x.wasm: no module: expected 'good TAG end'"),
        (
            &[("x.yaml", "order: 1")],
            "x.yaml: there is no module for this sidecar: expected the file x.wasm, or the key 'module' or 'cel'",
        ),
        (
            &[("x.yaml", "module: y.wasm")],
            "y.wasm cannot be read: No such file or directory (os error 2): expected a module",
        ),
        (
            &[("x.yaml", "module: ../y.wasm")],
            "x.yaml: module: '../' leads out of the directory: expected a .wasm file of the same directory",
        ),
        (
            &[("x.wasm", "good v1 end"), ("x.yaml", "ordre: 1")],
            "x.yaml:1:1: unknown key 'ordre': expected one of module, mode, order, weight, onError, timeout, memory, digest, facts, absent, counts, places, stdio, match, cel, settings",
        ),
        (
            &[("x.wasm", "good v1 end"), ("x.yaml", "order: 1"), ("x.yml", "order: 2")],
            "'x.yaml' and 'x.yml' are both there: expected one sidecar",
        ),
        (&[("x.wasm", "good v1 end"), ("x.yaml", "settings: v2")], "x.yaml: settings refused: \"v2\" is not for v1"),
        (&[("x.wasm", "good v1 end"), ("x.yaml", "settings: trap")], "x.wasm: validate failed: trap: unreachable"),
        (&[("x.wasm", "good v1 end"), ("x.yaml", &format!("digest: sha256:{ten}"))], &wrong_digest),
        (
            &[("x y.wasm", "good v1 end")],
            "'x y' is no name for a policy: expected letters, digits, '.', '_' and '-', at most 63",
        ),
        (
            &[("Gpu/x.wasm", "good v1 end")],
            "'Gpu' is no name for a group: expected a to z, 0 to 9 and '-', at most 63 characters",
        ),
    ];
    for (files, expected) in table {
        let world = World::new();
        for (name, text) in files {
            world.write(name, text);
        }
        let failure = world.failure(&world.open().roster);
        assert!(failure.ends_with(expected), "{files:?}\n  found {failure}\n  expected {expected}");
    }
}

#[test]
fn an_error_is_one_bounded_line() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", &format!("\"a\\n{}\": 1", "b".repeat(1_000)));
    let failure = world.failure(&world.open().roster);
    assert!(failure.starts_with("x.yaml:1:1: unknown key 'a\\u000ab"), "{failure}");
    world.write("x.yaml", &format!("settings: {}", "long ".repeat(1_000)));
    let failure = world.failure(&world.open().roster);
    assert!(failure.chars().count() <= 2_001 && failure.ends_with('…'), "{failure}");
}

#[test]
fn a_digest_lets_its_module_pass() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", &format!("digest: {}", digest_of("v1")));
    assert_eq!(tag(&world.open().roster, "x").as_deref(), Some("v1"));
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let world = World::new();
    std::os::unix::fs::symlink("nowhere", world.path("x.wasm")).unwrap();
    assert!(world.failure(&world.open().roster).starts_with("x.wasm cannot be read"));
    world.remove("x.wasm");
    let _socket = std::os::unix::net::UnixListener::bind(world.path("x.wasm")).unwrap();
    assert_eq!(world.failure(&world.open().roster), "x.wasm is not a regular file: expected a module");
}

#[test]
fn a_module_up_to_the_limit_is_read_obeyed() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    let config = DirectoryConfig { max_module_bytes: good("v1").len() as u64, ..world.config() };
    assert_eq!(Directory::open(config, world.loader.clone()).unwrap().1.roster.failures(), []);
}

#[test]
fn a_module_over_the_limit_is_refused_violated() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    let config = DirectoryConfig { max_module_bytes: good("v1").len() as u64 - 1, ..world.config() };
    let roster = Directory::open(config, world.loader.clone()).unwrap().1.roster;
    assert_eq!(world.failure(&roster), "x.wasm is larger than 10 bytes, the most for a module");
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let world = World::new();
    let config = DirectoryConfig::new(world.path("nowhere"));
    let error = Directory::open(config, world.loader.clone()).unwrap_err();
    assert!(matches!(error, DirectoryError::Unreadable { .. }));
    assert!(error.to_string().ends_with("expected a directory with policies (.wasm) and sidecars (.yaml)"), "{error}");
}

#[test]
fn a_directory_with_too_many_files_is_an_error() {
    let world = World::new();
    for index in 0..=2_000 {
        world.write(&format!("{index}.wasm"), "");
    }
    let error = Directory::open(world.config(), world.loader.clone()).unwrap_err();
    assert!(matches!(error, DirectoryError::TooMany { most: 2_000, .. }), "{error}");
}

#[test]
fn one_policy_is_loaded_by_itself() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("strict.yaml", "module: x.wasm\nsettings: v1\norder: 7\n");
    let load = |name: &str| load_one(&policy_files(&world.path(name))?, &FakeLoader::default());
    assert_eq!(&*load("x.wasm").unwrap().name, "x");
    let member = load("strict.yaml").unwrap();
    assert_eq!((&*member.name, member.config.order), ("strict", 7));
    world.write("strict.yaml", "module: x.wasm\nsettings: v2\n");
    assert!(load("strict.yaml").unwrap_err().to_string().ends_with("settings refused: \"v2\" is not for v1"));
}

#[test]
fn a_link_that_leads_nowhere_is_no_group() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    // A link to itself: the system refuses to follow it, whoever asks.
    std::os::unix::fs::symlink("loop", world.path("loop")).unwrap();
    assert_eq!(world.open().roster.failures(), [], "what cannot be known to be a directory is none");
    assert_eq!(tag(&world.open().roster, "x").as_deref(), Some("v1"));
}

#[test]
fn a_library_needs_no_settings_and_is_no_failure() {
    let world = World::new();
    world.write("lib.wasm", &good("v1"));
    world.write("a.yaml", "module: lib.wasm\nsettings: v1\n");
    world.write("gpu/b.yaml", "module: ../lib.wasm\n");
    let roster = world.open().roster;
    assert_eq!(roster.failures(), []);
    assert_eq!((roster.state("lib"), member(&roster, "lib").is_none()), (PolicyState::Library, true));
    assert_eq!(roster.members().count(), 2);
}
