//! An immutable snapshot of the cluster: nodes by slot, and the pods placed on each.

mod own_pod;

use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use plimsoll_decision_cache::Parts;

pub(crate) use self::own_pod::{OwnPlace, PlacedPod, WholeCluster};
use crate::model::{
    BoundClaims, Columns, DeviceClasses, FACTS, Facts, LabelValues, NODE, Names, Namespace, Node, PODS, Placed, Pod,
    Selector, Slot, Slots, Unlisted, UnlistedNode,
    node_order::NodeOrder,
    placed_order,
    tally::{Population, Shape, Tallies},
};

/// Nodes by slot, and slots by name.
#[derive(Debug, Default)]
pub struct Cluster {
    slots: Slots,
    names: OnceLock<Arc<Names>>,
    order: OnceLock<Arc<NodeOrder>>,
    all_slots: OnceLock<Arc<[u32]>>,
    columns: Columns,
    reserved: Reserved,
    unlisted: Unlisted,
    tallies: Tallies,
    /// None where namespaces are not known.
    namespaces: Option<Namespaces>,
    device_classes: Arc<DeviceClasses>,
    /// None where claims are not known.
    bound_claims: Option<Arc<BoundClaims>>,
    /// The facts from outside. None are set before the snapshot is put in force.
    facts: OnceLock<Arc<Facts>>,
    /// The pods whose bind another replica decides; each names its node.
    forwarded: Arc<[Arc<Pod>]>,
    /// The pods that have a node before their bind has begun; each names it.
    tentative: Arc<[Arc<Pod>]>,
}

/// The namespaces of a cluster by name.
pub type Namespaces = Arc<HashMap<Arc<str>, Arc<Namespace>>>;

/// Pods that count on their nodes before they are bound: a place is reserved for them, perhaps tentatively, or they are
/// nominated. By UID: a request about such a pod may not name that node.
pub type Reserved = Arc<HashMap<Box<str>, Arc<Pod>>>;

// === impl Cluster ===

impl Cluster {
    /// A snapshot of these nodes; of two with one name the later wins when it is looked up.
    pub fn new(slots: impl Into<Slots>) -> Self {
        Self { slots: slots.into(), ..Self::default() }
    }

    /// The snapshot after this one; where every slot has the node of the same name, it shares all that follows from
    /// names.
    #[must_use]
    pub fn successor(&self, slots: impl Into<Slots>) -> Self {
        let slots = slots.into();
        let same_names = slots.differing(&self.slots).all(|at| name_of(&slots, at) == name_of(&self.slots, at));
        Self {
            names: successor_of(&self.names, same_names, || Names::new(&slots)),
            order: successor_of(&self.order, same_names, || NodeOrder::new(&slots)),
            slots,
            reserved: Arc::clone(&self.reserved),
            forwarded: Arc::clone(&self.forwarded),
            tentative: Arc::clone(&self.tentative),
            unlisted: Arc::clone(&self.unlisted),
            namespaces: self.namespaces.clone(),
            device_classes: Arc::clone(&self.device_classes),
            bound_claims: self.bound_claims.clone(),
            ..Self::default()
        }
    }

    /// The pods on the node with this name; none where they are not known.
    pub(crate) fn placed_on(&self, node: &str) -> Option<Arc<Placed>> {
        self.slots.get(self.find(node)? as usize)?.placed.clone()
    }

    /// The snapshot without the pods whose bind another replica decides; none if there are none.
    pub(crate) fn without_forwarded(&self) -> Option<Self> {
        self.without_all(&self.forwarded_pods())
    }

    /// The same snapshot, in which another replica decides about the binds of these pods, which are on their nodes.
    #[must_use]
    pub fn with_forwarded(self, forwarded: Arc<[Arc<Pod>]>) -> Self {
        Self { forwarded, ..self }
    }

    /// The pods with a tentative place: they count on the nodes that they name, and their binds have not begun.
    pub fn tentative(&self) -> &Arc<[Arc<Pod>]> {
        &self.tentative
    }

    /// The same snapshot, in which the places of these pods, which are on their nodes, are tentative.
    #[must_use]
    pub fn with_tentative_places(self, tentative: Arc<[Arc<Pod>]>) -> Self {
        Self { tentative, ..self }
    }

    /// The same snapshot, in which these pods are on their nodes before they are bound.
    #[must_use]
    pub fn with_reserved(self, reserved: Reserved) -> Self {
        Self { reserved, ..self }
    }

    /// The same snapshot with these pods on nodes that have no slot.
    #[must_use]
    pub fn with_unlisted(self, unlisted: Unlisted) -> Self {
        Self { unlisted, ..self }
    }

    /// The same snapshot with these namespaces; none: they are not known.
    #[must_use]
    pub fn with_namespaces(self, namespaces: Option<Namespaces>) -> Self {
        Self { namespaces, ..self }
    }

    /// The same snapshot with these DeviceClasses.
    #[must_use]
    pub fn with_device_classes(self, device_classes: Arc<DeviceClasses>) -> Self {
        Self { device_classes, ..self }
    }

    /// The same snapshot, in which these PersistentVolumeClaims are bound and no others; none: they are not known.
    #[must_use]
    pub fn with_bound_claims(self, bound_claims: Option<Arc<BoundClaims>>) -> Self {
        Self { bound_claims, ..self }
    }

    /// The same snapshot with these facts from outside.
    #[must_use]
    pub fn with_facts(self, facts: Arc<Facts>) -> Self {
        Self { facts: OnceLock::from(facts), ..self }
    }

    /// Gives the snapshot its facts, before it is used; of several calls the first counts.
    pub(crate) fn set_facts(&self, facts: Arc<Facts>) {
        let _ = self.facts.set(facts);
    }

    /// The facts from outside; none where nobody has set any.
    pub(crate) fn facts(&self) -> Option<&Arc<Facts>> {
        self.facts.get()
    }

    /// Whether it has the facts and the namespaces of another snapshot.
    pub(crate) fn has_facts_and_namespaces_of(&self, other: &Self) -> bool {
        let of = |cluster: &Self| (cluster.facts.get().map(Arc::as_ptr), cluster.namespaces.as_ref().map(Arc::as_ptr));
        of(self) == of(other)
    }

    /// Whether it knows namespaces.
    pub fn knows_namespaces(&self) -> bool {
        self.namespaces.as_ref().is_some_and(|all| !all.is_empty())
    }

    /// The namespace with this name; none if it is not known.
    pub fn namespace(&self, name: &str) -> Option<&Namespace> {
        self.namespaces.as_ref()?.get(name).map(AsRef::as_ref)
    }

    /// The DeviceClasses; none where they are not known.
    pub fn device_classes(&self) -> &Arc<DeviceClasses> {
        &self.device_classes
    }

    /// Whether a pod being scheduled gets volumes or devices only once it has a node: it has a ResourceClaim, or a claim
    /// that the watch has not shown as bound. None: it has claims, and whether they are bound is not known.
    pub fn has_late_volumes(&self, pod: &Pod) -> Option<bool> {
        if pod.has_resource_claims() || pod.volume_claims().is_empty() {
            return Some(pod.has_resource_claims());
        }
        let bound = self.bound_claims.as_ref()?;
        Some(!pod.volume_claims().iter().all(|claim| bound.contains(claim)))
    }

    /// The pods on nodes that have no slot.
    pub fn unlisted(&self) -> &Unlisted {
        &self.unlisted
    }

    /// The pods that are on their nodes before they are bound.
    pub fn reserved(&self) -> &Reserved {
        &self.reserved
    }

    /// Whether the pod with this UID is nominated for a node.
    pub(crate) fn nominates(&self, uid: &str) -> bool {
        self.reserved.get(uid).is_some_and(|pod| pod.nomination().is_some())
    }

    /// Whether a pod that is on a node is bound to it, and does not only count there before.
    pub(crate) fn is_bound(&self, uid: &str) -> bool {
        !self.reserved.contains_key(uid)
    }

    /// A snapshot of nodes and of the pods that are bound to them, or nominated for them, and have not ended.
    ///
    /// Pods that are bound to a node that is not in the list are [unlisted](Self::unlisted).
    pub fn from_objects(nodes: Vec<Node>, pods: Vec<Pod>) -> Self {
        let mut by_node: HashMap<Box<str>, Vec<Arc<Pod>>> = HashMap::new();
        let mut nominated: HashMap<Box<str>, Arc<Pod>> = HashMap::new();
        for pod in pods.into_iter().filter(|pod| !pod.finished()).map(Arc::new) {
            let Some(node) = pod.node() else { continue };
            by_node.entry(node.into()).or_default().push(Arc::clone(&pod));
            if pod.nomination().is_some() {
                // Objects that people write may have no UID.
                let name = || format!("{}/{}", pod.namespace(), pod.name()).into();
                nominated.insert(if pod.uid().is_empty() { name() } else { pod.uid().into() }, pod);
            }
        }
        for pods in by_node.values_mut() {
            pods.sort_by(|a, b| placed_order(a, b));
        }
        let slot = |node: Node| {
            let pods = by_node.remove(node.name().as_ref()).unwrap_or_default();
            Slot { node: Arc::new(node), placed: Some(Arc::new(Placed::new(pods))) }
        };
        // From the last on: of two nodes with one name the later is found, so it gets the pods.
        let mut slots: Vec<Slot> = nodes.into_iter().rev().map(slot).collect();
        slots.reverse();
        let unlisted = |pods| UnlistedNode { node: None, placed: Arc::new(Placed::new(pods)) };
        let unlisted = by_node.into_iter().map(|(node, pods)| (Arc::from(node), unlisted(pods))).collect();
        Self::new(slots).with_unlisted(Arc::new(unlisted)).with_reserved(Arc::new(nominated))
    }

    /// All nodes, by slot.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Every node with its pods, where they are known; also a node that has no slot as one of its pods cannot be read.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Node, Option<&Placed>)> {
        let unlisted = self.unlisted.values().filter_map(|node| Some((node.node.as_deref()?, Some(&*node.placed))));
        self.slots.iter().map(|slot| (&*slot.node, slot.placed.as_deref())).chain(unlisted)
    }

    /// The slot of the node with this name.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.names().find(name)
    }

    /// The nodes' names; made when they are first asked for, since whole nodes of a request are not looked up. Snapshots
    /// with the same names share them.
    pub fn names(&self) -> &Arc<Names> {
        self.names.get_or_init(|| Arc::new(Names::new(&self.slots)))
    }

    /// The tie-breaks between nodes. They are made when a request first asks for them, and from then on with each
    /// snapshot.
    pub(crate) fn order(&self) -> &NodeOrder {
        self.order.get_or_init(|| Arc::new(NodeOrder::new(&self.slots)))
    }

    /// Takes over columns and totals from the snapshot before this one; call it before this one is used.
    pub(crate) fn follow(&self, before: &Self) {
        self.columns.inherit_from(&before.columns, || self.changed_since(before));
        self.tallies.follow(&before.tallies, [before.population(), self.population()]);
    }

    /// The slots whose node, pods or facts changed.
    fn changed_since(&self, before: &Self) -> Vec<(u32, Parts)> {
        if self.device_classes != before.device_classes {
            return self.all_slots().iter().map(|slot| (*slot, NODE.union(PODS).union(FACTS))).collect();
        }
        let part = |is_same, part| if is_same { Parts::NONE } else { part };
        let changed = |at: usize| {
            let (new, old) = (self.slots.get(at)?, before.slots.get(at));
            let node = part(old.is_some_and(|old| Arc::ptr_eq(&old.node, &new.node)), NODE);
            let pods = part(old.is_some_and(|old| old.has_same_pods(new)), PODS);
            Some((at as u32, node.union(pods)))
        };
        let mut slots: Vec<(u32, Parts)> = self.slots.differing(&before.slots).filter_map(changed).collect();
        if let Some(facts) = self.facts() {
            let earlier = before.facts().cloned().unwrap_or_default();
            slots.extend(facts.changed_slots(&earlier, &self.slots).into_iter().map(|slot| (slot, FACTS)));
        }
        slots
    }

    /// The number of the pods that a selector matches, or the sum of their requests of a resource; none without a view of
    /// pods.
    pub(crate) fn total(&self, selector: &Selector<&str>, requested: Option<&str>) -> Option<i128> {
        self.has_pods().then(|| self.tallies.total(selector, requested, self.population()))
    }

    /// Whether a total has to be worked out from all pods first.
    pub(crate) fn needs_walk(&self, shape: &Shape<&str>) -> bool {
        self.has_pods() && !self.tallies.has(shape)
    }

    fn has_pods(&self) -> bool {
        // A snapshot has the pods of all its nodes or of none.
        self.slots.get(0).is_none_or(|slot| slot.placed.is_some())
    }

    /// The values of a label of nodes, with how many nodes have each.
    pub(crate) fn label_values(&self, key: &str) -> Arc<LabelValues> {
        self.tallies.label_values(key, &self.slots)
    }

    /// All nodes and pods.
    pub(crate) fn population(&self) -> Population<'_> {
        Population { slots: &self.slots, unlisted: &self.unlisted }
    }

    pub(crate) fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// Every slot in its order.
    pub(crate) fn all_slots(&self) -> &Arc<[u32]> {
        self.all_slots.get_or_init(|| (0..self.slots.len() as u32).collect())
    }

    /// The values that policies read, by slot.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The number of pods placed on all nodes together.
    pub fn pod_count(&self) -> usize {
        self.slots.iter().filter_map(|slot| slot.placed.as_ref()).map(|placed| placed.pods().len()).sum()
    }
}

fn name_of(slots: &Slots, at: usize) -> Option<&Arc<str>> {
    slots.get(at).map(|slot| slot.node.name())
}

/// What follows from the nodes' names, if anybody has asked for it: what there was, or made anew for other names.
fn successor_of<T>(own: &OnceLock<Arc<T>>, same_names: bool, make: impl FnOnce() -> T) -> OnceLock<Arc<T>> {
    if same_names || own.get().is_none() { own.clone() } else { OnceLock::from(Arc::new(make())) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn node(name: &str, zone: &str) -> Node {
        let json = format!(r#"{{"metadata":{{"name":"{name}","labels":{{"zone":"{zone}"}}}}}}"#);
        Node::from_json(Bytes::from(json)).unwrap()
    }

    fn pod(uid: &str, node: &str, phase: &str) -> Pod {
        let json = format!(
            r#"{{"metadata":{{"uid":"{uid}"}},"spec":{{"nodeName":"{node}"}},"status":{{"phase":"{phase}"}}}}"#
        );
        Pod::placed_from_json(json.as_bytes()).unwrap()
    }

    #[test]
    fn pods_are_placed_on_their_nodes_until_they_end() {
        let pods = vec![pod("a", "n1", "Running"), pod("b", "n1", "Failed"), pod("c", "n2", ""), pod("d", "", "")];
        let cluster = Cluster::from_objects(vec![node("n1", "x"), node("n2", "x")], pods);
        let uids = |slot: &Slot| slot.placed.as_ref().unwrap().pods().iter().map(|pod| pod.uid().to_owned()).collect();
        let placed: Vec<Vec<String>> = cluster.slots().iter().map(uids).collect();
        assert_eq!(placed, [["a"], ["c"]]);
        assert_eq!(cluster.pod_count(), 2);
    }

    #[test]
    fn a_successor_shares_the_names_only_where_no_slot_changes_its_name() {
        let slots =
            |names: &[&str]| Cluster::from_objects(names.iter().map(|name| node(name, "x")).collect(), vec![]).slots;
        let first = Cluster::new(slots(&["a", "b"]));
        // The index is made when it is first asked for; one that was not made cannot be shared.
        first.names();
        let shares = |second: &Cluster| Arc::ptr_eq(first.names(), second.names());
        assert!(shares(&first.successor(slots(&["a", "b"]))));
        for other in [&["a", "c"][..], &["b", "a"], &["a"], &["a", "b", "c"]] {
            let second = first.successor(slots(other));
            assert!(!shares(&second));
            for (at, name) in other.iter().enumerate() {
                assert_eq!(second.find(name), Some(at as u32));
            }
            assert_eq!(second.find("b").is_some(), other.contains(&"b"));
        }
    }

    #[test]
    fn a_pod_is_left_out_by_its_uid_or_without_one_by_its_name() {
        let placed = vec![pod("a", "n1", "Running"), pod("b", "n2", "Running"), pod("c", "n2", "Running")];
        let cluster = Cluster::from_objects(vec![node("n1", "x"), node("n2", "x")], placed);
        let left = |pod: &Pod| cluster.without(pod).map(|cluster| cluster.pod_count());
        assert_eq!(left(&pod("c", "n2", "")), Some(2));
        assert_eq!(left(&pod("c", "", "")), Some(2), "the node is found");
        assert_eq!(left(&pod("c", "n1", "")), Some(2), "it is where the cluster says");
        assert_eq!(left(&pod("d", "n1", "")), None, "another pod is not it");
        let named = |uid: &str, name: &str| {
            let json = format!(r#"{{"metadata":{{"name":"{name}","uid":"{uid}"}},"spec":{{"nodeName":"n1"}}}}"#);
            Pod::placed_from_json(json.as_bytes()).unwrap()
        };
        let cluster = Cluster::from_objects(vec![node("n1", "x")], vec![named("old", "web-0")]);
        assert!(cluster.without(&named("", "web-0")).is_some(), "a manifest has no UID");
        assert!(cluster.without(&named("new", "web-0")).is_none(), "it was deleted and made again");
        assert!(cluster.without(&named("", "web-1")).is_none());
    }

    #[test]
    fn a_pod_has_late_volumes_if_it_has_a_resource_claim_or_a_claim_that_is_not_known_as_bound() {
        let mut bound = BoundClaims::default();
        for name in ["data", "p-scratch"] {
            bound.set(&crate::model::Claim::unbound("web", name), true);
        }
        let (unknown, known) = (Cluster::default(), Cluster::default().with_bound_claims(Some(Arc::new(bound))));
        let known = known.successor(Slots::default());
        let claim = |name: &str| format!(r#"{{"name":"v","persistentVolumeClaim":{{"claimName":"{name}"}}}}"#);
        let ephemeral = |name: &str| format!(r#"{{"name":"{name}","ephemeral":{{"volumeClaimTemplate":{{}}}}}}"#);
        let volumes = |all: &[String]| format!(r#"{{"volumes":[{}]}}"#, all.join(","));
        let table = [
            ("{}".to_owned(), Some(false), Some(false)),
            (r#"{"volumes":null,"resourceClaims":[]}"#.to_owned(), Some(false), Some(false)),
            (volumes(&[r#"{"name":"tmp","emptyDir":{}}"#.to_owned()]), Some(false), Some(false)),
            (volumes(&[claim("data")]), Some(false), None),
            (volumes(&[claim("new")]), Some(true), None),
            (volumes(&[claim("data"), claim("new")]), Some(true), None),
            (volumes(&[claim("data"), ephemeral("scratch")]), Some(false), None),
            (volumes(&[ephemeral("data")]), Some(true), None),
            (r#"{"resourceClaims":[{"name":"gpu"}]}"#.to_owned(), Some(true), Some(true)),
        ];
        for (spec, is_late, without_claims) in table {
            let json = format!(r#"{{"metadata":{{"name":"p","namespace":"web","uid":"u"}},"spec":{spec}}}"#);
            let pod = Pod::from_json(Bytes::from(json.clone())).unwrap();
            assert_eq!(
                (known.has_late_volumes(&pod), unknown.has_late_volumes(&pod)),
                (is_late, without_claims),
                "{spec}"
            );
            let elsewhere = Pod::from_json(Bytes::from(json.replace("web", "ml"))).unwrap();
            assert_eq!(known.has_late_volumes(&elsewhere), Some(without_claims != Some(false)), "{spec}");
        }
    }

    #[test]
    fn of_two_nodes_with_one_name_the_later_is_found_with_its_pods() {
        let cluster = Cluster::from_objects(vec![node("n1", "old"), node("n1", "new")], vec![pod("a", "n1", "")]);
        let slot = &cluster.slots()[cluster.find("n1").unwrap() as usize];
        assert_eq!(slot.node.labels().get("zone"), Some("new"));
        assert_eq!(slot.placed.as_ref().unwrap().position("a"), Some(0));
        assert_eq!(cluster.find("n2"), None);
    }
}
