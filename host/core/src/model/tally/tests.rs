//! Any chain of snapshots has the totals that a walk over all pods gives, whichever snapshot is read when.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::model::{Cluster, Node, Placed, Pod, Read, ReadError, Slot, Unlisted, UnlistedNode, View};

/// Few values of each, so that they collide.
const TEXTS: [&str; 3] = ["a", "b", "c"];

/// A pod by number: namespace, label, annotation and CPUs; 3 is a value that is not there, and an annotation of 4 is too
/// large to be kept.
type PodSpec = (usize, usize, usize, i64);

#[derive(Debug, Clone)]
enum Step {
    /// A node is there with this pool; 3 is none.
    PutNode(u8, usize),
    /// A node is gone, and its pods have none.
    RemoveNode(u8),
    AddPod(u8, PodSpec),
    RemovePod(u8, usize),
    /// The pods of a node are the same in another order.
    Turn(u8),
    Publish,
    /// A read of the snapshot that was published this many steps before the last one.
    Read(usize, Asked),
}

#[derive(Debug, Clone)]
struct Asked {
    selector: Selector<&'static str>,
    by_cpu: bool,
}

fn any_asked() -> impl Strategy<Value = Asked> {
    let text = || proptest::sample::select(&TEXTS[..]);
    let pair = |key: &'static str| option::of(text().prop_map(move |value| (key, value)));
    let parts = (option::of(text()), pair("app"), pair("licence"), pair("pool"), any::<bool>());
    parts.prop_map(|(namespace, label, annotation, node_label, by_cpu)| Asked {
        selector: Selector { namespace, label, annotation, node_label },
        by_cpu,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let nodes = 0u8..5;
    let pod = (0..3usize, 0..4usize, 0..5usize, 0..3i64);
    prop_oneof![
        2 => (nodes.clone(), 0..4usize).prop_map(|(node, pool)| Step::PutNode(node, pool)),
        1 => nodes.clone().prop_map(Step::RemoveNode),
        4 => (nodes.clone(), pod).prop_map(|(node, pod)| Step::AddPod(node, pod)),
        2 => (nodes.clone(), 0..4usize).prop_map(|(node, at)| Step::RemovePod(node, at)),
        1 => nodes.prop_map(Step::Turn),
        4 => Just(Step::Publish),
        6 => (0..4usize, any_asked()).prop_map(|(ago, asked)| Step::Read(ago, asked)),
    ]
}

fn mk_node(number: u8, pool: usize) -> Arc<Node> {
    let labels: HashMap<&str, &&str> = TEXTS.get(pool).map(|pool| ("pool", pool)).into_iter().collect();
    let json = serde_json::json!({"metadata": {"name": format!("n{number}"), "labels": labels}});
    Arc::new(Node::from_json(Bytes::from(json.to_string())).unwrap())
}

fn mk_pod((namespace, app, licence, cpu): PodSpec) -> Arc<Pod> {
    let labels: HashMap<&str, &&str> = TEXTS.get(app).map(|app| ("app", app)).into_iter().collect();
    let large = "x".repeat(20_000);
    let licence = if licence == 4 { Some(large.as_str()) } else { TEXTS.get(licence).copied() };
    let annotations: HashMap<&str, &str> = licence.map(|licence| ("licence", licence)).into_iter().collect();
    let requests = serde_json::json!({"cpu": format!("{cpu}")});
    let json = serde_json::json!({
        "metadata": {"name": "p", "namespace": TEXTS[namespace], "labels": labels, "annotations": annotations},
        "spec": {"containers": [{"resources": {"requests": requests}}]},
    });
    Arc::new(Pod::placed_from_json(json.to_string().as_bytes()).unwrap())
}

/// The cluster as it is to be published, and the snapshots so far.
struct World {
    nodes: Vec<(u8, Arc<Node>)>,
    pods: BTreeMap<u8, Vec<Arc<Pod>>>,
    /// The records of pods that were published last.
    placed: BTreeMap<u8, Arc<Placed>>,
    snapshots: Vec<Cluster>,
}

impl World {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::PutNode(node, pool) => match self.nodes.iter_mut().find(|(own, _)| own == node) {
                Some((_, own)) => *own = mk_node(*node, *pool),
                None => self.nodes.push((*node, mk_node(*node, *pool))),
            },
            Step::RemoveNode(node) => {
                if let Some(at) = self.nodes.iter().position(|(own, _)| own == node) {
                    self.nodes.swap_remove(at);
                }
            }
            Step::AddPod(node, pod) => {
                self.pods.entry(*node).or_default().push(mk_pod(*pod));
                self.placed.remove(node);
            }
            Step::RemovePod(node, at) => {
                if let Some(pods) = self.pods.get_mut(node).filter(|pods| *at < pods.len()) {
                    pods.remove(*at);
                    self.placed.remove(node);
                }
            }
            Step::Turn(node) => {
                if let Some(pods) = self.pods.get_mut(node) {
                    pods.reverse();
                    self.placed.remove(node);
                }
            }
            Step::Publish => self.publish(),
            Step::Read(ago, asked) => self.read(*ago, asked),
        }
    }

    fn placed(&mut self, node: u8) -> Arc<Placed> {
        let pods = self.pods.entry(node).or_default();
        Arc::clone(self.placed.entry(node).or_insert_with(|| Arc::new(Placed::new(pods.clone()))))
    }

    /// Every other node without a slot has its Node.
    fn unlisted(&mut self, node: u8) -> UnlistedNode {
        let known = node.is_multiple_of(2).then(|| mk_node(node, usize::from(node / 2) % 4));
        UnlistedNode { node: known, placed: self.placed(node) }
    }

    fn publish(&mut self) {
        let nodes = self.nodes.clone();
        let slots: Vec<Slot> =
            nodes.into_iter().map(|(number, node)| Slot { node, placed: Some(self.placed(number)) }).collect();
        let lost: Vec<u8> =
            self.pods.keys().copied().filter(|pods| self.nodes.iter().all(|(own, _)| own != pods)).collect();
        let unlisted: Unlisted =
            Arc::new(lost.into_iter().map(|node| (Arc::from(format!("n{node}")), self.unlisted(node))).collect());
        let next = match self.snapshots.last() {
            Some(before) => {
                let next = before.successor(slots).with_unlisted(unlisted);
                next.follow(before);
                next
            }
            None => Cluster::new(slots).with_unlisted(unlisted),
        };
        self.snapshots.push(next);
    }

    fn read_total(&self, ago: usize, asked: &Asked) {
        let Some(cluster) = self.snapshots.iter().rev().nth(ago) else { return };
        let Asked { selector, by_cpu } = asked;
        let requested = by_cpu.then_some("cpu");
        let amount = |pod: &Pod| if *by_cpu { i128::from(pod.requests().get("cpu")) } else { 1 };
        let expected = all_pods(cluster.population()).filter(|(pod, node)| selector.matches(pod, *node));
        let expected: i128 = expected.map(|(pod, _)| amount(pod)).sum();
        assert_eq!(cluster.total(selector, requested), Some(expected), "{asked:?} of {ago} snapshots ago");
    }

    fn read(&self, ago: usize, asked: &Asked) {
        self.read_total(ago, asked);
        let Some(cluster) = self.snapshots.iter().rev().nth(ago) else { return };
        let mut pools: BTreeMap<&str, u32> = BTreeMap::new();
        for pool in cluster.slots().iter().filter_map(|slot| slot.node.labels().get("pool")) {
            *pools.entry(pool).or_default() += 1;
        }
        let values = cluster.label_values("pool");
        assert_eq!(values.iter().collect::<Vec<_>>(), pools.clone().into_iter().collect::<Vec<_>>());
        for pool in TEXTS {
            assert_eq!(values.count(pool), pools.get(pool).copied().unwrap_or(0));
        }
    }
}

fn mk_world() -> World {
    World { nodes: vec![], pods: BTreeMap::new(), placed: BTreeMap::new(), snapshots: vec![] }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_total_is_that_of_a_walk_over_all_pods(steps in vec(any_step(), 1..80)) {
        let mut world = mk_world();
        for step in &steps {
            world.apply(step);
        }
    }
}

#[test]
fn a_table_is_made_once_and_no_snapshot_after_it_makes_it_again() {
    let mut world = mk_world();
    let count = |cluster: &Cluster, app: &str| {
        let selector = Selector { label: Some(("app", app)), ..Selector::all() };
        (cluster.tallies().has(&Shape::of(&selector, None)), cluster.total(&selector, None).unwrap())
    };
    world.apply(&Step::PutNode(1, 0));
    world.apply(&Step::AddPod(1, (0, 0, 3, 1)));
    world.publish();
    assert_eq!(count(&world.snapshots[0], "a"), (false, 1));
    assert_eq!(count(&world.snapshots[0], "b"), (true, 0), "another value of the same keys");
    world.apply(&Step::AddPod(1, (0, 0, 3, 1)));
    world.publish();
    assert_eq!(count(&world.snapshots[1], "a"), (true, 2));
    assert_eq!(count(&world.snapshots[0], "a"), (true, 1), "an old snapshot stays as it was");
}

#[test]
fn beyond_the_most_tables_the_least_recently_read_goes() {
    let mut world = mk_world();
    world.apply(&Step::PutNode(1, 0));
    world.apply(&Step::AddPod(1, (0, 0, 0, 1)));
    world.publish();
    let keys: Vec<String> = (0..MAX_TABLES + 20).map(|key| format!("k{key}")).collect();
    let selector = |key| Selector { label: Some((key, "v")), ..Selector::all() };
    let is_there = |cluster: &Cluster, selector: &Selector<&str>| cluster.tallies().has(&Shape::of(selector, None));
    let known = Selector { label: Some(("app", "a")), ..Selector::all() };
    for key in &keys {
        let last = world.snapshots.last().unwrap();
        assert_eq!(last.total(&selector(key), None), Some(0));
        assert_eq!(last.total(&known, None), Some(1));
        world.publish();
    }
    let last = world.snapshots.last().unwrap();
    assert!(is_there(last, &selector(&keys[MAX_TABLES + 19])) && !is_there(last, &selector(&keys[0])));
    assert!(is_there(last, &known), "it is read all the time");
    assert_eq!(last.tallies().tables.read().len(), MAX_TABLES);
}

#[test]
fn a_table_that_is_being_made_is_made_once() {
    let mut world = mk_world();
    world.apply(&Step::PutNode(1, 0));
    world.apply(&Step::AddPod(1, (0, 0, 3, 1)));
    world.publish();
    let shape = Shape::of(&Selector::all(), None);
    let table = world.snapshots[0].tallies().table(&shape);
    world.apply(&Step::AddPod(1, (0, 0, 3, 1)));
    world.publish();
    // The snapshot that followed has its own table, and made the one before it ready.
    assert!(table.groups.get().is_some());
    assert!(world.snapshots[1].tallies().has(&shape));
    world.read_total(0, &Asked { selector: Selector::all(), by_cpu: false });
    world.read_total(1, &Asked { selector: Selector::all(), by_cpu: false });
}

#[test]
fn nodes_that_come_and_go_change_the_values_of_their_labels() {
    let node = |at: usize, value: usize| {
        let json = serde_json::json!({"metadata": {"name": format!("n{at}"), "labels": {"k": value.to_string()}}});
        Slot { node: Arc::new(Node::from_json(Bytes::from(json.to_string())).unwrap()), placed: None }
    };
    let slots: Vec<Slot> = (0..=MAX_LABEL_VALUES).map(|at| node(at, at)).collect();
    let first = Cluster::new(slots.clone());
    assert_eq!(first.label_values("k").iter().len(), MAX_LABEL_VALUES + 1);
    let mut fewer = slots;
    fewer[0] = node(0, 1);
    let second = first.successor(fewer);
    second.follow(&first);
    assert!(second.tallies().has_label_values("k"));
    let (values, before) = (second.label_values("k"), first.label_values("k"));
    assert_eq!((values.iter().len(), values.count("0"), values.count("1")), (MAX_LABEL_VALUES, 0, 2));
    assert_eq!(before.iter().len(), MAX_LABEL_VALUES + 1);
    assert_ne!(values.fingerprint(), before.fingerprint());
    let read = |cluster| {
        let view = View::new(Arc::default(), Arc::new(cluster), Arc::from([0]), 0);
        view.read(Read::ClusterLabelValues("k")).map(drop)
    };
    assert_eq!([read(first), read(second)], [Err(ReadError::TooManyValues), Ok(())]);
}
