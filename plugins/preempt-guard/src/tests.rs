use plimsoll_policy::testing::{PodBuilder, World, node, pod, run_cases, settings};

use super::*;

/// 2026-01-31T12:00:00Z.
const NOON: u64 = 1_769_860_800;

fn victim(name: &str) -> PodBuilder {
    pod(name).namespace("web").on("node-1")
}

fn world(victims: impl IntoIterator<Item = PodBuilder>) -> World {
    let world = World::new(pod("urgent").priority(1000)).node(node("node-1")).at(NOON);
    victims.into_iter().fold(world, World::placed)
}

#[test]
fn every_case_holds() {
    run_cases::<PreemptGuard>("cases");
}

#[test]
fn a_pod_is_guarded_until_it_is_old_enough() {
    let policy: PreemptGuard = settings("minAgeSeconds: 300").unwrap();
    let answer = |created: &str| {
        let world = world([victim("a").created(created)]).candidate("node-1", &["web/a"], 0);
        world.preempt(&policy, "node-1")
    };
    assert_eq!(answer("2026-01-31T11:55:00Z"), Preemption::Keep);
    assert_eq!(answer("2026-01-31T11:55:01Z"), Preemption::reject(YOUNG));
    assert_eq!(answer("2026-01-31T12:05:00Z"), Preemption::reject(YOUNG));
}

#[test]
fn as_many_victims_as_allowed_are_allowed() {
    let policy: PreemptGuard = settings("maxVictims: 1").unwrap();
    let world = world([victim("a"), victim("b")]);
    assert_eq!(world.clone().candidate("node-1", &["web/a"], 0).preempt(&policy, "node-1"), Preemption::Keep);
    let two = world.candidate("node-1", &["web/a", "web/b"], 0);
    assert_eq!(two.preempt(&policy, "node-1"), Preemption::reject(MANY));
}

#[test]
fn a_limit_that_forbids_every_preemption_is_refused() {
    let error = settings::<PreemptGuard>("maxVictims: 0").unwrap_err();
    assert_eq!(error, "maxVictims: expected at least 1; leave the key out for no limit");
}
