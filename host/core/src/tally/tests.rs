//! Any chain of snapshots has the totals that a walk over all pods gives, whichever snapshot is read when.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::{Cluster, Node, Placed, Pod, Slot, Unlisted, UnlistedNode};

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
        let measure = if *by_cpu { Measure::Requested("cpu") } else { Measure::Pods };
        let amount = |pod: &Pod| if *by_cpu { i128::from(pod.requests().get("cpu")) } else { 1 };
        let population = cluster.population();
        let expected = population.pods().filter(|(pod, node)| selector.matches(pod, *node));
        let expected: i128 = expected.map(|(pod, _)| amount(pod)).sum();
        assert_eq!(cluster.total(selector, measure), Some(expected), "{asked:?} of {ago} snapshots ago");
    }

    fn read(&self, ago: usize, asked: &Asked) {
        self.read_total(ago, asked);
        let Some(cluster) = self.snapshots.iter().rev().nth(ago) else { return };
        let mut pools: BTreeMap<&str, u32> = BTreeMap::new();
        for pool in cluster.slots().iter().filter_map(|slot| slot.node.labels().get("pool")) {
            *pools.entry(pool).or_default() += 1;
        }
        let values = cluster.label_values("pool").unwrap();
        assert_eq!(values.iter().collect::<Vec<_>>(), pools.clone().into_iter().collect::<Vec<_>>());
        for pool in TEXTS {
            let selector = Selector { node_label: Some(("pool", pool)), ..Selector::all() };
            let expected = pools.get(pool).copied().unwrap_or(0);
            assert_eq!(cluster.total(&selector, Measure::Nodes), Some(expected.into()));
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
        let tables = || cluster.tallies().tables.load().get(&Shape::of(&selector, Measure::Pods)).cloned();
        (tables().is_some(), cluster.total(&selector, Measure::Pods).unwrap())
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
    let keys: Vec<String> = (0..table::MAX_TABLES + 20).map(|key| format!("k{key}")).collect();
    let selector = |key| Selector { label: Some((key, "v")), ..Selector::all() };
    let is_there = |cluster: &Cluster, key| {
        cluster.tallies().tables.load().get(&Shape::of(&selector(key), Measure::Pods)).is_some()
    };
    let known = Selector { label: Some(("app", "a")), ..Selector::all() };
    for key in &keys {
        let last = world.snapshots.last().unwrap();
        assert_eq!(last.total(&selector(key), Measure::Pods), Some(0));
        assert_eq!(last.total(&known, Measure::Pods), Some(1));
        world.publish();
    }
    let last = world.snapshots.last().unwrap();
    assert!(is_there(last, &keys[table::MAX_TABLES + 19]) && !is_there(last, &keys[0]));
    assert!(last.tallies().tables.load().get(&Shape::of(&known, Measure::Pods)).is_some(), "it is read all the time");
    assert_eq!(last.tallies().tables.load().len(), table::MAX_TABLES);
}

#[test]
fn more_values_than_are_listed_are_an_error_and_fewer_are_not() {
    let cluster = |count: usize| {
        let node = |at: usize| Slot {
            node: Arc::new(
                Node::from_json(format!(r#"{{"metadata":{{"name":"n{at}","labels":{{"k":"{at}"}}}}}}"#).into())
                    .unwrap(),
            ),
            placed: Some(Arc::default()),
        };
        Cluster::new((0..count).map(node).collect::<Vec<_>>())
    };
    let most = cluster(MAX_LABEL_VALUES);
    assert_eq!(most.label_values("k").map(|values| values.iter().len()), Ok(MAX_LABEL_VALUES));
    let more = cluster(MAX_LABEL_VALUES + 1);
    assert_eq!(more.label_values("k"), Err(TooManyValues));
    more.follow(&most);
    assert_eq!(more.label_values("k"), Err(TooManyValues));
}

#[test]
fn a_snapshot_does_not_wait_while_a_table_is_made() {
    let mut world = mk_world();
    world.apply(&Step::PutNode(1, 0));
    world.apply(&Step::AddPod(1, (0, 0, 3, 1)));
    world.publish();
    let asked = Asked { selector: Selector::all(), by_cpu: false };
    let chain = Arc::clone(world.snapshots[0].tallies().chain());
    let making = chain.making.lock();
    world.publish();
    assert!(Arc::ptr_eq(world.snapshots[1].tallies().chain(), &chain));
    drop(making);
    // Made for a snapshot that another one has followed, it is kept for the next.
    world.read_total(1, &asked);
    assert_eq!(chain.late.lock().len(), 1);
    // A reader that needs a table that exists does not wait for another one either.
    let making = chain.making.lock();
    world.read_total(0, &asked);
    world.publish();
    world.read_total(0, &asked);
    drop(making);
    assert!(chain.late.lock().is_empty());
}

#[test]
fn a_label_with_too_many_values_is_listed_once_it_has_fewer() {
    let node = |at: usize, value: usize| {
        let json = serde_json::json!({"metadata": {"name": format!("n{at}"), "labels": {"k": value.to_string()}}});
        Slot { node: Arc::new(Node::from_json(Bytes::from(json.to_string())).unwrap()), placed: None }
    };
    let many: Vec<Slot> = (0..=MAX_LABEL_VALUES).map(|at| node(at, at)).collect();
    let first = Cluster::new(many.clone());
    for _ in 0..2 {
        assert_eq!(first.label_values("k"), Err(TooManyValues));
    }
    let mut fewer = many;
    fewer[0] = node(0, 1);
    let second = first.successor(fewer);
    second.follow(&first);
    assert_eq!(second.label_values("k").unwrap().iter().len(), MAX_LABEL_VALUES);
}
