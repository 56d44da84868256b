//! Random sequences of events, lists and assumptions against a model that keeps sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::{collection::vec, prelude::*};

use super::*;

/// What may happen; names and UIDs are few, so that they meet.
#[derive(Debug, Clone)]
enum Step {
    PutNode(u8, u8),
    RemoveNode(u8),
    PutPod(u8, u8, u8),
    RemovePod(u8),
    Assume(u8, u8),
    Forget(u8),
    /// The list has of what is there only what these bits say, and began so many steps ago.
    ListNodes(u8),
    ListPods(u8, u8),
    Publish,
}

fn any_step() -> impl Strategy<Value = Step> {
    let (nodes, pods) = (0u8..4, 0u8..6);
    prop_oneof![
        (nodes.clone(), 0u8..2).prop_map(|(node, zone)| Step::PutNode(node, zone)),
        nodes.clone().prop_map(Step::RemoveNode),
        (pods.clone(), nodes.clone(), 0u8..2).prop_map(|(pod, node, app)| Step::PutPod(pod, node, app)),
        pods.clone().prop_map(Step::RemovePod),
        (pods.clone(), nodes).prop_map(|(pod, node)| Step::Assume(pod, node)),
        pods.prop_map(Step::Forget),
        any::<u8>().prop_map(Step::ListNodes),
        (any::<u8>(), 0u8..6).prop_map(|(bits, ago)| Step::ListPods(bits, ago)),
        Just(Step::Publish),
    ]
}

/// What the cluster should be: nodes by zone, pods by node and app; assumed ones with the step that they are from.
#[derive(Default)]
struct Model {
    nodes: BTreeMap<u8, u8>,
    pods: BTreeMap<u8, (u8, u8)>,
    assumed: BTreeMap<u8, (u8, u32)>,
}

/// The real thing beside its model, and a clock that only steps move.
struct Both {
    store: Store,
    model: Model,
    start: Instant,
    step: u32,
}

fn mk_node(node_number: u8, zone: u8, beat: u32) -> Node {
    node(&format!("n{node_number}"), &zone.to_string(), beat)
}

fn mk_pod(number: u8, node: u8, app: u8) -> Pod {
    pod(&format!("p{number}"), &format!("u{number}"), &format!("n{node}"), &app.to_string())
}

impl Both {
    fn at(&self, step: u32) -> Instant {
        self.start + Duration::from_secs(u64::from(step))
    }

    fn apply(&mut self, step: &Step) {
        self.step += 1;
        let Self { store, model, step: now, .. } = self;
        match *step {
            Step::PutNode(node, zone) => {
                store.put_node(mk_node(node, zone, *now));
                model.nodes.insert(node, zone);
            }
            Step::RemoveNode(node) => {
                store.remove_node(&format!("n{node}"));
                model.nodes.remove(&node);
            }
            Step::PutPod(pod, node, app) => {
                store.put_pod(mk_pod(pod, node, app));
                model.pods.insert(pod, (node, app));
                model.assumed.remove(&pod);
            }
            Step::RemovePod(pod) => {
                store.remove_pod(&mk_pod(pod, 0, 0));
                model.pods.remove(&pod);
                model.assumed.remove(&pod);
            }
            Step::Assume(pod, node) => {
                let at = self.at(self.step);
                self.store.assume(Arc::new(mk_pod(pod, node, 0)), at);
                if !self.model.pods.contains_key(&pod) {
                    self.model.assumed.insert(pod, (node, self.step));
                }
            }
            Step::Forget(pod) => {
                store.forget(&format!("u{pod}"));
                model.assumed.remove(&pod);
            }
            Step::ListNodes(bits) => self.list_nodes(bits),
            Step::ListPods(bits, ago) => self.list_pods(bits, ago),
            Step::Publish => self.publish_and_compare(),
        }
    }

    fn list_nodes(&mut self, bits: u8) {
        self.model.nodes.retain(|node, _| bits & (1 << node) != 0);
        self.store.begin_nodes();
        for (node, zone) in &self.model.nodes {
            self.store.put_node(mk_node(*node, *zone, self.step));
        }
        self.store.end_nodes();
    }

    fn list_pods(&mut self, bits: u8, ago: u8) {
        self.model.pods.retain(|pod, _| bits & (1 << pod) != 0);
        let began = self.step.saturating_sub(u32::from(ago));
        self.store.begin_pods();
        for (number, (node, app)) in &self.model.pods {
            self.store.put_pod(mk_pod(*number, *node, *app));
        }
        self.store.end_pods(self.at(began));
        self.model.assumed.retain(|_, (_, since)| *since >= began);
    }

    /// The published cluster is the one that is built from what there is; unchanged parts are the same records.
    fn publish_and_compare(&mut self) {
        let before = Arc::clone(self.store.published());
        let news = self.store.publish();
        let now = Arc::clone(self.store.published());
        let expected = self.model.cluster();
        assert_eq!(picture(&now), picture(&expected));
        assert_eq!(news.is_some(), !Arc::ptr_eq(&before, &now));
        for slot in now.slots().iter() {
            let found = now.find(slot.node.name()).map(|at| &now.slots()[at as usize]);
            assert!(found.is_some_and(|found| is_same(found, slot)), "{} is not found", slot.node.name());
            let built = &expected.slots()[expected.find(slot.node.name()).unwrap() as usize];
            assert_eq!(slot.node.json(), built.node.json());
            let (own, built) = (slot.placed.as_ref().unwrap(), built.placed.as_ref().unwrap());
            assert_eq!(own.pods(), built.pods());
            assert_eq!(own.requested(), built.requested());
        }
        assert_carried_over(&before, &now);
        let left: BTreeSet<&str> = self.store.homes.keys().map(AsRef::as_ref).collect();
        assert!(left.iter().all(|name| !self.store.homes[*name].is_void()), "{left:?}");
        assert_eq!(self.store.assumed(), self.model.assumed.len());
    }
}

/// What says the same in both is the same record, and stays in its slot unless nodes went.
fn assert_carried_over(before: &Cluster, now: &Cluster) {
    for slot in before.slots().iter() {
        let Some(at) = now.find(slot.node.name()) else { continue };
        let after = &now.slots()[at as usize];
        assert_eq!(slot.node.json() == after.node.json(), Arc::ptr_eq(&slot.node, &after.node));
        let (old, new) = (slot.placed.as_ref().unwrap(), after.placed.as_ref().unwrap());
        assert_eq!(old.pods() == new.pods(), Arc::ptr_eq(old, new));
        if now.slots().len() >= before.slots().len()
            && before.slots().iter().all(|slot| now.find(slot.node.name()).is_some())
        {
            assert_eq!(before.find(slot.node.name()), Some(at));
        }
    }
}

impl Model {
    /// Built from nothing, in any order of nodes.
    fn cluster(&self) -> Cluster {
        let nodes = self.nodes.iter().map(|(node, zone)| mk_node(*node, *zone, 0)).collect();
        let pods = self.pods.iter().map(|(number, (node, app))| mk_pod(*number, *node, *app));
        let assumed = self.assumed.iter().map(|(number, (node, _))| mk_pod(*number, *node, 0));
        let mut pods: Vec<Pod> = pods.chain(assumed).collect();
        pods.sort_by(|a, b| a.name().cmp(b.name()));
        Cluster::from_objects(nodes, pods)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_sequence_gives_the_cluster_that_is_built_from_what_is_left(steps in vec(any_step(), 1..60)) {
        let mut both = Both { store: Store::default(), model: Model::default(), start: Instant::now(), step: 0 };
        for step in &steps {
            both.apply(step);
        }
        both.publish_and_compare();
    }
}
