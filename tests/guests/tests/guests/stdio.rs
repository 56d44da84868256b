//! Programs that answer on standard output, good and hostile.

use std::{
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plimsoll_core::{
    Ask, Cluster, Fault, FaultKind, Gateway, Loader, Member, NoObserver, Node, Nodes, Pod, Policy, PolicyConfig, Query,
    Roster, SystemClock, Verb, Verbs, Verdict, View,
};
use plimsoll_guests::{
    toolchains::{c_program, go_program},
    world,
};
use plimsoll_wasm::module_of;
use serde_json::json;

use crate::log::logged_about;

/// A view of the small cluster for a pod with one label.
fn view(key: &str, value: &str) -> View {
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "annotations": {key: value}}});
    let cluster = world::cluster(world::NODES);
    View::new(Arc::new(Pod::from_json(pod.to_string().into()).unwrap()), cluster, (0..world::NODES).collect(), 0)
}

fn ask(key: &str, value: &str) -> Ask {
    world::patient(world::ask(view(key, value)))
}

/// Compiled once for all tests.
fn says() -> Option<Arc<dyn Policy>> {
    static POLICY: OnceLock<Arc<dyn Policy>> = OnceLock::new();
    // Asked for by each test, so that each is reported as skipped if there is none.
    let module = c_program()?;
    Some(Arc::clone(POLICY.get_or_init(|| world::loader().load("", &module_of(&module)).unwrap())))
}

fn filter(policy: &dyn Policy, ask: &Ask) -> Result<Vec<Verdict>, Fault> {
    policy.filter(ask, &[0, 1, 2, 3])
}

fn of_filter(answer: &str) -> Option<Result<Vec<Verdict>, Fault>> {
    Some(filter(says()?.as_ref(), &ask("say", answer)))
}

fn of_prioritize(answer: &str) -> Option<Result<Vec<u32>, Fault>> {
    Some(says()?.rank(&ask("say", answer)))
}

#[test]
fn a_program_keeps_nodes_by_name_or_as_objects_and_rejects_the_others_with_reasons() {
    let rejected = || Verdict::Unschedulable("full".into());
    let never = || Verdict::Unresolvable("no gpu".into());
    let expected = vec![Verdict::Fits, rejected(), never(), Verdict::Fits];
    let failed = r#""FailedNodes":{"n1":"full","n2":"full"},"FailedAndUnresolvableNodes":{"n2":"no gpu"}"#;
    let object = |name: &str| format!(r#"{{"metadata":{{"name":"{name}","labels":{{}}}},"spec":{{}}}}"#);
    let objects = format!(
        r#"{{"Nodes":{{"metadata":{{}},"items":[{},{}]}},"NodeNames":null,{failed},"Error":""}}"#,
        object("n3"),
        object("n0")
    );
    let names = format!(r#"{{"NodeNames":["n0","n3"],{failed}}}"#);
    for answer in [objects.as_str(), &names, &names.to_lowercase()] {
        let Some(verdicts) = of_filter(answer) else { return };
        assert_eq!(verdicts.unwrap(), expected, "{answer}");
    }
}

#[test]
fn a_program_scores_from_0_to_10_and_a_node_that_it_leaves_out_has_0() {
    let answer = r#"[{"Host":"n1","Score":10},{"Host":"n0","Score":3},{"Host":"n3","Score":0}]"#;
    let Some(scores) = of_prioritize(answer) else { return };
    assert_eq!(scores.unwrap(), [30, 100, 0, 0]);
    assert_eq!(of_prioritize("null").unwrap().unwrap(), [0; 4], "a nil slice of Go");
}

/// Any client may send such a request: it must not open the circuit of a program.
#[test]
fn a_node_that_a_request_names_twice_gets_one_answer() {
    let Some(policy) = says() else { return };
    let ask = |say: &str, slots: &[u32]| {
        let pod = json!({"metadata": {"name": "p", "annotations": {"say": say}}}).to_string();
        let nodes = ["n0", "n1", "n0"];
        let node = |name| Node::from_json(json!({"metadata": {"name": name}}).to_string().into()).unwrap();
        let cluster = Cluster::from_objects(nodes.map(node).into(), vec![]);
        let pod = Arc::new(Pod::from_json(pod.into()).unwrap());
        world::patient(world::ask(View::new(pod, Arc::new(cluster), slots.into(), 0)))
    };
    for slots in [[0, 0, 1], [0, 2, 1]] {
        let verdicts = policy.filter(&ask(r#"{"NodeNames":["n0"],"FailedNodes":{"n1":"x"}}"#, &slots), &[0, 1, 2]);
        assert_eq!(verdicts.unwrap(), [Verdict::Fits, Verdict::Fits, Verdict::Unschedulable("x".into())]);
        let scores = policy.rank(&ask(r#"[{"Host":"n0","Score":4}]"#, &slots));
        assert_eq!(scores.unwrap(), [40, 40, 0]);
    }
}

#[test]
fn an_answer_outside_the_protocol_is_a_fault_that_says_what_was_expected() {
    let cases = [
        ("", "it wrote nothing to standard output; expected an ExtenderFilterResult"),
        ("<html>", "begins with `<html>`, and is not an ExtenderFilterResult"),
        ("[]", "its sidecar says which verbs it is asked (stdio.verbs)"),
        (r#"{"NodeNames":["n0"]"#, "EOF while parsing"),
        (r#"{"NodeNames":[7]}"#, "expected a string"),
        ("{} {}", "trailing characters"),
        (r#"{"NodeNames":["n0","elsewhere"]}"#, "NodeNames names node 'elsewhere', which is not in the request"),
        (r#"{"FailedNodes":{"elsewhere":"x"}}"#, "FailedNodes names node 'elsewhere', which is not in the request"),
        (r#"{"NodeNames":["n0","n0","n1","n2","n3"]}"#, "node 'n0' is in NodeNames twice"),
        (r#"{"FailedNodes":{"n1":"a","n1":"b"}}"#, "node 'n1' is in FailedNodes twice"),
        (
            r#"{"NodeNames":["n0"],"FailedNodes":{"n0":"x"}}"#,
            "node 'n0' is both in NodeNames and among the failed ones",
        ),
    ];
    for (answer, text) in cases {
        let Some(verdicts) = of_filter(answer) else { return };
        let fault = verdicts.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Output, "{answer}: {fault}");
        assert!(fault.detail.contains(text), "{answer}: {fault}");
        assert!(fault.detail.len() <= 512 && !fault.detail.contains(char::is_control), "{fault:?}");
    }
    let cases = [
        ("", "expected a HostPriorityList"),
        (r#"{"NodeNames":[]}"#, "is not a HostPriorityList"),
        (r#"[{"Host":"n0","Score":11}]"#, "node 'n0' has the score 11; expected 0 to 10"),
        (r#"[{"Host":"n0","Score":-1}]"#, "node 'n0' has the score -1; expected 0 to 10"),
        (r#"[{"Host":"n0","Score":1.5}]"#, "expected i64"),
        (r#"[{"Host":"n0"}]"#, "missing field `Score`"),
        (r#"[{"Host":"n9","Score":1}]"#, "names node 'n9', which is not in the request"),
        (r#"[{"Host":"n0","Score":1},{"Host":"n0","Score":1}]"#, "node 'n0' is in the HostPriorityList twice"),
    ];
    for (answer, text) in cases {
        let fault = of_prioritize(answer).unwrap().unwrap_err();
        assert_eq!(fault.kind, FaultKind::Output, "{answer}: {fault}");
        assert!(fault.detail.contains(text), "{answer}: {fault}");
    }
}

#[test]
fn an_error_in_the_answer_is_a_fault_with_its_text() {
    let Some(verdicts) = of_filter(r#"{"Error":"no licence server"}"#) else { return };
    let fault = verdicts.unwrap_err();
    assert_eq!(
        (fault.kind, fault.detail.as_str()),
        (FaultKind::Panic, "it answered with the error 'no licence server'")
    );
}

#[test]
fn a_program_that_misbehaves_ends_with_a_named_fault() {
    let cases = [
        ("loop", FaultKind::Timeout, "its time of 300ms is over"),
        ("flood", FaultKind::Output, "bytes on standard output"),
        ("gulp", FaultKind::Output, "bytes on standard output"),
        ("whisper", FaultKind::Output, "bytes on standard output"),
        ("exit", FaultKind::Panic, "it ended with exit code 3; expected 0: no licence server"),
        ("trap", FaultKind::Trap, "unreachable"),
        ("grow", FaultKind::Memory, "was refused: its limit is 64 MiB"),
        ("beyond", FaultKind::Trap, "out of bounds"),
        ("unaligned", FaultKind::Output, "not aligned"),
        ("outside", FaultKind::Output, "out of bounds"),
        ("closed", FaultKind::Panic, "the end is the end"),
    ];
    let Some(policy) = says() else { return };
    for (what, kind, text) in cases {
        let mut ask = ask("do", what);
        if what == "loop" {
            ask.limits.timeout = Duration::from_millis(300);
        }
        let fault = filter(policy.as_ref(), &ask).unwrap_err();
        assert_eq!(fault.kind, kind, "{what}: {fault}");
        assert!(fault.detail.contains(text), "{what}: {fault}");
    }
    let left = filter(policy.as_ref(), &ask("do", "leave"));
    assert_eq!(left.unwrap(), [const { Verdict::Fits }; 4], "exit code 0 is an end like any other");
}

#[test]
fn a_program_finds_its_verb_as_its_argument() {
    let Some(policy) = says() else { return };
    assert!(filter(policy.as_ref(), &ask("do", "arguments")).unwrap_err().detail.contains("'policy filter'"));
    let fault = policy.rank(&ask("do", "arguments")).unwrap_err();
    assert!(fault.detail.contains("begins with `{\"Error\":\"policy prioritize\"}`"), "{fault}");
}

#[test]
fn standard_error_of_a_program_is_logged() {
    let Some(module) = c_program() else { return };
    let (lines, _) = logged_about(&module, view("do", "log"), |policy, ask| filter(policy, ask));
    assert_eq!(lines.len(), 65);
    assert_eq!(lines[0], r#" WARN plimsoll::guest: told policy="guest" pod=default/p uid="""#);
    assert!(lines[64].contains("log cut"), "{}", lines[64]);
}

/// The output of one call is memory of the host, and is counted like the guest's own.
#[test]
fn the_output_of_a_program_counts_for_its_memory() {
    let Some(policy) = says() else { return };
    let mut ask = ask("do", "whisper");
    ask.limits.memory = 11 << 20;
    let fault = filter(policy.as_ref(), &ask).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Output);
    assert!(fault.detail.contains("its standard input and output and its own memory together"), "{fault}");
}

#[test]
fn a_program_is_asked_to_filter_until_its_sidecar_says_otherwise() {
    let Some(policy) = says() else { return };
    let verbs = |policy: &dyn Policy| policy.verbs().iter().collect::<Vec<_>>();
    assert_eq!(verbs(policy.as_ref()), [Verb::Filter]);
    let both: Verbs = [Verb::Filter, Verb::Rank].into_iter().collect();
    let other = policy.program().unwrap().answering(both);
    assert_eq!(verbs(other.as_ref()), [Verb::Filter, Verb::Rank]);
    assert_eq!(PolicyConfig::default_of(policy.as_ref()).timeout, Duration::from_secs(2));
}

/// The answer about a node may depend on which other nodes the request has.
#[test]
fn no_answer_of_a_program_is_cached() {
    let Some(policy) = says() else { return };
    let config = PolicyConfig { timeout: Duration::from_secs(20), ..PolicyConfig::default() };
    let member = Arc::new(Member::new("", "says", config, policy));
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(30));
    gateway.set_cluster(world::cluster(world::NODES));
    gateway.set_roster(Arc::new(Roster::of_root(vec![Arc::clone(&member)])));
    let pod = json!({"metadata": {"name": "p", "annotations": {"say": r#"{"NodeNames":["n0"]}"#}}}).to_string();
    let pod = Arc::new(Pod::from_json(pod.into()).unwrap());
    let filter = |nodes: &[&str]| {
        let names: Vec<_> = nodes.iter().map(|name| (*name).into()).collect();
        let (pod, nodes) = (Arc::clone(&pod), Nodes::Names(&names));
        let query = Query { pod, nodes, received: Instant::now(), may_bind: false };
        let (outcome, after) =
            gateway.begin("").map_err(|error| error.to_string())?.filter(&query).map_err(|error| error.to_string())?;
        after.run();
        Ok::<Vec<String>, String>(outcome.rejected.iter().map(|one| outcome.reason(*one).to_string()).collect())
    };
    for _ in 0..2 {
        assert_eq!(filter(&["n0"]), Ok(vec![]));
        assert_eq!(filter(&["n0", "n1"]), Ok(vec!["says: no reason given".to_owned()]));
    }
    assert!(member.cache.disabled(Verb::Filter).is_some());
}

/// The request of a cluster with the labels that the Go programs look at.
fn zones(pod: &str) -> Ask {
    let node = |n: u32| {
        let (zone, disk) = (["a", "b"][n as usize % 2], ["ssd", "hdd"][n as usize / 2]);
        let json = json!({"metadata": {"name": format!("n{n}"), "labels": {"zone": zone, "disk": disk}}});
        Node::from_json(json.to_string().into()).unwrap()
    };
    let cluster = Arc::new(Cluster::from_objects((0..4).map(node).collect(), vec![]));
    let pod = Arc::new(Pod::from_json(pod.to_owned().into()).unwrap());
    let mut ask = world::patient(world::ask(View::new(pod, cluster, (0..4).collect(), 0)));
    ask.limits.memory = 256 << 20;
    ask
}

#[test]
fn a_program_in_go_needs_nothing_but_its_json_package() {
    let Some(module) = go_program("go-stdio") else { return };
    let policy = world::loader().load("", &module_of(&module)).unwrap();
    let ask = zones(r#"{"metadata":{"name":"p","labels":{"team":"a"}}}"#);
    let rejected = || Verdict::Unschedulable("node is not in the zone of team a".into());
    let expected = [Verdict::Fits, rejected(), Verdict::Fits, rejected()];
    assert_eq!(filter(policy.as_ref(), &ask).unwrap(), expected);
    assert_eq!(policy.rank(&ask).unwrap(), [100, 100, 0, 0]);
}

#[test]
fn the_logic_of_an_extender_with_the_types_of_kube_scheduler_is_a_policy_unchanged() {
    let Some(module) = go_program("go-stdio-k8s") else { return };
    let policy = world::loader().load("", &module_of(&module)).unwrap();
    let ask = zones(r#"{"metadata":{"name":"p","labels":{"zone":"b"}}}"#);
    let rejected = || Verdict::Unschedulable("node is not in the zone of the pod".into());
    assert_eq!(filter(policy.as_ref(), &ask).unwrap(), [rejected(), Verdict::Fits, rejected(), Verdict::Fits]);
}
