use proptest::{collection::vec, prelude::*};

use super::*;
use crate::model::{Placed, Slot};

fn json(name: &str, zone: &str) -> Bytes {
    Bytes::from(format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}}}}}}"#))
}

fn objects(nodes: &[(&str, &str)]) -> Vec<NodeObject> {
    nodes.iter().map(|(name, zone)| NodeObject::Json(json(name, zone))).collect()
}

/// The nodes of a request as they are resolved.
fn resolve(cache: &NodeCache, objects: &[NodeObject], seen: Option<&Arc<Cluster>>) -> Vec<Slot> {
    let (cluster, slots) = cache.resolve(objects, seen, &Arc::default()).unwrap();
    slots.iter().map(|slot| cluster.slots()[*slot as usize].clone()).collect()
}

/// A cluster with these nodes, each with pods of its own.
fn cluster(names: &[&str]) -> Arc<Cluster> {
    let node = |name: &&str| Arc::new(Node::from_json(json(name, "")).unwrap());
    let slot = |name: &&str| Slot { node: node(name), placed: Some(Arc::new(Placed::new(vec![]))) };
    Arc::new(Cluster::new(names.iter().map(slot).collect::<Vec<_>>()))
}

fn cache() -> NodeCache {
    NodeCache::new(1 << 20)
}

fn find(cache: &NodeCache, name: &str) -> Option<Arc<Node>> {
    cache.known().by_name(name).cloned()
}

/// Bytes that each node of these tests takes.
fn weight() -> usize {
    super::weight(&Node::from_json(json("a", "1")).unwrap())
}

fn bytes_kept(cache: &NodeCache) -> usize {
    let known = cache.known();
    known.cluster().slots().iter().map(|slot| super::weight(&slot.node)).sum()
}

#[test]
fn an_unchanged_node_is_the_same_record_and_a_changed_one_is_read_again() {
    let cache = cache();
    resolve(&cache, &objects(&[("a", "1"), ("b", "1")]), None);
    let second = resolve(&cache, &objects(&[("b", "2"), ("a", "1")]), None);
    let again = resolve(&cache, &objects(&[("a", "1")]), None);
    assert!(Arc::ptr_eq(&second[1].node, &again[0].node));
    assert_eq!(second[0].node.labels().get("zone"), Some("2"));
    assert_eq!(find(&cache, "b").unwrap().labels().get("zone"), Some("2"));
    assert!(find(&cache, "c").is_none());
    assert_eq!(cache.known().cluster().slots().len(), 2);
}

#[test]
fn a_request_with_nothing_new_puts_no_picture_in_force() {
    let (cache, seen, facts) = (cache(), cluster(&["a"]), Arc::default());
    let request = objects(&[("a", "1"), ("b", "1")]);
    let (first, _) = cache.resolve(&request, Some(&seen), &facts).unwrap();
    let known = cache.known();
    let recognised: Vec<NodeObject> =
        request.iter().map(|object| NodeObject::Known(Arc::clone(known.by_json(object.json()).unwrap()))).collect();
    for request in [&request[..], &recognised, &recognised[1..]] {
        assert!(Arc::ptr_eq(&cache.resolve(request, Some(&seen), &facts).unwrap().0, &first));
    }
}

#[test]
fn a_node_keeps_its_slot_whatever_comes_with_it() {
    let cache = cache();
    let slots = |nodes: &[(&str, &str)]| cache.resolve(&objects(nodes), None, &Arc::default()).unwrap().1;
    assert_eq!(slots(&[("a", "1"), ("b", "1")]), [0, 1]);
    assert_eq!(slots(&[("c", "1"), ("b", "2"), ("a", "1")]), [2, 1, 0]);
    assert_eq!(slots(&[("b", "2"), ("b", "2")]), [1, 1]);
}

#[test]
fn two_nodes_of_one_name_are_both_judged_and_the_last_is_kept() {
    let cache = cache();
    for _ in 0..3 {
        let nodes = resolve(&cache, &objects(&[("a", "1"), ("a", "2"), ("b", "1")]), None);
        let zones: Vec<_> = nodes.iter().map(|slot| slot.node.labels().get("zone")).collect();
        assert_eq!(zones, [Some("1"), Some("2"), Some("1")]);
        assert_eq!(find(&cache, "a").unwrap().labels().get("zone"), Some("2"));
        assert_eq!(cache.known().cluster().slots().len(), 2);
    }
}

#[test]
fn pods_are_those_of_the_cluster_that_the_request_is_decided_from() {
    let (cache, request) = (cache(), objects(&[("a", "1"), ("b", "1")]));
    let (one, other) = (cluster(&["a"]), cluster(&["b", "a"]));
    for seen in [None, Some(&one), Some(&other), Some(&one), None] {
        for (at, slot) in resolve(&cache, &request, seen).iter().enumerate() {
            let expected = seen.and_then(|seen| seen.slots()[seen.find(["a", "b"][at])? as usize].placed.as_ref());
            assert_eq!(slot.placed.as_ref().map(Arc::as_ptr), expected.map(Arc::as_ptr));
        }
    }
}

#[test]
fn a_node_whose_name_is_not_found_is_read_each_time_and_rightly() {
    let cache = cache();
    let [odd, trap] = [r#"{"metadata":{"name" : "a"}}"#, r#"{"x":{"metadata":{"name":"a"}},"metadata":{"name":"b"}}"#]
        .map(|json| NodeObject::Json(Bytes::from_static(json.as_bytes())));
    for _ in 0..2 {
        let nodes = resolve(&cache, &[odd.clone(), trap.clone()], None);
        assert_eq!(nodes.iter().map(|slot| slot.node.name().as_ref()).collect::<Vec<_>>(), ["a", "b"]);
    }
    assert_eq!(find(&cache, "a").unwrap().json(), odd.json());
}

#[test]
fn what_is_kept_does_not_hold_the_request() {
    let cache = cache();
    let body = json("a", "1");
    resolve(&cache, &[NodeObject::Json(body.clone())], None);
    assert_ne!(find(&cache, "a").unwrap().json().as_ptr(), body.as_ptr());
}

#[test]
fn names_that_come_no_more_are_forgotten_before_all_take_too_much() {
    let cache = cache().with_max_bytes(3 * weight());
    for names in [["a", "b"], ["c", "a"], ["d", "e"]] {
        let request: Vec<_> = names.iter().map(|name| (*name, "1")).collect();
        assert_eq!(resolve(&cache, &objects(&request), None).len(), 2);
        assert!(bytes_kept(&cache) <= cache.max_bytes);
        assert!(names.iter().all(|name| find(&cache, name).is_some()));
    }
    assert!(find(&cache, "a").is_none());
    // More than may be kept is judged all the same.
    let many = objects(&[("v", "1"), ("w", "1"), ("x", "1"), ("y", "1")]);
    assert_eq!(resolve(&cache, &many, None).len(), 4);
    assert!(find(&cache, "v").is_none() && find(&cache, "d").is_some());
}

#[test]
fn what_a_node_takes_beside_its_text_counts_too() {
    let many = 3_000;
    let labels: Vec<String> = (0..many).map(|at| format!("\"{at}\":\"\"")).collect();
    let text = format!(r#"{{"metadata":{{"name":"a","labels":{{{}}}}}}}"#, labels.join(","));
    let request = [NodeObject::Json(text.clone().into())];
    let cache = cache().with_max_bytes(2 * text.len());
    assert_eq!(resolve(&cache, &request, None).len(), 1);
    assert!(find(&cache, "a").is_none());
    let cache = cache.with_max_bytes(2 * text.len() + 20 * many);
    resolve(&cache, &request, None);
    assert!(find(&cache, "a").is_some());
}

#[test]
fn a_bad_node_is_named_by_its_place() {
    let request = [NodeObject::Json(json("a", "1")), NodeObject::Json(Bytes::from_static(b"{}"))];
    let error = cache().resolve(&request, None, &Arc::default()).unwrap_err();
    assert!(error.to_string().starts_with("Node 1 of the request: "), "{error}");
}

proptest! {
    #[test]
    fn every_request_gets_the_nodes_that_it_brought(
        requests in vec((vec((0..5usize, 0..3usize), 0..8), 0..3usize, any::<bool>()), 1..12),
        room in 2..20usize,
    ) {
        let cache = cache().with_max_bytes(room * weight());
        let clusters = [None, Some(cluster(&["a", "b"])), Some(cluster(&["b", "c", "d"]))];
        for (nodes, seen, recognised) in requests {
            let (seen, known) = (clusters[seen].as_ref(), cache.known());
            let written: Vec<Bytes> =
                nodes.iter().map(|(name, zone)| json(["a", "b", "c", "d", "e"][*name], ["1", "2", "3"][*zone])).collect();
            let object = |json: &Bytes| match known.by_json(json).filter(|_| recognised) {
                Some(node) => NodeObject::Known(Arc::clone(node)),
                None => NodeObject::Json(json.clone()),
            };
            let resolved = resolve(&cache, &written.iter().map(object).collect::<Vec<_>>(), seen);
            prop_assert_eq!(resolved.iter().map(|slot| slot.node.json()).collect::<Vec<_>>(), written.iter().collect::<Vec<_>>());
            for slot in resolved {
                let expected = seen.and_then(|seen| seen.slots()[seen.find(slot.node.name())? as usize].placed.clone());
                prop_assert_eq!(slot.placed.map(|placed| Arc::as_ptr(&placed)), expected.map(|placed| Arc::as_ptr(&placed)));
            }
            prop_assert!(bytes_kept(&cache) <= cache.max_bytes);
            prop_assert_eq!(cache.snapshot.load().bytes, bytes_kept(&cache));
        }
    }
}

#[test]
fn the_name_is_found_where_kube_scheduler_writes_it() {
    let table = [
        (r#"{"metadata":{"name":"n1","uid":"u"}}"#, Some("n1")),
        (r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n1"}}"#, Some("n1")),
        (r#"{"metadata":{"labels":{"a":"b"},"name":"n1"}}"#, Some("n1")),
        (r#"{"metadata":{"name":""#, Some("")),
        (r"{}", None),
        ("", None),
    ];
    for (json, expected) in table {
        assert_eq!(name_in(json.as_bytes()), expected, "{json}");
    }
}
