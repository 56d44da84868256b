//! Facts from outside: who may read them, what their absence means, and which cached answers a new value ends.

use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::fixture::*;
use crate::{
    decide::{DecideError, Member, NodeObject, Nodes, Query, Roster},
    model::{
        AbsentFacts, FactAccess, FactSource, Facts, Fault, FaultKind, Node, Read, ReadError, Value, Verdict, View,
    },
};

const NAMES: [&str; 3] = ["n1", "n2", "n3"];

/// Facts of the source `load` by key.
fn mk_facts(load: &[(&str, &str)]) -> Facts {
    Facts::from_iter([(Arc::from("load"), Arc::new(FactSource::from_texts(load.iter().copied()).unwrap()))])
}

fn load_of(view: &View, node: u32) -> Result<Option<f64>, ReadError> {
    view.read(Read::FactsNodeNumber { node, source: "load" }).map(|value| match value {
        Value::Real(load) => Some(load.get()),
        other => {
            assert_eq!(other, Value::Absent);
            None
        }
    })
}

/// Turns nodes down that have a load above a half; those without any fit.
fn mk_below_half() -> FakePolicy {
    FakePolicy::default().function().filter(|ask, nodes| {
        let verdict = |node: &u32| match load_of(&ask.view, *node) {
            Ok(Some(load)) if load > 0.5 => Ok(unschedulable(&format!("load {load}"))),
            Ok(_) => Ok(Verdict::Fits),
            Err(ReadError::AbsentFact(_)) => Err(Fault::new(FaultKind::AbsentFact, "there is no load")),
            Err(error) => Err(Fault::new(FaultKind::Read, error.to_string())),
        };
        nodes.iter().map(verdict).collect()
    })
}

fn mk_reading(policy: FakePolicy, sources: &[(&str, &str)], absent: AbsentFacts) -> Arc<Member> {
    let member = Arc::into_inner(mk_member("load", policy, |config| config.absent_facts = absent)).unwrap();
    Arc::new(Member { fact_access: Arc::new(FactAccess::new(sources.iter().copied(), absent)), ..member })
}

fn mk_fixture(absent: AbsentFacts) -> Fixture {
    Fixture::of([mk_reading(mk_below_half(), &[("load", "load")], absent)])
}

/// The nodes that are rejected, by name.
fn refused(fixture: &Fixture) -> Vec<String> {
    fixture.filter(&NAMES).unwrap().into_keys().collect()
}

#[test]
fn a_new_value_ends_the_answers_of_its_node_alone() {
    let fixture = mk_fixture(AbsentFacts::Default);
    fixture.gateway.set_facts(&mk_facts(&[("n1", "0.1"), ("n2", "0.2"), ("n3", "0.9")]));
    assert_eq!(refused(&fixture), ["n3"]);
    fixture.evaluated();
    assert_eq!((refused(&fixture), fixture.evaluated()), (vec!["n3".to_owned()], vec![0]));
    fixture.gateway.set_facts(&mk_facts(&[("n1", "0.1"), ("n2", "0.7"), ("n3", "0.9")]));
    assert_eq!((refused(&fixture), fixture.evaluated()), (vec!["n2".to_owned(), "n3".to_owned()], vec![1]));
    // A value that was seen before, of any node, needs no call.
    fixture.gateway.set_facts(&mk_facts(&[("n1", "0.9"), ("n2", "0.1"), ("n3", "0.7")]));
    assert_eq!((refused(&fixture), fixture.evaluated()), (vec!["n1".to_owned(), "n3".to_owned()], vec![0]));
    fixture.gateway.set_facts(&Facts::default());
    assert_eq!((refused(&fixture), fixture.evaluated()), (vec![], vec![1]), "absence is a value");
}

#[test]
fn a_fact_by_its_key_is_one_value_for_all_nodes() {
    let filter = FakePolicy::default().function().filter_each(|view, _| {
        match view.read(Read::FactsText { source: "load", key: "all" }) {
            Ok(Value::Text(text)) => unschedulable(&text),
            other => {
                assert_eq!(other, Ok(Value::Absent));
                Verdict::Fits
            }
        }
    });
    let fixture = Fixture::of([mk_reading(filter, &[("load", "load")], AbsentFacts::Default)]);
    let reasons = || fixture.filter(&NAMES).unwrap().into_values().map(|(reason, _)| reason).collect::<Vec<_>>();
    assert!(reasons().is_empty());
    fixture.gateway.set_facts(&mk_facts(&[("all", "much"), ("n1", "1")]));
    assert_eq!(reasons(), ["load: much"; 3]);
    fixture.evaluated();
    fixture.gateway.set_facts(&mk_facts(&[("all", "much"), ("n1", "2")]));
    assert_eq!((reasons(), fixture.evaluated()), (vec!["load: much".to_owned(); 3], vec![0]), "it did not read that");
    fixture.gateway.set_facts(&mk_facts(&[("all", "more")]));
    assert_eq!(reasons(), ["load: much"; 3], "the same nodes are rejected as a moment before");
    fixture.clock.advance(Duration::from_mins(1));
    assert_eq!(reasons(), ["load: more"; 3]);
}

#[test]
fn a_node_is_found_by_its_name_or_an_address() {
    let mut nodes = NAMES.map(|name| mk_node(name, &[]));
    nodes[1]["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.2"}]);
    nodes[2]["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.3"}]);
    let member = mk_reading(mk_below_half(), &[("load", "load")], AbsentFacts::Default);
    let fixture = Fixture::new(vec![member], Some(mk_cluster(&nodes, &[])));
    fixture.gateway.set_facts(&mk_facts(&[("n1", "0.9"), ("10.0.0.2", "0.9"), ("10.0.0.3", "0.9"), ("n3", "0.1")]));
    assert_eq!(refused(&fixture), ["n1", "n2"], "the name comes first");
    // A node that gets another address has another fact.
    nodes[0]["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.1"}]);
    nodes[1]["status"]["addresses"] = json!([{"type": "InternalIP", "address": "10.0.0.7"}]);
    let next = mk_cluster(&nodes, &[]);
    fixture.gateway.set_cluster(Arc::new(fixture.gateway.cluster().unwrap().successor(next.slots().clone())));
    assert_eq!(refused(&fixture), ["n1"]);
}

#[test]
fn the_sidecar_says_what_absence_means() {
    let filter = |absent| mk_fixture(absent).filter_outcome(&NAMES).map(|outcome| outcome.rejected.len());
    assert_eq!(filter(AbsentFacts::Default), Ok(0));
    assert_eq!(filter(AbsentFacts::Ignore), Ok(0));
    let Err(DecideError::Policy { fault, .. }) = filter(AbsentFacts::Fail) else { panic!("it failed") };
    assert_eq!(fault.kind, FaultKind::AbsentFact);
    let fixture = mk_fixture(AbsentFacts::Ignore);
    for _ in 0..10 {
        fixture.filter_outcome(&NAMES).unwrap();
    }
    assert_eq!(fixture.opened(), Vec::<String>::new(), "the policy is not to blame");
    fixture.gateway.set_facts(&mk_facts(&[("n1", "0.1"), ("n2", "0.9"), ("n3", "0.2")]));
    assert_eq!(refused(&fixture), ["n2"]);
}

#[test]
fn a_source_that_the_sidecar_does_not_name_cannot_be_read() {
    let member = mk_reading(mk_below_half(), &[("other", "load")], AbsentFacts::Default);
    let fixture = Fixture::of([member]);
    fixture.gateway.set_facts(&mk_facts(&[("n1", "0.1")]));
    let Err(DecideError::Policy { fault, .. }) = fixture.filter_outcome(&NAMES) else { panic!("it failed") };
    let expected = "the policy reads the source of facts 'load', which is not named under `facts`";
    assert!(fault.detail.starts_with(expected), "{fault}");
}

#[test]
fn two_policies_may_have_files_of_their_own_under_one_name() {
    let with_file = |name: &'static str, load: &str| {
        let file = format!("file:{name}.csv");
        let member = mk_reading(mk_below_half(), &[("load", &file)], AbsentFacts::Default);
        let source = Arc::new(FactSource::from_texts([("n1", load)]).unwrap());
        let member = Arc::into_inner(member).unwrap();
        Arc::new(Member { name: name.into(), id: name.into(), sidecar_facts: [(file.into(), source)].into(), ..member })
    };
    let fixture = Fixture::of([with_file("a", "0.1"), with_file("b", "0.9")]);
    let reasons = |fixture: &Fixture| fixture.filter(&NAMES).unwrap();
    assert_eq!(reasons(&fixture)["n1"].0, "b: load 0.9");
    fixture.gateway.set_roster(Arc::new(Roster::of_root(vec![with_file("a", "0.8"), with_file("b", "0.9")])));
    assert_eq!(reasons(&fixture)["n1"].0, "a: load 0.8");
}

#[test]
fn whole_nodes_have_facts_too_with_a_cluster_and_without() {
    let objects: Vec<NodeObject> = NAMES.iter().map(|name| NodeObject::Json(bytes(&mk_node(name, &[])))).collect();
    for cluster in [None, Some(mk_three())] {
        let member = mk_reading(mk_below_half(), &[("load", "load")], AbsentFacts::Default);
        let fixture = Fixture::new(vec![member], cluster);
        for (load, expected) in [("0.9", 1), ("0.1", 0), ("0.8", 1)] {
            fixture.gateway.set_facts(&mk_facts(&[("n2", load)]));
            let query = Query { ..fixture.query(Nodes::Objects(&objects)) };
            let (outcome, after) = fixture.gateway.filter("", &query).unwrap();
            after.run();
            assert_eq!(outcome.rejected.len(), expected, "{load}");
        }
    }
}

#[test]
fn more_reads_of_a_node_than_are_kept_one_by_one_still_see_a_new_fact() {
    let filter = FakePolicy::default().function().filter_each(|view, node| {
        for key in 0..20 {
            view.read(Read::Node(node, crate::model::NodeRead::Label(&key.to_string()))).unwrap();
        }
        match load_of(view, node) {
            Ok(Some(load)) if load > 0.5 => unschedulable("busy"),
            _ => Verdict::Fits,
        }
    });
    let fixture = Fixture::of([mk_reading(filter, &[("load", "load")], AbsentFacts::Default)]);
    for (load, expected) in [("0.1", 0), ("0.9", 1), ("0.2", 0)] {
        fixture.gateway.set_facts(&mk_facts(&[("n2", load)]));
        assert_eq!(refused(&fixture).len(), expected, "{load}");
        assert_eq!(refused(&fixture).len(), expected, "{load}");
    }
}

#[test]
fn a_node_record_has_its_addresses() {
    let mut node = mk_node("n1", &[]);
    node["status"]["addresses"] = json!([{"type": "Hostname", "address": "n1"}, {"address": "10.0.0.1"}]);
    let node = Node::from_json(bytes(&node)).unwrap();
    assert_eq!(node.addresses().collect::<Vec<_>>(), ["10.0.0.1"]);
}
