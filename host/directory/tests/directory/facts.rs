//! Facts in files that sidecars name.

use std::{fs, sync::Arc, time::Duration};

use plimsoll_core::{Gateway, Member, NoObserver, Roster, SystemClock};
use plimsoll_system::digest::{hex, sha256};

use crate::{
    fake::good,
    world::{World, member},
};

/// The text of a fact in a policy's own source.
fn own_fact(member: &Member, source: &str, key: &str) -> Option<String> {
    let global = member.fact_access.names().find(|(own, _)| *own == source)?.1.to_owned();
    let (_, facts) = member.sidecar_facts.iter().find(|(name, _)| **name == *global)?;
    facts.by_key(key).map(|value| value.text().to_owned())
}

fn price(roster: &Roster, policy: &str) -> Option<String> {
    let member = member(roster, policy)?;
    own_fact(&member, "prices", "node-1")
}

#[test]
fn a_sidecar_names_a_file_of_its_own_directory_and_the_file_is_followed() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", "facts: [prices.csv, load]\n");
    world.write("prices.csv", "# EUR\nnode-1,0.5\n");
    world.write("gpu/x.yaml", "module: ../x.wasm\nfacts: [prices.csv]\n");
    world.write("gpu/prices.csv", "node-1,7\n");
    let mut watched = world.watch();
    assert_eq!(price(&watched.roster, "x").as_deref(), Some("0.5"));
    assert_eq!(price(&watched.roster, "gpu/x").as_deref(), Some("7"));
    let first = member(&watched.roster, "x").unwrap();
    let names: Vec<(String, String)> =
        first.fact_access.names().map(|(own, global)| (own.to_owned(), global.to_owned())).collect();
    let pair = |alias: &str, global: &str| (alias.to_owned(), global.to_owned());
    let file = format!("file:prices.csv@{}", hex(&sha256(b"# EUR\nnode-1,0.5\n")[..8]));
    assert_eq!(names, [pair("load", "load"), pair("prices", &file)]);
    let loads = world.loader.loads_of("v1");
    world.write("prices.csv", "node-1,0.25\n");
    watched.wait_for("the new price", |roster| price(roster, "x").as_deref() == Some("0.25"));
    assert_eq!(price(&watched.roster, "gpu/x").as_deref(), Some("7"), "another group has a file of its own");
    assert_eq!(world.loader.loads_of("v1"), loads, "nothing is compiled for it");
}

#[test]
fn versions_that_read_one_file_at_two_moments_each_have_their_facts_in_force() {
    let world = World::new();
    world.write("prices.csv", "node-1,0.5\n");
    world.write("x.wasm", &good("v1"));
    let sidecar = "module: x.wasm\nfacts: [prices.csv]\n";
    for policy in ["w", "x", "y"] {
        world.write(&format!("{policy}.yaml"), sidecar);
    }
    let mut watched = world.watch();
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(1));
    let in_force = |policy: &str, roster: &Roster| {
        let member = member(roster, policy).unwrap();
        let global = member.fact_access.names().next().unwrap().1.to_owned();
        gateway.facts().source(&global).and_then(|source| Some(source.by_key("node-1")?.text().to_owned()))
    };
    // The versions of two policies stay in force with their facts, on both sides of the new one.
    world.put("w.yaml", &format!("{sidecar}bad: 1\n"));
    world.put("y.yaml", &format!("{sidecar}bad: 1\n"));
    watched.wait_for("two failures", |roster| roster.failures().len() == 2);
    world.put("prices.csv", "node-1,0.25\n");
    watched.wait_for("the new price", |roster| price(roster, "x").as_deref() == Some("0.25"));
    gateway.set_roster(Arc::new(Roster::clone(&watched.roster)));
    for (policy, expected) in [("w", "0.5"), ("x", "0.25"), ("y", "0.5")] {
        assert_eq!(in_force(policy, &watched.roster).as_deref(), Some(expected), "{policy}");
    }
}

#[test]
fn a_bad_file_leaves_the_last_good_facts_in_force() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", "facts: [prices.csv]\n");
    world.write("prices.csv", "node-1,0.5\n");
    let mut watched = world.watch();
    let before = member(&watched.roster, "x").unwrap();
    for (bad, expected) in [
        ("node-1", "prices.csv:1: found 'node-1': expected a key, a comma and a value"),
        ("node-1,1\nnode-1,2", "prices.csv:2: the key 'node-1' has two values, 1 and 2: expected one for each key"),
    ] {
        world.put("prices.csv", bad);
        watched
            .wait_for("a failure", |roster| roster.failures().iter().any(|failure| failure.error.ends_with(expected)));
        assert!(Arc::ptr_eq(&before, &member(&watched.roster, "x").unwrap()), "{bad}");
    }
    world.put("prices.csv", "node-1,0.75\n");
    watched.wait_for("the new price", |roster| price(roster, "x").as_deref() == Some("0.75"));
    assert!(watched.roster.failures().is_empty());
}

#[test]
fn a_version_that_reads_a_source_its_sidecar_does_not_name_is_refused() {
    let world = World::new();
    world.write("x.wasm", &good("reads"));
    world.write("x.yaml", "facts: [load]\n");
    let mut watched = world.watch();
    let before = member(&watched.roster, "x").unwrap();
    world.put("x.yaml", "facts: [budgt]\n");
    watched.wait_for("a failure", |roster| !roster.failures().is_empty());
    let expected = "x.wasm: every call of filter would fail, as a trial did: read: the policy reads the source of facts \
                    'load', which is not named under `facts` of its sidecar or test case";
    assert_eq!(world.failure(&watched.roster), expected);
    assert!(Arc::ptr_eq(&before, &member(&watched.roster, "x").unwrap()), "the last good one stays");
}

#[test]
fn a_file_with_facts_is_a_bounded_regular_file_of_the_sidecars_directory() {
    let world = World::new();
    world.write("x.wasm", &good("v1"));
    world.write("x.yaml", "facts: [prices.csv]\n");
    fs::write(world.path("prices.csv"), vec![b'#'; (1 << 20) + 1]).unwrap();
    let failure = world.failure(&world.open().roster);
    assert_eq!(failure, "prices.csv is larger than 1048576 bytes, the most for a file with facts");
    world.remove("prices.csv");
    fs::create_dir(world.path("prices.csv")).unwrap();
    let failure = world.failure(&world.open().roster);
    assert_eq!(failure, "prices.csv is not a regular file: expected a file with facts");
    fs::remove_dir(world.path("prices.csv")).unwrap();
    let failure = world.failure(&world.open().roster);
    assert!(failure.starts_with("prices.csv cannot be read: No such file"), "{failure}");
    for path in ["../secret.csv", "/etc/passwd", "gpu/other.csv"] {
        world.write("x.yaml", &format!("facts: ['{path}']\n"));
        let failure = world.failure(&world.open().roster);
        assert!(failure.contains("1:9: facts: found '"), "{failure}");
    }
}
