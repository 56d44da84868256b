//! What is read quickly is read as serde reads it.

use std::sync::Arc;

use plimsoll_core::{Node, Slot};
use proptest::{collection::vec, prelude::*, sample::select};

use super::*;

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
const KEYS: [&str; 8] = ["Pod", "NodeNames", "Nodes", "pod", "NODENAMES", "nodeS", "Extra", "P\\u006fd"];
const VALUES: [&str; 9] =
    ["{}", r#"{"a":[1,{"b":"}"}]}"#, "null", "5", "\"x\"", "[]", "[5,[]]", "tru", r#"{"items":[{}]}"#];

fn cluster() -> Cluster {
    let node = |name: &str| Node::from_json(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#).into()).unwrap();
    let slot = |name: &str| Slot { node: Arc::new(node(name)), placed: None };
    Cluster::new(["n1", "n2", "n3", "é"].map(slot).into())
}

fn any_list() -> impl Strategy<Value = Vec<String>> {
    // Mostly what a scheduler would write, so that much of it is read to the end.
    let name = prop_oneof![8 => select(&NAMES[..6]), 1 => select(&NAMES[..])];
    vec(name, 0..7).prop_map(|names| {
        let mut tokens = vec!["[".to_owned()];
        for (at, name) in names.into_iter().enumerate() {
            tokens.extend((at > 0).then(|| ",".to_owned()));
            tokens.push(name.to_owned());
        }
        tokens.push("]".to_owned());
        tokens
    })
}

fn any_field() -> impl Strategy<Value = Vec<String>> {
    let one = |key: &str, value: Vec<String>| [vec![format!("\"{key}\""), ":".to_owned()], value].concat();
    prop_oneof![
        3 => any_list().prop_map(move |list| one("NodeNames", list)),
        3 => Just(one("Pod", vec!["{}".to_owned()])),
        1 => Just(one("Nodes", vec!["null".to_owned()])),
        1 => (select(&KEYS[..]), any_list()).prop_map(move |(key, list)| one(key, list)),
        1 => (select(&KEYS[..]), select(&VALUES[..])).prop_map(move |(key, value)| one(key, vec![value.to_owned()])),
    ]
}

/// A request, with whitespace between its tokens and perhaps a byte that is wrong or the last.
fn any_body() -> impl Strategy<Value = Bytes> {
    let spaces = vec(prop_oneof![6 => Just(""), 1 => select(&[" ", "\n", "\t\r ", "\u{b}"][..])], 80);
    let wound =
        (any::<prop::sample::Index>(), prop_oneof![6 => Just(None), 1 => any::<u8>().prop_map(Some)], 0..8usize);
    (vec(any_field(), 1..5), spaces, wound).prop_map(|(fields, spaces, (at, byte, cut))| {
        let tokens =
            format!("{{\n{}\n}}", fields.iter().map(|field| field.join("\n")).collect::<Vec<_>>().join("\n,\n"));
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

/// The pod's place, and each name with its slot.
fn read(args: &ExtenderArgs) -> (usize, Vec<(String, u32)>) {
    let nodes = &args.nodes;
    let Nodes::Slots { slots, .. } = nodes.as_query(None) else { panic!("a request by name") };
    let name = |at| serde_json::from_slice(nodes.json(at)).unwrap();
    (args.pod.as_ptr() as usize, (0..nodes.len()).map(name).zip(slots.iter().copied()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_quickly_is_read_as_by_serde(bodies in vec(any_body(), 1..4)) {
        // One cluster for several: what was learned from one body is expected of the next.
        let cluster = cluster();
        for body in bodies {
            let Some(quick) = quick::args(&body, cluster.names()) else { continue };
            let slow = by_serde(&body, cluster.names());
            let slow = slow.map_err(|error| TestCaseError::fail(format!("{body:?}: {error}")))?;
            prop_assert_eq!(read(&quick), read(&slow));
        }
    }

    #[test]
    fn what_a_scheduler_writes_is_read_quickly(names in vec(select(&NAMES[..6]), 0..9), pod_first in any::<bool>()) {
        let names = format!(r#""Nodes":null,"NodeNames":[{}]"#, names.join(","));
        let body = if pod_first { format!(r#"{{"Pod":{{}},{names}}}"#) } else { format!(r#"{{{names},"Pod":{{}}}}"#) };
        prop_assert!(quick::args(&body.into(), cluster().names()).is_some());
    }
}
