use std::sync::{Arc, OnceLock};

use plimsoll_core::{Annotation, BindMetadata, FaultKind, Label, NotBound, Policy, Preemption, Verb, Verdict};
use plimsoll_harness::workspace;
use plimsoll_policies::{ask, load};
use plimsoll_policy::testing::{Native, World, node, pod};

#[path = "../../../../plugin-sdk/rust/examples/everything.rs"]
#[allow(dead_code, unreachable_pub, reason = "an example of the SDK, here as a module")]
mod example;

use example::Everything;

fn compiled() -> Arc<dyn Policy> {
    static POLICY: OnceLock<Arc<dyn Policy>> = OnceLock::new();
    // `make policies` builds it.
    let make = || load(&workspace().join("target/wasm/wasm32-unknown-unknown/policy/examples/everything.wasm"));
    Arc::clone(POLICY.get_or_init(make))
}

pub(super) fn world() -> World {
    let large = "é".repeat(3000);
    World::new(
        pod("p")
            .namespace("web")
            .label("a", "ä")
            .annotation("empty", "")
            .priority(-5)
            .priority_class("low")
            .controller("batch/v1", "Job", "é")
            .created("2026-01-31T12:00:00Z")
            .request("cpu", "1500m")
            .request("memory", "1Gi")
            .image("web:1")
            .image("proxy"),
    )
    .node(
        node("node-1")
            .label("é", "😀")
            .annotation("a", "1")
            .annotation("large", &large)
            .annotation("score", "100")
            .taint("k", "v", "NoSchedule")
            .taint("l", "", "NoExecute")
            .allocatable("cpu", "4")
            .capacity("cpu", "5")
            .condition("Ready", "Unknown")
            .unschedulable()
            .image("web:1", u64::from(u32::MAX) + 5),
    )
    .node(node("node-2").annotation("verdict", "fits").annotation("score", "7"))
    .node(node("node-3").annotation("verdict", "unresolvable"))
    .placed(
        pod("b")
            .namespace("web")
            .label("app", "web")
            .annotation("a", "x")
            .priority(i32::MAX)
            .request("memory", "6Gi")
            .created("2026-01-31T12:00:00Z")
            .priority_class("high")
            .controller("apps/v1", "ReplicaSet", "b-5d7")
            .phase("Running")
            .on("node-1"),
    )
    .placed(pod("c").namespace("web").label("app", "web").on("node-1"))
    .candidate("node-3", &[], 0)
    .candidate("node-1", &["web/b", "web/c"], 1)
    .candidate("node-1", &["web/b", "web/c"], 2)
    .at(1_769_864_399)
}

pub(super) fn native() -> Arc<dyn Policy> {
    Arc::new(Native::<Everything>::new())
}

pub(super) fn settings(topic: &str) -> String {
    format!(r#"{{"topic": "{topic}"}}"#)
}

#[test]
fn every_read_gives_the_module_what_it_gives_the_native_policy() {
    for topic in ["pod", "node", "placed", "cluster", "field", "large", "time"] {
        let ask = ask(world().view().unwrap(), &settings(topic));
        let native = native().filter(&ask, &[0, 1, 2]).unwrap();
        assert!(matches!(native[0], Verdict::Unschedulable(_)), "{topic}");
        assert_eq!(compiled().filter(&ask, &[0, 1, 2]).unwrap(), native, "{topic}");
    }
}

#[test]
fn without_a_view_of_the_cluster_every_read_of_it_is_none() {
    let ask = ask(world().without_cluster().view().unwrap(), &settings("cluster"));
    let none = "(None, None, None) (None, None, None) (None, None) (None, None) None";
    for policy in [compiled(), native()] {
        assert_eq!(policy.filter(&ask, &[0]).unwrap(), [Verdict::Unschedulable(none.into())]);
    }
}

#[test]
fn every_kind_of_answer_arrives_as_it_was_given() {
    let ask = ask(world().view().unwrap(), &settings("time"));
    let verdicts = compiled().filter(&ask, &[2, 1, 0]).unwrap();
    assert_eq!(verdicts[0], Verdict::Unresolvable("a text that is not allocated".into()));
    assert_eq!(verdicts[1], Verdict::Fits);
    assert_eq!(verdicts[2], Verdict::Unschedulable("1769864399 1769864340 1769860800".into()));
    assert_eq!(compiled().score(&ask, &[0, 1, 2]).unwrap(), [100, 7, 0]);
}

#[test]
fn a_rank_sees_all_nodes_at_once() {
    let grouped = |name: &str, group: &str| node(name).label("group", group).annotation("score", "5");
    let web = |name: &str, on: &str| pod(name).namespace("web").label("app", "web").on(on);
    let world = World::new(pod("p"))
        .node(grouped("node-1", "other"))
        .node(grouped("node-2", "best"))
        .node(node("node-3"))
        .node(grouped("node-4", "best"))
        .placed(web("a", "node-1"))
        .placed(web("b", "node-2"))
        .placed(web("c", "node-2"))
        .placed(pod("d").namespace("web").on("node-4"));
    let ask = ask(world.view().unwrap(), &settings("pod"));
    assert_eq!(compiled().rank(&ask).unwrap(), [5, 7, 0, 5]);
    assert_eq!(Native::<Everything>::new().rank(&ask).unwrap(), [5, 7, 0, 5]);
}

#[test]
fn every_kind_of_preemption_arrives_as_it_was_given() {
    let ask = ask(world().preempt_view().unwrap(), &settings("pod"));
    let expected = [
        Preemption::Keep,
        Preemption::Replace(vec![0]),
        Preemption::Reject(r#"["b", "c"] of ["node-3", "node-1", "node-1"]"#.into()),
    ];
    assert_eq!(compiled().preempt(&ask, &[0, 1, 2]).unwrap(), expected);
    assert_eq!(native().preempt(&ask, &[0, 1, 2]).unwrap(), expected);
}

#[test]
fn what_a_pod_gets_and_why_it_is_not_bound_arrive_as_they_were_given() {
    let on = |name: &str, bind: &str| node(name).annotation("bind", bind);
    let world = world().node(on("node-4", "é\n😀")).node(on("node-5", "later")).node(on("node-6", "nothing"));
    let ask = ask(world.view().unwrap(), &settings("pod"));
    let annotations = vec![Annotation::new("node", "node-4"), Annotation::new("value", "é\n😀")];
    let table = [
        (3, Ok(BindMetadata { annotations, labels: vec![Label::new("rack", "r1")] })),
        (0, Err(NotBound::Refused("p cannot be bound".to_owned()))),
        (4, Err(NotBound::Retry("not yet".to_owned()))),
        (5, Ok(BindMetadata::default())),
    ];
    for (node, expected) in table {
        assert_eq!(compiled().bind(&ask, node).unwrap(), expected);
        assert_eq!(Native::<Everything>::new().bind(&ask, node).unwrap(), expected);
    }
}

#[test]
fn settings_are_refused_with_the_same_words() {
    let table = [
        ("null", "the field topic is missing"),
        (
            r#"{"topic": "pods"}"#,
            "topic: expected pod, node, placed, cluster, field, large, time, panic or refused, found \"pods\"",
        ),
        (r#"{"topic": "pod", "to": 1}"#, "there is no field to; expected topic"),
        (r#"{"topic": "refused"}"#, "topic: é is refused"),
    ];
    for (settings, error) in table {
        let ask = ask(world().view().unwrap(), settings);
        assert_eq!(compiled().validate(&ask).unwrap(), Err(error.to_owned()), "{settings}");
        assert_eq!(Native::<Everything>::new().validate(&ask).unwrap(), Err(error.to_owned()), "{settings}");
    }
    let ask = ask(world().view().unwrap(), &settings("pod"));
    assert_eq!(compiled().validate(&ask).unwrap(), Ok(()));
}

#[test]
fn a_panic_is_a_fault_with_its_text_and_place() {
    let ask = ask(world().view().unwrap(), &settings("panic"));
    let fault = compiled().filter(&ask, &[0]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Panic);
    assert!(fault.detail.contains("no node-1 here, at "), "{}", fault.detail);
    assert!(fault.detail.contains("everything.rs:"), "{}", fault.detail);
    let native = native().filter(&ask, &[0]).unwrap_err();
    assert_eq!(native.kind, FaultKind::Panic);
}

#[test]
fn a_module_exports_the_verbs_that_the_macro_names() {
    let verbs: Vec<Verb> = compiled().verbs().iter().collect();
    assert_eq!(verbs, Verb::ALL);
    assert_eq!(Native::<Everything>::new().verbs(), compiled().verbs());
}
