//! Random sequences of events, lists and assumptions against a model that keeps sets.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use proptest::{collection::vec, prelude::*};

use super::*;

/// An event; there are few names and UIDs, so that they collide.
#[derive(Debug, Clone)]
enum Step {
    PutNode(u8, u8),
    RemoveNode(u8),
    PutPod(u8, u8, u8),
    RemovePod(u8),
    /// The watch of waiting pods shows the pod as nominated for this node (4: for none; 5: it cannot be read), or that it
    /// does not wait any more.
    Wait(u8, u8),
    LeaveWaiting(u8),
    /// The pod has a tentative place on this node for so many steps, or none any more.
    Hold(u8, u8, u8),
    Leave(u8),
    EndOverdue,
    /// Nominated pods count from now on, or not.
    CountNominated(bool),
    /// A bind of the pod to the node reserves its place, if it may.
    Reserve(u8, u8),
    /// A bind, by number, learns that its write succeeded, that it failed, or nothing at all.
    Succeed(u8),
    Fail(u8),
    Lose(u8),
    /// It reads the pod, which is on this node if it is on any.
    FindOut(u8, u8),
    /// Somebody reads the pod, in a request that began the given number of steps ago.
    Read(u8, u8, u8),
    /// A list that contains only the objects selected by these bits.
    ListNodes(u8),
    ListPods(u8, u8),
    ListWaiting(u8),
    Publish,
}

fn any_step() -> impl Strategy<Value = Step> {
    let (nodes, pods, binds) = (0u8..4, 0u8..6, 0u8..8);
    prop_oneof![
        (nodes.clone(), 0u8..2).prop_map(|(node, zone)| Step::PutNode(node, zone)),
        nodes.clone().prop_map(Step::RemoveNode),
        (pods.clone(), nodes.clone(), 0u8..2).prop_map(|(pod, node, app)| Step::PutPod(pod, node, app)),
        pods.clone().prop_map(Step::RemovePod),
        (pods.clone(), 0u8..6).prop_map(|(pod, node)| Step::Wait(pod, node)),
        pods.clone().prop_map(Step::LeaveWaiting),
        (pods.clone(), nodes.clone(), 0u8..9).prop_map(|(pod, node, length)| Step::Hold(pod, node, length)),
        pods.clone().prop_map(Step::Leave),
        Just(Step::EndOverdue),
        any::<bool>().prop_map(Step::CountNominated),
        (pods.clone(), nodes.clone()).prop_map(|(pod, node)| Step::Reserve(pod, node)),
        binds.clone().prop_map(Step::Succeed),
        binds.clone().prop_map(Step::Fail),
        binds.clone().prop_map(Step::Lose),
        (binds, nodes.clone()).prop_map(|(bind, node)| Step::FindOut(bind, node)),
        (pods, 0u8..5, 0u8..6).prop_map(|(pod, node, ago)| Step::Read(pod, node, ago)),
        any::<u8>().prop_map(Step::ListNodes),
        (any::<u8>(), 0u8..6).prop_map(|(bits, ago)| Step::ListPods(bits, ago)),
        any::<u8>().prop_map(Step::ListWaiting),
        Just(Step::Publish),
    ]
}

/// The expected cluster: nodes by zone, pods by node and app, and the reservation of a pod.
#[derive(Default)]
struct Model {
    nodes: BTreeMap<u8, u8>,
    pods: BTreeMap<u8, (u8, u8)>,
    reserved: BTreeMap<u8, Place>,
    /// As their watch shows them.
    waiting: BTreeSet<u8>,
    /// The node of each, and the step at which it has left the watch.
    nominated: BTreeMap<u8, (u8, Option<u32>)>,
    /// The node of each, and the step at which it ends.
    tentative: BTreeMap<u8, (u8, u32)>,
    hides_nominated: bool,
}

/// A reservation: by which bind, on which node, and since which step a list or a read tells.
#[derive(Clone, Copy)]
struct Place {
    bind: usize,
    node: u8,
    settled: Option<u32>,
}

/// The outcome of a write as the bind learns it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Succeeded,
    Failed,
    /// Nothing: it is carried out within two steps, or never.
    Lost,
}

/// The real thing beside its model, and a clock that only steps move.
struct Both {
    store: ClusterStore,
    model: Model,
    start: Instant,
    step: u32,
    /// The binds so far, whether or not their reservation is still there: the pod, and the id.
    binds: Vec<(u8, ReservationId)>,
    /// The UIDs of the pods that wait, by what has been told.
    told: BTreeSet<String>,
}

fn mk_node(node_number: u8, zone: u8, beat: u32) -> Node {
    node(&format!("n{node_number}"), &zone.to_string(), beat)
}

/// A pod without a node, nominated for this one if it is one.
fn mk_waiting(number: u8, node: u8) -> String {
    let node = if node < 4 { format!("n{node}") } else { String::new() };
    waiting(&format!("p{number}"), &format!("u{number}"), &node)
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
                store.show_node(mk_node(node, zone, *now));
                model.nodes.insert(node, zone);
            }
            Step::RemoveNode(node) => {
                store.remove_node(&format!("n{node}"));
                model.nodes.remove(&node);
            }
            Step::PutPod(pod, node, app) => {
                store.show_pod(mk_pod(pod, node, app));
                model.pods.insert(pod, (node, app));
                model.reserved.remove(&pod);
                model.nominated.remove(&pod);
                model.tentative.remove(&pod);
            }
            Step::RemovePod(pod) => {
                store.remove_pod(&mk_pod(pod, 0, 0));
                model.pods.remove(&pod);
                model.reserved.remove(&pod);
                model.nominated.remove(&pod);
                model.tentative.remove(&pod);
            }
            Step::Wait(pod, 5) => {
                store.put(WatchedObject::Waiting(format!("u{pod}").into(), None));
                model.waiting.remove(&pod);
                model.nominated.remove(&pod);
            }
            Step::Wait(pod, node) => {
                store.show_waiting(&mk_waiting(pod, node));
                model.wait(pod, node);
            }
            Step::LeaveWaiting(pod) => {
                store.leave_waiting(format!("u{pod}").into(), self.start + seconds(u64::from(*now)));
                model.leave(*now, [pod]);
            }
            Step::Hold(pod, node, length) => {
                let until = *now + u32::from(length);
                store.hold(Arc::new(mk_pod(pod, node, 0)), self.start + seconds(u64::from(until)));
                if !model.pods.contains_key(&pod) && !model.reserved.contains_key(&pod) {
                    model.tentative.insert(pod, (node, until));
                }
            }
            Step::Leave(pod) => {
                store.leave(&format!("u{pod}"));
                model.tentative.remove(&pod);
            }
            Step::EndOverdue => {
                store.end_overdue(self.start + seconds(u64::from(*now)));
                model.nominated.retain(|_, (_, left)| left.is_none_or(|left| left >= *now));
                model.tentative.retain(|_, (_, until)| *until > *now);
            }
            Step::CountNominated(counts) => {
                store.count_nominated(counts);
                model.hides_nominated = !counts;
            }
            Step::Reserve(pod, node) => self.reserve(pod, node),
            Step::Succeed(bind) => self.end(bind, End::Succeeded),
            Step::Fail(bind) => self.end(bind, End::Failed),
            Step::Lose(bind) => self.end(bind, End::Lost),
            Step::FindOut(bind, node) => self.find_out(bind, node),
            Step::Read(pod, node, ago) => self.read(pod, node, ago),
            Step::ListNodes(bits) => self.list_nodes(bits),
            Step::ListPods(bits, ago) => self.list_pods(bits, ago),
            Step::ListWaiting(bits) => {
                store.begin_list(Resource::Waiting);
                let is_listed = |pod: &u8| bits & (1 << pod) != 0;
                let known: BTreeSet<u8> = model.waiting.iter().chain(model.nominated.keys()).copied().collect();
                for pod in known.into_iter().filter(is_listed) {
                    let node = model.nominated.get(&pod).map_or(4, |(node, _)| *node);
                    store.show_waiting(&mk_waiting(pod, node));
                    model.wait(pod, node);
                }
                store.end_list(Resource::Waiting, self.start + seconds(u64::from(*now)));
                let gone: Vec<u8> = model.waiting.iter().copied().filter(|pod| !is_listed(pod)).collect();
                model.leave(*now, gone);
            }
            Step::Publish => self.publish_and_compare(),
        }
    }

    fn reserve(&mut self, pod: u8, node: u8) {
        let result = self.store.reserve(Arc::new(mk_pod(pod, node, 0)));
        let name = |node: u8| format!("n{node}").into();
        match (self.model.pods.get(&pod), self.model.reserved.get(&pod)) {
            (Some((node, _)), _) => assert_eq!(result, Err(NotReserved::Placed(name(*node)))),
            (None, Some(place)) => assert_eq!(result, Err(NotReserved::Undecided(name(place.node)))),
            (None, None) => {
                self.model.tentative.remove(&pod);
                self.model.reserved.insert(pod, Place { bind: self.binds.len(), node, settled: None });
                self.binds.push((pod, result.unwrap()));
            }
        }
    }

    /// The place that the bind of this number has now, if it has one.
    fn place(&mut self, bind: u8) -> Option<&mut Place> {
        // Of the latest, since those are the ones that are open.
        let bind = self.binds.len().checked_sub(1 + usize::from(bind))?;
        self.model.reserved.get_mut(&self.binds[bind].0).filter(|place| place.bind == bind)
    }

    /// Ends a bind; of one whose reservation is gone, or is another's now, nothing is left to end.
    fn end(&mut self, bind: u8, end: End) {
        let Some(number) = self.binds.len().checked_sub(1 + usize::from(bind)) else { return };
        let (pod, id) = &self.binds[number];
        let (pod, settled) = (*pod, self.step + if end == End::Lost { 2 } else { 0 });
        match end {
            End::Failed => self.store.release(id),
            End::Succeeded | End::Lost => self.store.settle_at(id, None, self.at(settled)),
        }
        match self.place(bind) {
            Some(_) if end == End::Failed => drop(self.model.reserved.remove(&pod)),
            Some(place) => place.settled = Some(settled),
            None => {}
        }
    }

    fn find_out(&mut self, bind: u8, node: u8) {
        let Some(number) = self.binds.len().checked_sub(1 + usize::from(bind)) else { return };
        let (now, step, pod) = (self.at(self.step), self.step, self.binds[number].0);
        self.store.settle_at(&self.binds[number].1, Some(Arc::new(mk_pod(pod, node, 0))), now);
        if let Some(place) = self.place(bind) {
            (place.node, place.settled) = (node, Some(step));
        }
    }

    /// A read of the pod; 4 is no node.
    fn read(&mut self, pod: u8, node: u8, ago: u8) {
        let began = self.step.saturating_sub(u32::from(ago));
        let json =
            if node == 4 { super::pod(&format!("p{pod}"), &format!("u{pod}"), "", "0") } else { mk_pod(pod, node, 0) };
        self.store.observe(&json, self.at(began));
        let Some(place) = self.model.reserved.get_mut(&pod) else { return };
        if place.settled.is_some_and(|settled| settled < began) {
            if node == 4 {
                self.model.reserved.remove(&pod);
            } else {
                (place.node, place.settled) = (node, Some(began));
            }
        }
    }

    fn list_nodes(&mut self, bits: u8) {
        self.model.nodes.retain(|node, _| bits & (1 << node) != 0);
        self.store.begin_list(Resource::Nodes);
        for (node, zone) in &self.model.nodes {
            self.store.show_node(mk_node(*node, *zone, self.step));
        }
        self.store.end_list(Resource::Nodes, self.at(self.step));
    }

    fn list_pods(&mut self, bits: u8, ago: u8) {
        self.model.pods.retain(|pod, _| bits & (1 << pod) != 0);
        let began = self.step.saturating_sub(u32::from(ago));
        self.store.begin_list(Resource::Pods);
        for (number, (node, app)) in &self.model.pods {
            self.store.show_pod(mk_pod(*number, *node, *app));
        }
        self.store.end_list(Resource::Pods, self.at(began));
        self.model.reserved.retain(|_, place| place.settled.is_none_or(|settled| settled >= began));
    }

    /// The published cluster equals one that is built from scratch; unchanged parts are the same records.
    fn publish_and_compare(&mut self) {
        let before = Arc::clone(self.store.published());
        let news = self.store.publish();
        let now = Arc::clone(self.store.published());
        let expected = self.model.cluster();
        assert_eq!(snapshot(&now), snapshot(&expected));
        assert_eq!(unlisted(&now), unlisted(&expected));
        assert_eq!(news.is_some(), !Arc::ptr_eq(&before, &now));
        for slot in now.slots().iter() {
            let found = now.find(slot.node.name()).map(|at| &now.slots()[at as usize]);
            assert!(found.is_some_and(|found| found.is_same(slot)), "{} is not found", slot.node.name());
            let built = &expected.slots()[expected.find(slot.node.name()).unwrap() as usize];
            assert_eq!(slot.node.json(), built.node.json());
            let (own, built) = (slot.placed.as_ref().unwrap(), built.placed.as_ref().unwrap());
            assert_eq!(own.pods(), built.pods());
            assert_eq!(own.requested(), built.requested());
        }
        let uids = |cluster: &Cluster| -> BTreeSet<String> {
            let reserved = cluster.reserved().values().filter(|pod| pod.nomination().is_some());
            reserved.map(|pod| format!("{} {}", pod.uid(), pod.node().unwrap())).collect()
        };
        assert_eq!(uids(&now), uids(&expected));
        let tentative = now.tentative().iter();
        let tentative: BTreeSet<_> =
            tentative.map(|pod| (pod.uid().to_owned(), pod.node().unwrap().to_owned())).collect();
        let expected = self.model.tentative.iter().map(|(pod, (node, _))| (format!("u{pod}"), format!("n{node}")));
        assert!(tentative.iter().cloned().eq(expected), "{tentative:?}");
        assert!(tentative.iter().all(|(uid, node)| now.reserved()[uid.as_str()].node() == Some(node)));
        assert_carried_over(&before, &now);
        let left: BTreeSet<&str> = self.store.entries.keys().map(AsRef::as_ref).collect();
        assert!(left.iter().all(|name| !self.store.entries[*name].is_void()), "{left:?}");
        assert_eq!(self.store.reserved(), self.model.reserved.len());
        for change in self.store.take_waiting_changes() {
            match change {
                WaitingChange::Shown(waiting) => drop(self.told.insert(waiting.pod.uid().to_owned())),
                WaitingChange::Gone(uid) => assert!(self.told.remove(&*uid), "{uid} was not told"),
                WaitingChange::Listed => {}
            }
        }
        assert!(self.told.iter().cloned().eq(self.model.waiting.iter().map(|pod| format!("u{pod}"))));
    }
}

/// An equal part is the same record in both, and stays in its slot unless nodes were removed.
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
    /// A pod waits, and is nominated for this node if it is one.
    fn wait(&mut self, pod: u8, node: u8) {
        self.waiting.insert(pod);
        let before = self.nominated.remove(&pod).map(|(node, _)| node);
        if node < 4 && !self.pods.contains_key(&pod) {
            self.nominated.insert(pod, (node, None));
            if before != Some(node) {
                self.tentative.remove(&pod);
            }
        }
    }

    /// These pods wait no more.
    fn leave(&mut self, now: u32, pods: impl IntoIterator<Item = u8>) {
        for pod in pods {
            self.waiting.remove(&pod);
            if let Some((_, left)) = self.nominated.get_mut(&pod) {
                left.get_or_insert(now);
            }
            if let Some((_, until)) = self.tentative.get_mut(&pod) {
                *until = (*until).min(now + 1);
            }
        }
    }

    /// Built from nothing, in any order of nodes.
    fn cluster(&self) -> Cluster {
        let nodes = self.nodes.iter().map(|(node, zone)| mk_node(*node, *zone, 0)).collect();
        let pods = self.pods.iter().map(|(number, (node, app))| mk_pod(*number, *node, *app));
        let reserved = self.reserved.iter().map(|(number, place)| mk_pod(*number, place.node, 0));
        let tentative = self.tentative.iter().map(|(number, (node, _))| mk_pod(*number, *node, 0));
        let is_reserved = |number: &u8| self.reserved.contains_key(number) || self.tentative.contains_key(number);
        let is_hidden = |number: &u8| self.hides_nominated || is_reserved(number);
        let nominated = self.nominated.iter().filter(|(number, _)| !is_hidden(number));
        let nominated =
            nominated.map(|(number, (node, _))| Pod::placed_from_json(mk_waiting(*number, *node).as_bytes()).unwrap());
        let mut pods: Vec<Pod> = pods.chain(reserved).chain(tentative).chain(nominated).collect();
        pods.sort_by(|a, b| a.name().cmp(b.name()));
        Cluster::from_objects(nodes, pods)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_sequence_gives_the_cluster_that_is_built_from_what_is_left(steps in vec(any_step(), 1..60)) {
        let mut both = Both {
            store: ClusterStore::default(),
            model: Model::default(),
            start: Instant::now(),
            step: 0,
            binds: vec![],
            told: BTreeSet::new(),
        };
        for step in &steps {
            both.apply(step);
        }
        both.publish_and_compare();
    }
}
