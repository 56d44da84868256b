//! The fast decoder reads a request as serde reads it.

use std::{
    sync::{Arc, atomic::AtomicUsize},
    time::Duration,
};

use plimsoll_core::{Cluster, Gateway, NoObserver, Node, NodeObject, Roster, Slot, SystemClock};
use proptest::{collection::vec, prelude::*, sample::select};

use super::*;
use crate::{
    answer::{Backend, ExtenderVerb, Handling, MemoryReservation, RequestOrigin},
    request_cache::RequestCache,
};

/// As they stand in a request: the first four are in the cluster.
const NAMES: [&str; 12] = [
    r#""n1""#,
    r#""n2""#,
    r#""n3""#,
    r#""é""#,
    r#""n4""#,
    r#""""#,
    r#""n\u0031""#,
    r#""n\"1""#,
    "\"\u{7f}\"",
    "null",
    "7",
    "\"\u{1}\"",
];
/// The first three are known, the fourth is one of them that has changed.
const NODES: [&str; 14] = [
    r#"{"metadata":{"name":"w1"}}"#,
    r#"{"metadata":{"name":"w2","labels":{"a":"}],["}}}"#,
    r#"{"metadata":{"name":"w3"},"spec":{}}"#,
    r#"{"metadata":{"name":"w2","labels":{"a":"b"}}}"#,
    r#"{"metadata":{"name":"w4"}}"#,
    r#"{ "metadata":{"name":"w1"}}"#,
    r#"{"metadata":{"name":"w\u0031"}}"#,
    r#"{"metadata":{"name":"w1"},"metadata":{"name":"w1"}}"#,
    r#"{"metadata":{"name":"w1"}"#,
    r#"{"metadata":{"name":"w1"}}}"#,
    "null",
    "7",
    "{}",
    "\"\u{1}\"",
];
const LIST_KEYS: [&str; 4] = ["items", "metadata", "kind", "it\\u0065ms"];
const KEYS: [&str; 6] = ["Pod", "NodeNames", "Nodes", "pod", "Extra", "P\\u006fd"];
const VALUES: [&str; 9] =
    ["{}", r#"{"a":[1,{"b":"}"}]}"#, "null", "5", "\"x\"", "[]", "[5,[]]", "tru", r#"{"items":[{}]}"#];

fn cluster() -> Cluster {
    let node = |name: &str| Node::from_json(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into()).unwrap();
    let slot = |name: &str| Slot { node: Arc::new(node(name)), placed: None };
    Cluster::new(Vec::from(["n1", "n2", "n3", "é"].map(slot)))
}

/// The order of the nodes that were brought, as the gateway knows them.
fn known(cache: &RequestCache, gateway: &Gateway) -> KnownNodeOrder {
    cache.known_nodes(gateway.begin("").unwrap().known_nodes())
}

fn any_list(usual: &'static [&'static str], all: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    // Mostly texts that a scheduler would write, so that much of it is read to the end.
    let element = prop_oneof![8 => select(usual), 1 => select(all)];
    vec(element, 0..7).prop_map(|elements| {
        let mut tokens = vec!["[".to_owned()];
        for (at, element) in elements.into_iter().enumerate() {
            tokens.extend((at > 0).then(|| ",".to_owned()));
            tokens.push(element.to_owned());
        }
        tokens.push("]".to_owned());
        tokens
    })
}

fn any_names() -> impl Strategy<Value = Vec<String>> {
    any_list(&NAMES[..6], &NAMES)
}

fn any_nodes() -> impl Strategy<Value = Vec<String>> {
    let field = prop_oneof![
        4 => any_list(&NODES[..4], &NODES).prop_map(|list| field("items", list)),
        3 => Just(field("metadata", vec!["{}".to_owned()])),
        1 => (select(&LIST_KEYS[..]), select(&VALUES[..])).prop_map(|(key, value)| field(key, vec![value.to_owned()])),
    ];
    vec(field, 0..4).prop_map(|fields| object(&fields).split('\n').map(str::to_owned).collect())
}

fn field(key: &str, value: Vec<String>) -> Vec<String> {
    [vec![format!("\"{key}\""), ":".to_owned()], value].concat()
}

/// The tokens of an object, each on a line.
fn object(fields: &[Vec<String>]) -> String {
    format!("{{\n{}\n}}", fields.iter().map(|field| field.join("\n")).collect::<Vec<_>>().join("\n,\n"))
}

fn any_field() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        3 => any_names().prop_map(|list| field("NodeNames", list)),
        3 => any_nodes().prop_map(|list| field("Nodes", list)),
        3 => Just(field("Pod", vec!["{}".to_owned()])),
        1 => Just(field("Nodes", vec!["null".to_owned()])),
        1 => (select(&KEYS[..]), any_names()).prop_map(|(key, list)| field(key, list)),
        1 => (select(&KEYS[..]), select(&VALUES[..])).prop_map(|(key, value)| field(key, vec![value.to_owned()])),
    ]
}

/// A request, with whitespace between its tokens and perhaps a byte that is wrong or the last.
fn any_body() -> impl Strategy<Value = Bytes> {
    let spaces = vec(prop_oneof![6 => Just(""), 1 => select(&[" ", "\n", "\t\r ", "\u{b}"][..])], 80);
    let wound =
        (any::<prop::sample::Index>(), prop_oneof![6 => Just(None), 1 => any::<u8>().prop_map(Some)], 0..8usize);
    (vec(any_field(), 1..5), spaces, wound).prop_map(|(fields, spaces, (at, byte, cut))| {
        let tokens = object(&fields);
        let pieces = tokens.split('\n').zip(spaces.into_iter().cycle()).flat_map(|(token, space)| [token, space]);
        let mut body = pieces.collect::<String>().into_bytes();
        let at = at.index(body.len());
        match byte {
            Some(byte) => body[at] = byte,
            None if cut == 0 => body.truncate(at),
            None => {}
        }
        body.into()
    })
}

/// The pod's place, and each name with its slot or each whole node with its place.
fn read(args: &ExtenderArgs) -> (usize, bool, Vec<(String, u32)>) {
    let nodes = &args.nodes;
    let read = match nodes.as_query(None) {
        Nodes::Objects(objects) => {
            let object = |at: usize| {
                assert_eq!(objects[at].json(), nodes.json(at), "a node is known by its bytes");
                (format!("{:?} of {:p}", nodes.stretch(at..at + 1), nodes.text().as_ptr()), 0)
            };
            (0..objects.len()).map(object).collect()
        }
        Nodes::Slots { slots, .. } => {
            let name = |at| serde_json::from_slice(nodes.json(at)).unwrap();
            (0..nodes.len()).map(name).zip(slots.iter().copied()).collect()
        }
        Nodes::Names(_) => panic!("names are looked up as they are read"),
    };
    (args.pod.as_ptr() as usize, nodes.are_objects(), read)
}

/// A gateway that has judged the first three nodes.
fn gateway() -> Gateway {
    let gateway = Gateway::new(Arc::new(SystemClock), Arc::new(NoObserver), Duration::from_secs(4));
    gateway.set_roster(Arc::new(Roster::of_root(vec![])));
    learn(&gateway, &whole(&NODES[..3], true));
    gateway
}

fn learn(gateway: &Gateway, body: &Bytes) {
    let origin = RequestOrigin { received: Instant::now(), may_bind: true };
    let mut memory = MemoryReservation::of(&Arc::new(AtomicUsize::new(usize::MAX)));
    let backend = Backend { gateway, cache: &RequestCache::default(), max_nodes: 100_000 };
    if let Ok(Handling::Reply(reply)) = ExtenderVerb::Filter.answer(backend, "", body, origin, &mut memory) {
        reply.after.run();
    }
}

/// A request with whole nodes as Go writes it, or with its keys sorted.
fn whole(nodes: &[&str], as_go: bool) -> Bytes {
    let items = format!(r#""items":[{}]"#, nodes.join(","));
    let nodes = if as_go { format!(r#""metadata":{{}},{items}"#) } else { format!(r#"{items},"metadata":{{}}"#) };
    let nodes = format!(r#""Nodes":{{{nodes}}}"#);
    let body = if as_go { format!(r#""Pod":{{}},{nodes}"#) } else { format!(r#"{nodes},"Pod":{{}}"#) };
    format!(r#"{{{body},"NodeNames":null}}"#).into()
}

#[test]
fn a_text_with_a_tab_or_a_line_break_in_it_is_left_to_serde() {
    for body in [r#"{"Po@":{},"Pod":{}}"#, r#"{"Pod":{},"NodeNames":["n1@"]}"#, r#"{"Pod":{},"NodeNames":["@n1"]}"#] {
        for wrong in ["\t", "\n", " \r", "\u{1}"] {
            let body = Bytes::from(body.replace('@', wrong));
            assert!(
                fast_path::args(&body, &NameIndex::new(&cluster(), None), &KnownNodeOrder::default, 100_000).is_none(),
                "{body:?}"
            );
            assert!(by_serde(&body, cluster().names(), 100_000).is_err(), "{body:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_quickly_is_read_as_by_serde(bodies in vec(any_body(), 1..4)) {
        // One cluster and one gateway for several: the order learned from one body is predicted for the next.
        let (index, cache, gateway) = (NameIndex::new(&cluster(), None), RequestCache::default(), gateway());
        for body in bodies {
            let Some(fast_path) = fast_path::args(&body, &index, &|| known(&cache, &gateway), 100_000) else { continue };
            let slow = by_serde(&body, index.names(), 100_000);
            let slow = slow.map_err(|error| TestCaseError::fail(format!("{body:?}: {error}")))?;
            prop_assert_eq!(read(&fast_path), read(&slow));
            learn(&gateway, &body);
        }
    }

    #[test]
    fn what_a_scheduler_writes_is_read_quickly(names in vec(select(&NAMES[..6]), 0..9), pod_first in any::<bool>()) {
        let names = format!(r#""Nodes":null,"NodeNames":[{}]"#, names.join(","));
        let body = if pod_first { format!(r#"{{"Pod":{{}},{names}}}"#) } else { format!(r#"{{{names},"Pod":{{}}}}"#) };
        prop_assert!(fast_path::args(&body.into(), &NameIndex::new(&cluster(), None), &KnownNodeOrder::default, 100_000).is_some());
    }

    #[test]
    fn every_known_node_is_recognised_whatever_its_place(
        requests in vec((vec(select(&NODES[..4]), 0..9), any::<bool>()), 1..4),
    ) {
        let (cache, gateway) = (RequestCache::default(), gateway());
        for (nodes, as_go) in requests {
            let args = fast_path::args(&whole(&nodes, as_go), &NameIndex::new(&cluster(), None), &|| known(&cache, &gateway), 100_000).unwrap();
            let Nodes::Objects(objects) = args.nodes.as_query(None) else { panic!("whole nodes") };
            for (object, json) in objects.iter().zip(nodes) {
                prop_assert_eq!(matches!(object, NodeObject::Known(_)), json != NODES[3]);
            }
        }
    }
}
