use std::{sync::Arc, time::Duration};

use plimsoll_core::{Cluster, Node, Pod};

use super::*;

fn filter(output: &[u8], view: &View) -> Result<Vec<Verdict>, Fault> {
    super::filter(output, view, Instant::now() + Duration::from_hours(1))
}

fn prioritize(output: &[u8], view: &View) -> Result<Vec<u32>, Fault> {
    super::prioritize(output, view, Instant::now() + Duration::from_hours(1))
}

fn view() -> View {
    let node = |n: u32| Node::from_json(format!(r#"{{"metadata":{{"name":"n{n}"}}}}"#).into()).unwrap();
    let cluster = Cluster::from_objects((0..3).map(node).collect(), vec![]);
    View::new(Arc::new(Pod::default()), Arc::new(cluster), (0..3).collect(), 0)
}

/// A request may name a node twice; an answer names it once.
#[test]
fn a_statement_is_about_all_nodes_of_its_name() {
    let node = |name: &str| Node::from_json(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into()).unwrap();
    let cluster = Arc::new(Cluster::from_objects(["n0", "n1", "n0"].map(node).into(), vec![]));
    let rejected = || Verdict::Unschedulable("full".into());
    // One slot twice, as names give it, and two whole nodes of one name.
    for slots in [&[0, 0, 1][..], &[0, 2, 1]] {
        let view = View::new(Arc::new(Pod::default()), Arc::clone(&cluster), slots.into(), 0);
        let filter = |answer: &str| filter(answer.as_bytes(), &view);
        let verdicts = filter(r#"{"NodeNames":["n1"],"FailedNodes":{"n0":"full"}}"#).unwrap();
        assert_eq!(verdicts, [rejected(), rejected(), Verdict::Fits]);
        let verdicts = filter(r#"{"NodeNames":["n0"],"FailedNodes":{"n1":"full"}}"#).unwrap();
        assert_eq!(verdicts, [Verdict::Fits, Verdict::Fits, rejected()]);
        let dropped = Verdict::Unresolvable(WITHOUT_REASON.into());
        assert_eq!(filter(r#"{"NodeNames":["n1"]}"#).unwrap(), [dropped.clone(), dropped, Verdict::Fits]);
        assert!(filter(r#"{"NodeNames":["n0","n1","n0"]}"#).unwrap_err().detail.contains("twice"));
        assert_eq!(prioritize(br#"[{"Host":"n0","Score":7},{"Host":"n1","Score":1}]"#, &view).unwrap(), [70, 70, 10]);
    }
}

/// kube-scheduler takes these answers: `NodeNames`, or `Nodes`, alone says which nodes stay.
#[test]
fn a_node_in_no_list_of_an_answer_is_rejected_with_a_standard_reason() {
    let dropped = || Verdict::Unresolvable("no reason given".into());
    let no_device = Verdict::Unschedulable("no device".into());
    let nulls = r#"{"Nodes":null,"NodeNames":null,"FailedNodes":null,"FailedAndUnresolvableNodes":null,"Error":""}"#;
    for (answer, expected) in [
        (r#"{"NodeNames":["n1"],"FailedNodes":{"n0":"no device"},"Error":""}"#, [no_device, Verdict::Fits, dropped()]),
        (r#"{"Nodes":{"items":[{"metadata":{"name":"n2"}}]}}"#, [dropped(), dropped(), Verdict::Fits]),
        (r#"{"NodeNames":[]}"#, [dropped(), dropped(), dropped()]),
        (nulls, [dropped(), dropped(), dropped()]),
        ("{}", [dropped(), dropped(), dropped()]),
    ] {
        assert_eq!(filter(answer.as_bytes(), &view()).unwrap(), expected, "{answer}");
    }
}

/// The faults of these answers to filter contain these texts.
fn assert_faults(cases: &[(&str, &str)]) {
    for (answer, expected) in cases {
        let fault = filter(answer.as_bytes(), &view()).unwrap_err();
        assert!(fault.detail.contains(expected), "{answer}: {fault}");
        assert_eq!(fault.kind, FaultKind::Output, "{answer}: {fault}");
    }
}

#[test]
fn a_node_that_is_unknown_or_named_twice_is_named() {
    assert_faults(&[
        (r#"{"NodeNames":["n0","n0"]}"#, "node 'n0' is in NodeNames twice"),
        (r#"{"NodeNames":["a","a"]}"#, "NodeNames names node 'a', which is not in the request"),
        (
            r#"{"Nodes":{"items":[{"metadata":{"name":"n1"}},{"metadata":{"name":"n1"}}]}}"#,
            "node 'n1' is in Nodes twice",
        ),
        (r#"{"FailedNodes":{"n1":"a","n1":"b"}}"#, "node 'n1' is in FailedNodes twice"),
        (r#"{"FailedAndUnresolvableNodes":{"b":""}}"#, "FailedAndUnresolvableNodes names node 'b'"),
    ]);
    let fault = prioritize(br#"[{"Score":1,"Host":"n0"},{"Host":"n0","Score":1}]"#, &view()).unwrap_err();
    assert!(fault.detail.contains("node 'n0' is in the HostPriorityList twice"), "{fault}");
}

/// The text is not whole: a parser that goes on finds its end.
#[test]
fn a_list_that_is_longer_than_any_cluster_ends_the_parser() {
    let names = r#""n0","#.repeat(MAX_ENTRIES + 1);
    assert_faults(&[(&format!(r#"{{"NodeNames":[{names}"#), "a list of more than 1000000 entries")]);
}

#[test]
fn a_fault_is_short_whatever_it_quotes() {
    let long = "n".repeat(1 << 20);
    for answer in [format!(r#"{{"NodeNames":"{long}"}}"#), format!(r#"{{"NodeNames":["{long}"]}}"#)] {
        let fault = filter(answer.as_bytes(), &view()).unwrap_err();
        assert!(fault.kind == FaultKind::Output && fault.detail.len() <= MAX_DETAIL_BYTES, "{fault}");
    }
}

#[test]
fn a_key_that_is_there_twice_or_missing_is_named() {
    assert_faults(&[
        (r#"{"NodeNames":["n0"],"nodenames":["n1"]}"#, "duplicate field `NodeNames`"),
        (r#"{"Nodes":{"items":[{}]}}"#, "missing field `metadata`"),
        (r#"{"Nodes":{"items":[{"metadata":{"labels":{"name":"n0"}}}]}}"#, "missing field `name`"),
        (r#"{"Nodes":{"items":[null]}}"#, "invalid type: null, expected struct Node"),
    ]);
}

#[test]
fn other_keys_are_ignored_and_the_order_of_keys_is_free() {
    let answer = r#"{"Items":[[{"NodeNames":["a"]}]],"FailedNodes":{"n1":"\u0066ull"},"NodeNames":["n2","n\u0030"],"Nodes":null}"#;
    let expected = [Verdict::Fits, Verdict::Unschedulable("full".into()), Verdict::Fits];
    assert_eq!(filter(answer.as_bytes(), &view()).unwrap(), expected);
    assert_eq!(prioritize(br#"[{"Score":7,"x":{},"Host":"n2"}]"#, &view()).unwrap(), [0, 0, 70]);
}

#[test]
fn objects_win_over_names() {
    let objects = r#""Nodes":{"items":[{"metadata":{"name":"n0"}},{"metadata":{"name":"n1"}}]}"#;
    let rest = r#""FailedNodes":{"n2":"x"}"#;
    let expected = [Verdict::Fits, Verdict::Fits, Verdict::Unschedulable("x".into())];
    for answer in
        [format!(r#"{{{objects},"NodeNames":["n2"],{rest}}}"#), format!(r#"{{"NodeNames":["n2"],{objects},{rest}}}"#)]
    {
        assert_eq!(filter(answer.as_bytes(), &view()).unwrap(), expected, "{answer}");
    }
}

/// This text is not whole: a parser that goes on finds its end.
#[test]
fn the_parser_ends_at_the_deadline() {
    let answer = format!(r#"{{"Other":[{}"#, vec!["[]"; 100].join(","));
    let fault = super::filter(answer.as_bytes(), &view(), Instant::now()).unwrap_err();
    assert!(fault.detail.contains("its time is over"), "{fault}");
    let fault = filter(answer.as_bytes(), &view()).unwrap_err();
    assert!(fault.detail.contains("EOF"), "{fault}");
}
