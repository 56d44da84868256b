//! Our own replies, to the byte, for each of the seven messages.

use std::sync::Arc;

use plimsoll_contract::{
    check,
    rules::{Fake, member, never, ssd},
    server::{Server, gateway},
};
use plimsoll_core::{Cluster, Group, Node, NodeRead, Pod, Preemption, Read, Roster, Value, Verdict};
use plimsoll_http::WireConfig;

use crate::world::{BY_NAME, BY_NAME_FILTERED, node_json, server, server_of, server_with};

#[tokio::test(flavor = "multi_thread")]
async fn names_are_filtered() {
    let server = server(WireConfig::default()).await;
    let reply = server.client().await.unwrap().post("/filter", BY_NAME).await.unwrap();
    assert_eq!((reply.status, reply.text()), (200, BY_NAME_FILTERED.to_owned()));
    assert_eq!(server.heard.answers(), ["/filter 200 decided 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_filtered_and_echoed() {
    let server = server(WireConfig::default()).await;
    // Spaces, escapes and number forms that a parser and a printer would not keep.
    let kept = r#"{ "metadata":{"name":"node-00000","labels":{"disk\u0074ype":"ssd"},"x":1.0e1} , "y":"\/" }"#;
    let request = format!(
        r#"{{"Pod":{{"metadata":{{"labels":{{"needs":"ssd"}}}}}},"Nodes":{{"metadata":{{}},"items":[{kept},{}]}},"NodeNames":null}}"#,
        node_json(1, "hdd")
    );
    let expected = format!(
        r#"{{"Nodes":{{"metadata":{{}},"items":[{kept}]}},"NodeNames":null,"FailedNodes":{{}},"FailedAndUnresolvableNodes":{{"node-00001":"ssd: node has no ssd"}},"Error":""}}"#
    );
    let mut client = server.client().await.unwrap();
    // The second time the nodes are known by their bytes.
    for _ in 0..2 {
        assert_eq!(client.post("/filter", request.clone()).await.unwrap().text(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_unresolvable_where_preemption_cannot_help() {
    let server = server_of(never(), WireConfig::default()).await;
    let reply = server.client().await.unwrap().post("/filter", BY_NAME).await.unwrap();
    let expected = concat!(
        r#"{"Nodes":null,"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":"#,
        r#"{"node-00000":"only: never","node-00001":"only: never"},"Error":""}"#
    );
    assert_eq!(reply.text(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_prioritized_in_both_modes() {
    let server = server(WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let expected = r#"[{"Host":"node-00001","Score":5},{"Host":"node-00000","Score":4}]"#;
    let by_name = r#"{"Pod":{},"Nodes":null,"NodeNames":["node-00001","node-00000"]}"#;
    let (first, second) = (node_json(1, "hdd"), node_json(0, "ssd"));
    let by_object = format!(r#"{{"Pod":{{}},"Nodes":{{"items":[{first},{second}]}},"NodeNames":null}}"#);
    for request in [by_name.to_owned(), by_object] {
        assert_eq!(client.post("/prioritize", request).await.unwrap().text(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fine_scores_have_urls_of_their_own() {
    let policy = Fake::default().score(|ask, node| match ask.view.read(Read::Node(node, NodeRead::Name)) {
        Ok(Value::Text(name)) if name == "node-00001" => 41,
        _ => 40,
    });
    let group = Group::new(vec![member("only", policy)]);
    let gateway = gateway(Roster::new([(Arc::from("gpu"), group)].into(), vec![]));
    let nodes = [0, 1, 2].map(|number| Node::from_json(node_json(number, "ssd").into()).unwrap());
    gateway.set_cluster(Arc::new(Cluster::from_objects(nodes.into(), vec![])));
    let server = Server::start(gateway, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    let pod = r#"{"metadata":{"uid":"u-1"}}"#;
    let by_name = format!(r#"{{"Pod":{pod},"NodeNames":["node-00002","node-00001","node-00000"]}}"#);
    let objects = [2, 1, 0].map(|number| node_json(number, "ssd")).join(",");
    let by_object = format!(r#"{{"Pod":{pod},"Nodes":{{"items":[{objects}]}}}}"#);
    for (verb, scores) in [
        ("prioritize", [4, 4, 4]),
        ("prioritize-fine", [4_000, 4_100, 4_000]),
        ("prioritize-fine-by-name", [400_000_000, 410_208_333, 400_416_666]),
        ("prioritize-fine-spread", [400_376_356, 410_486_525, 400_536_055]),
    ] {
        let [two, one, zero] = scores;
        let expected = format!(
            r#"[{{"Host":"node-00002","Score":{two}}},{{"Host":"node-00001","Score":{one}}},{{"Host":"node-00000","Score":{zero}}}]"#
        );
        // The second time every answer is cached.
        for request in [&by_name, &by_name, &by_object] {
            let reply = client.post(&format!("/gpu/{verb}"), request.clone()).await.unwrap();
            assert_eq!(reply.text(), expected, "{verb} {request}");
        }
    }
    assert_eq!(client.post("/gpu/prioritize-coarse", by_name).await.unwrap().status, 404);
    assert_eq!(server.heard.answers()[11], "gpu/prioritize 200 decided 3", "metrics have one verb for all of them");
}

#[tokio::test(flavor = "multi_thread")]
async fn victims_are_answered_by_uid_in_both_modes() {
    let guard = Fake::default().preempt(|_, candidate| match candidate {
        0 => Preemption::Keep,
        _ => Preemption::Reject("no".into()),
    });
    let gateway = gateway(Roster::of_root(vec![member("guard", guard)]));
    let nodes = [0, 1].map(|number| Node::from_json(node_json(number, "ssd").into()).unwrap());
    let pod = |uid: &str, node| {
        format!(r#"{{"metadata":{{"name":"p","uid":"{uid}"}},"spec":{{"nodeName":"node-0000{node}"}}}}"#)
    };
    let pods = [("u", 0), ("v", 0), ("w", 1)].map(|(uid, node)| Pod::from_json(pod(uid, node).into()).unwrap());
    gateway.set_cluster(Arc::new(Cluster::from_objects(nodes.into(), pods.into())));
    let server = Server::start(gateway, WireConfig::default()).await.unwrap();
    let mut client = server.client().await.unwrap();
    let by_uid = concat!(
        r#"{"Pod":{},"NodeNameToVictims":null,"NodeNameToMetaVictims":{"#,
        r#""node-00000":{"Pods":[{"UID":"v"},{"UID":"u"}],"NumPDBViolations":2},"#,
        r#""node-00001":{"Pods":[{"UID":"w"}],"NumPDBViolations":0}}}"#
    );
    let by_object = format!(
        r#"{{"pod":{{}},"nodenametovictims":{{"node-00000":{{"pods":[{},{}],"numpdbviolations":2}},"node-00001":{{"pods":null}}}}}}"#,
        pod("v", 0),
        pod("u", 0)
    );
    let expected =
        r#"{"NodeNameToMetaVictims":{"node-00000":{"Pods":[{"UID":"v"},{"UID":"u"}],"NumPDBViolations":2}}}"#;
    for request in [by_uid.to_owned(), by_object] {
        let reply = client.post("/preempt", request.clone()).await.unwrap();
        check::preempt(by_uid.as_bytes(), &reply).unwrap();
        assert_eq!(reply.text(), expected, "{request}");
    }
    // The pods of a group may be on several nodes: kube-scheduler keeps them where nothing is changed, by an error.
    let none = r#"{"NodeNameToMetaVictims":{}}"#;
    let unchanged = r#"{"Error":"no candidate is changed: kube-scheduler keeps them, as this extender is ignorable"}"#;
    let one = by_uid.replace(r#","node-00001":{"Pods":[{"UID":"w"}],"NumPDBViolations":0}"#, "");
    let (group, two_groups) =
        (one.replace(r#"{"UID":"u"}"#, r#"{"UID":"w"}"#), by_uid.replace(r#""UID":"u""#, r#""UID":"w""#));
    for (path, request, status, body) in [
        ("preempt", r#"{"Pod":{},"NodeNameToMetaVictims":null}"#, 200, none),
        ("preempt", &group, 200, none),
        ("preempt-pod-groups", &one, 409, unchanged),
        ("preempt-pod-groups", &group, 409, unchanged),
        ("preempt-pod-groups", by_uid, 200, expected),
        ("preempt-pod-groups", &two_groups, 200, none),
        ("preempt-pod-groups", "[]", 200, none),
        ("no-group/preempt-pod-groups", &one, 200, none),
    ] {
        let reply = client.post(&format!("/{path}"), request.to_owned()).await.unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (status, body), "{path} {request}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bind_without_an_api_server_is_declined_in_its_own_field() {
    let server = server(WireConfig::default()).await;
    let request = r#"{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"node-00000"}"#;
    let reply = server.client().await.unwrap().post("/bind", request).await.unwrap();
    assert_eq!(
        check::refusal("bind", &reply).unwrap(),
        "plimsoll cannot bind without the API server: start it with --kubeconfig or in a cluster, or remove bindVerb"
    );
    assert_eq!(server.heard.answers(), ["/bind 200 failed 0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_an_error_with_the_policys_name_and_kind_alone() {
    let crash =
        || Fake::default().filter(|_, _| -> Verdict { panic!("secret detail") }).preempt(|_, _| panic!("secret"));
    let server = server_of(crash(), WireConfig::default()).await;
    let mut client = server.client().await.unwrap();
    let reply = client.post("/filter", BY_NAME).await.unwrap();
    assert_eq!(check::refusal("filter", &reply).unwrap(), "policy only failed to filter: host");
    let preempt = r#"{"Pod":{},"NodeNameToMetaVictims":{"node-00000":{"Pods":[]}}}"#;
    let reply = client.post("/preempt", preempt).await.unwrap();
    assert_eq!(reply.status, 500);
    assert_eq!(check::refusal("preempt", &reply).unwrap(), "policy only failed to preempt: host");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_cluster_names_are_refused_with_a_way_out() {
    let server =
        Server::start(gateway(Roster::of_root(vec![member("ssd", ssd())])), WireConfig::default()).await.unwrap();
    let reply = server.client().await.unwrap().post("/filter", BY_NAME).await.unwrap();
    let error = check::refusal("filter", &reply).unwrap();
    assert!(error.contains("--snapshot") && error.contains("nodeCacheCapable"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_cluster_does_not_know_is_listed() {
    let server = server_with(vec![member("ssd", ssd())], WireConfig::default()).await;
    let request = r#"{"Pod":{},"NodeNames":["x","node-00001","NODE-00000","x"]}"#;
    let reply = server.client().await.unwrap().post("/filter", request).await.unwrap();
    let json = reply.json().unwrap();
    assert_eq!(json["NodeNames"], serde_json::json!(["node-00001"]));
    assert_eq!(
        json["FailedAndUnresolvableNodes"],
        serde_json::json!({"x": "plimsoll: node not seen yet", "NODE-00000": "plimsoll: node not seen yet"})
    );
}
