use plimsoll_policy::testing::{World, node, pod, run_cases, settings};

use super::*;

fn policy() -> TenantPool {
    settings("pools: {team-a: pool-a, team-b: pool-b}\nshared: [shared]").unwrap()
}

fn world(namespace: &str) -> World {
    let pool = |name: &str, pool: &str| node(name).label("example.com/pool", pool);
    World::new(pod("p").namespace(namespace))
        .node(pool("a", "pool-a"))
        .node(pool("b", "pool-b"))
        .node(pool("shared", "shared"))
        .node(node("plain"))
}

#[test]
fn every_case_holds() {
    run_cases::<TenantPool>("cases");
}

#[test]
fn a_tenant_never_leaves_its_own_and_the_shared_pools() {
    let world = world("team-a");
    let fits = |node| world.filter(&policy(), node) == Verdict::Fits;
    assert_eq!(["a", "b", "shared", "plain"].map(fits), [true, false, true, false]);
}

#[test]
fn a_namespace_without_a_pool_stays_out_of_every_tenants() {
    let world = world("web");
    let fits = |node| world.filter(&policy(), node) == Verdict::Fits;
    assert_eq!(["a", "b", "shared", "plain"].map(fits), [false, false, true, true]);
}
