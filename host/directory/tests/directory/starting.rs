//! From the first moment on, each policy that was there is either in force or its `onError` applies.

use std::{
    fs,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::{Duration, Instant},
};

use bytes::Bytes;
use plimsoll_core::{
    Fault, FaultKind, Gateway, NoObserver, NodeObject, Nodes, Pod, PolicyState, Query, Roster, ScoreScale, SystemClock,
};
use plimsoll_directory::{ChangeKind, Directory, DirectoryConfig};

use crate::{
    fake::good,
    world::{World, member, tag},
};

/// A change that somebody makes to the files.
type Deed = fn(&World);

/// Asks the root's filters about one node for a pod of this namespace; answers the error, or the reason if there is one.
pub(crate) fn filter(roster: &Arc<Roster>, namespace: &str) -> Result<Option<String>, String> {
    filter_about(roster, namespace, "u")
}

/// The same for a pod with this UID.
pub(crate) fn filter_about(roster: &Arc<Roster>, namespace: &str, uid: &str) -> Result<Option<String>, String> {
    ask(roster, namespace, uid, |gateway, query| {
        let (outcome, after) =
            gateway.begin("").map_err(|error| error.to_string())?.filter(query).map_err(|error| error.to_string())?;
        after.run();
        Ok(outcome.rejected.first().map(|rejection| outcome.reason(*rejection).to_string()))
    })
}

/// Asks the root's scores about one node for a pod.
pub(crate) fn prioritize_about(roster: &Arc<Roster>, namespace: &str, uid: &str) -> Result<(), String> {
    ask(roster, namespace, uid, |gateway, query| {
        let (_, after) = gateway
            .begin("")
            .map_err(|error| error.to_string())?
            .prioritize(ScoreScale::Coarse, query)
            .map_err(|error| error.to_string())?;
        after.run();
        Ok(())
    })
}

/// Asks a gateway with this roster about one node.
fn ask<T>(roster: &Arc<Roster>, namespace: &str, uid: &str, question: impl FnOnce(&Gateway, &Query<'_>) -> T) -> T {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(10));
    gateway.set_roster(Arc::clone(roster));
    let pod = format!(r#"{{"metadata": {{"name": "p", "namespace": "{namespace}", "uid": "{uid}"}}}}"#);
    let pod = Arc::new(Pod::from_json(Bytes::from(pod)).unwrap());
    let nodes = [NodeObject::Json(Bytes::from_static(br#"{"metadata": {"name": "n"}}"#))];
    let nodes = Nodes::Objects(&nodes);
    question(&gateway, &Query { pod, nodes, received: Instant::now(), may_bind: true })
}

fn not_loaded(policy: &str) -> Result<Option<String>, String> {
    let detail = "no version of it is in force; /api/policies says why";
    Err(format!("policy {policy} failed to filter: {}", Fault::new(FaultKind::NotLoaded, detail)))
}

#[test]
fn until_it_is_loaded_the_rule_of_a_policy_holds_for_the_pods_of_its_sidecar() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", "match:\n  namespaces: [a]\n");
    world.loader.hold("v1");
    let mut watched = world.start(world.config());
    assert_eq!(watched.roster.state("x"), PolicyState::Loading);
    assert_eq!(filter(&watched.roster, "a"), not_loaded("x"));
    assert_eq!(filter(&watched.roster, "b"), Ok(None));
    world.loader.let_go("v1");
    watched.wait_for_tag("x", "v1");
    assert_eq!(filter(&watched.roster, "a"), Ok(Some("x: v1".to_owned())));
}

#[test]
fn what_stands_in_follows_the_mode_and_the_on_error_of_the_sidecar() {
    for (sidecar, expected) in [
        ("onError: fail", not_loaded("x")),
        ("order: 5", not_loaded("x")),
        ("onError: ignore", Ok(None)),
        ("mode: shadow", Ok(None)),
        ("mode: off", Ok(None)),
        // It cannot be read, so nobody knows the pods that the rule is for.
        ("mode: of", not_loaded("x")),
    ] {
        let world = World::new();
        world.write("x.wasm", "bad");
        world.write("x.yaml", sidecar);
        let mut watched = world.start(world.config());
        assert_eq!(filter(&watched.roster, "a"), expected, "{sidecar}, before it is tried");
        if sidecar == "mode: off" {
            assert_eq!((watched.roster.state("x"), watched.roster.failures()), (PolicyState::Off, &[][..]));
            continue;
        }
        watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
        assert_eq!(filter(&watched.roster, "a"), expected, "{sidecar}, after it was refused");
    }
}

#[test]
fn a_policy_that_is_bad_at_the_start_counts_until_it_is_mended_switched_off_or_removed() {
    let mend: [(&str, Deed); 3] = [
        ("mended", |world| world.put("x.wasm", &good("v1"))),
        ("switched off", |world| world.put("x.yaml", "mode: off\n")),
        ("removed", |world| world.remove("x.wasm")),
    ];
    for (how, mend) in mend {
        let world = World::new();
        world.write("x.wasm", "bad");
        world.write("other.wasm", &good("a"));
        world.write("other.yaml", "mode: off\n");
        let mut watched = world.start(world.config());
        watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
        assert_eq!(filter(&watched.roster, "a"), not_loaded("x"));
        mend(&world);
        watched.wait_for(how, |roster| filter(&Arc::new(roster.clone()), "a") != not_loaded("x"));
    }
}

#[test]
fn a_bad_policy_that_comes_later_takes_nothing_out() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", "mode: off\n");
    let mut watched = world.start(world.config());
    assert_eq!(watched.roster.state("x"), PolicyState::Off);
    world.write("y.wasm", "bad");
    watched.wait_for("a failure", |roster| roster.state("y") == PolicyState::Failed);
    assert_eq!(filter(&watched.roster, "a"), Ok(None));
}

#[test]
fn with_allow_degraded_nothing_stands_in() {
    let world = World::new();
    world.write("x.wasm", "bad");
    let mut watched = world.start(DirectoryConfig { allow_degraded: true, ..world.config() });
    assert_eq!(filter(&watched.roster, "a"), Ok(None));
    watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
    assert_eq!(filter(&watched.roster, "a"), Ok(None));
}

/// A new pod has no last good version: where a key is lost from its ConfigMap, nobody knows that the policy was in shadow mode.
#[test]
fn a_module_whose_sidecar_is_lost_is_refused_by_a_gateway_that_requires_sidecars() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("lib.wasm", &good("v1"));
    world.write("y.yaml", "module: lib.wasm\n");
    let mut watched = world.start(DirectoryConfig { require_sidecars: true, ..world.config() });
    watched.wait_for_tag("y", "v1");
    watched.wait_for("a failure", |roster| roster.state("x") == PolicyState::Failed);
    let told = "x.yaml: the sidecar is missing: expected one, '{}' for the defaults, or no module either";
    assert_eq!(world.failure(&watched.roster), told);
    assert_eq!(filter(&watched.roster, "a"), not_loaded("x"));
    world.write("x.yaml", "{}\n");
    watched.wait_for_tag("x", "v1");
    // A module that served another policy is no policy of its own, either.
    world.remove("y.yaml");
    watched.wait_for("a failure", |roster| roster.state("lib") == PolicyState::Failed);
    assert!(member(&watched.roster, "lib").is_none() && member(&watched.roster, "y").is_none());
}

#[test]
fn a_library_does_not_stand_in() {
    let world = World::new();
    world.write("lib.wasm", &good("v1"));
    world.write("a.yaml", "module: lib.wasm\nmode: off\n");
    let watched = world.start(world.config());
    assert_eq!(watched.roster.state("lib"), PolicyState::Library);
    assert_eq!(filter(&watched.roster, "a"), Ok(None));
}

#[test]
fn what_passes_is_tried_again_and_what_does_not_is_left_alone() {
    let world = World::new();
    world.loader.busy.lock().unwrap().insert("v1".to_owned(), 1);
    world.write("x.wasm", &good("v1"));
    world.write("bad.wasm", "bad");
    let mut watched = world.start(world.config());
    watched.wait_for_tag("x", "v1");
    assert_eq!(world.loader.loads_of("v1"), 2);
    let refusals = watched.changes.iter().filter(|change| matches!(change.kind, ChangeKind::Refused { .. })).count();
    assert_eq!(refusals, 2, "each is told once: {:?}", watched.changes);
}

#[test]
fn an_empty_directory_is_a_failure_that_names_it_unless_it_is_allowed() {
    let world = World::new();
    let config = DirectoryConfig { allow_empty: false, ..world.config() };
    let update = Directory::open(config.clone(), world.loader.clone()).unwrap().1;
    let expected = format!("{} holds no policies: expected .wasm files", world.path("").display());
    let [failure] = update.roster.failures() else { panic!("{:?}", update.roster.failures()) };
    assert!(failure.error.starts_with(&expected) && !failure.kept, "{failure:?}");
    assert_eq!(world.open().roster.failures(), []);
    let mut watched = world.start(config);
    world.write("x.wasm", &good("v1"));
    watched.wait_for_tag("x", "v1");
    watched.wait_for("no failure", |roster| roster.failures().is_empty());
}

/// As far as this user may open it: the read must not wait for the kernel's next message.
#[test]
fn a_file_that_makes_its_reader_wait_is_refused() {
    let world = World::new();
    let status = std::process::Command::new("mkfifo").arg(world.path("pipe.wasm")).status().unwrap();
    assert!(status.success());
    std::os::unix::fs::symlink("/proc/kmsg", world.path("kernel.wasm")).unwrap();
    std::os::unix::fs::symlink("/proc/kmsg", world.path("sidecar.yaml")).unwrap();
    world.write("x.wasm", &good("v1"));
    let roster = world.open().roster;
    assert_eq!(tag(&roster, "x").as_deref(), Some("v1"));
    for id in ["pipe", "kernel", "sidecar"] {
        assert_eq!(roster.state(id), PolicyState::Failed, "{id}");
        assert!(member(&roster, id).is_none());
    }
    fs::remove_file(world.path("pipe.wasm")).unwrap();
}

/// A file that is touched is not another one: a refused module is not compiled again.
#[test]
fn refused_content_is_not_tried_again_because_it_was_written_again() {
    let world = World::new();
    world.write("x.wasm", "bad");
    world.write("other.wasm", &good("a"));
    let mut watched = world.watch();
    world.put("x.wasm", "bad");
    world.put("other.wasm", &good("b"));
    watched.wait_for_tag("other", "b");
    assert_eq!(world.loader.refusals.load(SeqCst), 1);
}
