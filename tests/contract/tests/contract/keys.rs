//! The request means the same, whatever the case of the wrapper's keys.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use plimsoll_contract::{
    binder::Api,
    recording::{STORIES, cluster, story},
    rules::{member, ssd},
    server::gateway,
};
use plimsoll_core::{Cluster, Node, Pod, Roster};
use plimsoll_http::{RequestCache, answer};
use proptest::prelude::*;

use crate::world::node_json;

/// Every key of the wrappers; keys inside of Pod and Node have the API's own case.
const KEYS: [&str; 12] = [
    "NodeNameToMetaVictims",
    "NodeNameToVictims",
    "NumPDBViolations",
    "PodNamespace",
    "NodeNames",
    "PodName",
    "PodUID",
    "Nodes",
    "Node",
    "Pods",
    "Pod",
    "UID",
];

/// The body with the case of each wrapper key drawn from `bits`.
fn recased(body: &[u8], bits: u64) -> Bytes {
    let mut text = String::from_utf8(body.to_vec()).unwrap();
    for (at, key) in KEYS.iter().enumerate() {
        let bit = |place: usize| bits.rotate_left((7 * at + place) as u32) & 1 == 1;
        let case = |(place, c): (usize, char)| if bit(place) { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
        let recased: String = key.chars().enumerate().map(case).collect();
        text = text.replace(&format!("\"{key}\":"), &format!("\"{recased}\":"));
    }
    text.into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn recorded_requests_decode_alike_in_any_case(bits in any::<u64>(), at in any::<prop::sample::Index>()) {
        let (name, by_name) = *at.get(&STORIES);
        let gateway = gateway(Roster::of_root(vec![member("ssd", ssd())]));
        if by_name {
            gateway.set_cluster(Arc::new(cluster(name).unwrap()));
        }
        let calls = story(name).unwrap();
        let call = at.get(&calls);
        gateway.set_binder(Api::of_story(&calls) as _);
        let received = Instant::now() + Duration::from_secs(1);
        let path = format!("/{}", call.verb);
        let ours = answer(&gateway, &RequestCache::default(), &path, &call.request, received);
        let recased = answer(&gateway, &RequestCache::default(), &path, &recased(&call.request, bits), received);
        prop_assert_eq!(ours.body(), recased.body());
        prop_assert_eq!(ours.error, None);
    }
}

#[test]
fn all_lower_and_all_upper_keys_decode_alike() {
    for (name, by_name) in STORIES {
        let gateway = gateway(Roster::of_root(vec![member("ssd", ssd())]));
        if by_name {
            gateway.set_cluster(Arc::new(cluster(name).unwrap()));
        }
        let calls = story(name).unwrap();
        gateway.set_binder(Api::of_story(&calls) as _);
        for call in calls {
            let reply = |body: &Bytes| {
                answer(&gateway, &RequestCache::default(), &format!("/{}", call.verb), body, Instant::now()).body()
            };
            let ours = reply(&call.request);
            assert_eq!(reply(&recased(&call.request, 0)), ours, "{} in lower case", call.place());
            assert_eq!(reply(&recased(&call.request, u64::MAX)), ours, "{} in upper case", call.place());
        }
    }
}

/// As Kubernetes 1.2 sent it: lower-case keys, whole nodes, and nothing else.
#[test]
fn a_request_of_kubernetes_1_2_is_answered_for_every_verb() {
    let gateway = gateway(Roster::of_root(vec![member("ssd", ssd())]));
    let nodes = [(0, "ssd"), (1, "hdd")].map(|(number, disk)| Node::from_json(node_json(number, disk).into()).unwrap());
    let victim = br#"{"metadata":{"name":"v","uid":"v"},"spec":{"nodeName":"node-00000"}}"#;
    let victim = Pod::placed_from_json(victim).unwrap();
    gateway.set_cluster(Arc::new(Cluster::from_objects(nodes.into(), vec![victim])));
    let ask = |path: &str, body: &str| {
        answer(&gateway, &RequestCache::default(), path, &Bytes::copy_from_slice(body.as_bytes()), Instant::now())
    };
    let pod = r#"{"metadata":{"name":"p","namespace":"default","uid":"u","labels":{"needs":"ssd"}},"spec":{}}"#;
    let (kept, refused) = (node_json(0, "ssd"), node_json(1, "hdd"));
    let body = format!(r#"{{"pod":{pod},"nodes":{{"metadata":{{}},"items":[{kept},{refused}]}}}}"#);
    let filtered = format!(
        r#"{{"Nodes":{{"metadata":{{}},"items":[{kept}]}},"NodeNames":null,"FailedNodes":{{"node-00001":"ssd: node has no ssd"}},"FailedAndUnresolvableNodes":{{}},"Error":""}}"#
    );
    assert_eq!(ask("/filter", &body).body(), filtered.as_bytes());
    let scored = br#"[{"Host":"node-00000","Score":4},{"Host":"node-00001","Score":5}]"#;
    assert_eq!(ask("/prioritize", &body).body(), &scored[..]);
    // Later parts of the wire were in lower case as well, to 1.17: names, preemption, bind.
    let by_name = format!(r#"{{"pod":{pod},"nodes":null,"nodenames":["node-00000","node-00001"]}}"#);
    assert_eq!(ask("/filter", &by_name).body(), crate::world::BY_NAME_FILTERED.as_bytes());
    let victims = r#"{"node-00000":{"pods":[{"uid":"v"}],"numpdbviolations":1},"node-00001":{"pods":[]}}"#;
    let preempted = br#"{"NodeNameToMetaVictims":{"node-00000":{"Pods":[{"UID":"v"}],"NumPDBViolations":1}}}"#;
    let preempt = format!(r#"{{"pod":{pod},"nodenametovictims":null,"nodenametometavictims":{victims}}}"#);
    assert_eq!(ask("/preempt", &preempt).body(), &preempted[..]);
    let bind = r#"{"podname":"p","podnamespace":"default","poduid":"u","node":"node-00000"}"#;
    let (lower, usual) =
        (ask("/bind", bind), r#"{"PodName":"p","PodNamespace":"default","PodUID":"u","Node":"node-00000"}"#);
    assert_eq!(lower.body(), ask("/bind", usual).body());
}
