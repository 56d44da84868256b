//! The reasons of a pod that is left without a node: kube-scheduler tries it again at once if they change.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_contract::rules::{Fake, member};
use plimsoll_core::{Ask, NodeRead, PodRead, Read, Value, Verdict};
use plimsoll_http::WireConfig;
use serde_json::{Value as Json, json};

use crate::world::server_with;

fn text(ask: &Ask, read: Read<'_>) -> Option<String> {
    match ask.view.read(read) {
        Ok(Value::Text(text)) => Some(text.into_owned()),
        _ => None,
    }
}

/// Rejects a node by the reason in the pod's annotation `POLICY/NODE`, for ever if it begins with `!`; `RV` stands for
/// the pod's resourceVersion.
fn by_annotation(policy: &'static str) -> Fake {
    Fake::default().filter(move |ask, node| {
        let node = text(ask, Read::Node(node, NodeRead::Name)).unwrap();
        let Some(reason) = text(ask, Read::Pod(PodRead::Annotation(&format!("{policy}/{node}")))) else {
            return Verdict::Fits;
        };
        let version = text(ask, Read::Pod(PodRead::Field("/metadata/resourceVersion"))).unwrap();
        let reason = reason.replace("RV", version.trim_matches('"'));
        match reason.strip_prefix('!') {
            Some(reason) => Verdict::Unresolvable(reason.into()),
            None => Verdict::Unschedulable(reason.as_str().into()),
        }
    })
}

/// A filter request about `node-00000` and `node-00001`, which the policies a and b reject by these reasons.
fn request(whole: bool, uid: &str, version: usize, [a0, a1, b0, b1]: [&str; 4]) -> String {
    let reasons = [("a/node-00000", a0), ("a/node-00001", a1), ("b/node-00000", b0), ("b/node-00001", b1)];
    let reasons: BTreeMap<_, _> = reasons.into_iter().filter(|(_, reason)| !reason.is_empty()).collect();
    let version = version.to_string();
    let metadata = json!({"name": uid, "uid": uid, "resourceVersion": version, "annotations": reasons});
    let mut names = ["node-00000", "node-00001"];
    // kube-scheduler begins each attempt with another node.
    names.rotate_left(version.len() % 2);
    let node = |name: &&str| json!({"metadata": {"name": name, "resourceVersion": version}});
    let nodes = if whole { json!({"items": names.iter().map(node).collect::<Vec<_>>()}) } else { Json::Null };
    json!({"Pod": {"metadata": metadata}, "Nodes": nodes, "NodeNames": if whole { Json::Null } else { json!(names) }})
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_keeps_its_reasons_while_the_same_nodes_are_rejected() {
    let members = ["a", "b"].map(|name| member(name, by_annotation(name)));
    let server = server_with(members.into(), WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let (each, both) = ("a: 0 at 1; a: 1 at 1", "a: at 1; b: b 1");
    // Pod, version, reasons; the reasons of both nodes in the reply.
    let table: [(&str, usize, [&str; 4], [&str; 2]); 14] = [
        ("one", 1, ["at RV", "at RV", "", ""], ["a: at 1", "a: at 1"]),
        ("one", 10, ["at RV", "at RV", "", ""], ["a: at 1", "a: at 1"]),
        ("another", 11, ["at RV", "at RV", "", ""], ["a: at 11", "a: at 11"]),
        // The reasons may differ by node, in each attempt in another way.
        ("each", 1, ["0 at RV", "1 at RV", "", ""], ["a: 0 at 1", "a: 1 at 1"]),
        ("each", 10, ["0 at RV", "1 at RV", "", ""], [each, each]),
        ("each", 11, ["closed", "closed", "", ""], [each, each]),
        ("each", 12, ["!at RV", "!at RV", "", ""], [each, each]),
        // A verdict may pass from one policy to another and back.
        ("both", 1, ["at RV", "", "", "b RV"], ["a: at 1", "b: b 1"]),
        ("both", 10, ["at RV", "", "", "b RV"], [both, both]),
        ("both", 11, ["", "", "0 RV", "1 RV"], [both, both]),
        ("turns", 1, ["full", "full", "", ""], ["a: full", "a: full"]),
        ("turns", 2, ["", "", "full", "full"], ["a: full", "a: full"]),
        // A pod that has a node is not tried again.
        ("some", 1, ["at RV", "", "", ""], ["a: at 1", "-"]),
        ("some", 2, ["at RV", "", "", ""], ["a: at 2", "-"]),
    ];
    for whole in [false, true] {
        for (pod, version, reasons, expected) in table {
            let pod = format!("{pod}-{whole}");
            let reply = client.post("/filter", request(whole, &pod, version, reasons)).await.unwrap().json().unwrap();
            let said = |node: &str| {
                let mut maps = ["FailedNodes", "FailedAndUnresolvableNodes"].iter();
                maps.find_map(|map| reply[*map][node].as_str()).unwrap_or("-").to_owned()
            };
            assert_eq!(["node-00000", "node-00001"].map(said), expected, "{pod} {version}: {reply}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_nodes_have_one_text_for_a_minute_since_they_may_be_a_sample() {
    let by_name = Fake::default().filter(|ask, node| {
        match text(ask, Read::Node(node, NodeRead::Name)).unwrap().trim_start_matches("node-").parse() {
            Ok(0) => Verdict::Unresolvable("rare".into()),
            Ok(at) if at % 3 == 0 => Verdict::Unschedulable("third".into()),
            _ => Verdict::Unschedulable("other".into()),
        }
    });
    let server = server_with(vec![member("a", by_name)], WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    for (count, expected) in [(99, &["a: other", "a: rare", "a: third"][..]), (100, &["a: other; a: third"])] {
        let mut texts = BTreeSet::new();
        for first in [1, 30, 0] {
            let node = |at| json!({"metadata": {"name": format!("node-{at}")}});
            let nodes: Vec<Json> = (first..first + count).map(node).collect();
            let pod = json!({"metadata": {"name": "p", "uid": format!("of-{count}")}});
            let body = json!({"Pod": pod, "Nodes": {"items": nodes}}).to_string();
            let reply = client.post("/filter", body).await.unwrap().json().unwrap();
            let [failed, unresolvable] = ["FailedNodes", "FailedAndUnresolvableNodes"]
                .map(|map| reply[map].as_object().cloned().unwrap_or_default());
            assert_eq!((failed.len(), unresolvable.len()), (0, count), "{reply}");
            texts.extend(failed.values().chain(unresolvable.values()).map(|text| text.as_str().unwrap().to_owned()));
        }
        assert_eq!(Vec::from_iter(&texts), expected, "{count}");
    }
}
