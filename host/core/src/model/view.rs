//! Answers every [`Read`] of one policy in one request.

mod answer;
mod facts;
mod read;
mod shape_limit;
mod source;
mod together;
mod whole;

use std::sync::{Arc, atomic::AtomicU32};

use plimsoll_decision_cache::{Fingerprint, Parts};

use crate::model::{
    Cluster, Columns, FactAccess, Facts, ImageName, NODE, PODS, Placed, Pod, ReadError, ReadSet, Recording, Slot,
    Value, cluster::WholeCluster,
};

pub use self::shape_limit::ShapeLimit;
pub(crate) use self::source::ViewSource;

/// One preemption candidate as a policy sees it; its node has the same index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Candidate {
    /// Indices of pods placed on the node, by descending priority.
    pub victims: Vec<u32>,
    /// The number of `PodDisruptionBudget`s that their eviction would violate.
    pub pdb_violations: u32,
}

/// The data that one policy may read in one request: the pod, the nodes left, the pods placed there, its settings.
///
/// With [`View::without`], the pods named there are gone from every answer.
#[derive(Debug, Clone)]
pub struct View {
    pod: Arc<Pod>,
    cluster: Arc<Cluster>,
    /// Answers the reads about the whole cluster.
    whole: WholeCluster,
    /// The slot of each node of the view.
    slots: Arc<[u32]>,
    settings: Arc<str>,
    /// The limit of the policy's reads of the whole cluster; none where it is not a policy that reads.
    shapes: Option<Arc<ShapeLimit>>,
    /// The facts from outside, where they are not those of the cluster.
    facts: Option<Arc<Facts>>,
    /// The sources of facts that the policy may read; none: all.
    fact_access: Option<Arc<FactAccess>>,
    /// The reads that the policy has named; none: it may make any.
    reads: Option<ReadSet>,
    /// Whether reads of values that change when a pod is bound are errors.
    refuses_counts: bool,
    now: u64,
    candidates: Arc<[Candidate]>,
    /// By node: the placed pods that are taken as gone, ascending. Empty: none are.
    gone: Arc<[Vec<u32>]>,
    /// The node that is asked about: of the whole cluster, only its pods are gone. None: those of all nodes are.
    asked_about: Option<Arc<AtomicU32>>,
    /// Where reads are written down, if they are.
    recording: Option<Recording>,
}

// === impl View ===

impl View {
    /// A view of nodes, given by their slots in the cluster, which also answers the reads about the whole cluster.
    pub fn new(pod: Arc<Pod>, cluster: Arc<Cluster>, slots: Arc<[u32]>, now: u64) -> Self {
        let (candidates, gone) = (Arc::default(), Arc::default());
        let (settings, whole) = (Arc::from("null"), WholeCluster::all_of(Arc::clone(&cluster)));
        let (shapes, facts, fact_access, reads) = (None, None, None, None);
        let (asked_about, recording) = (None, None);
        Self {
            pod,
            cluster,
            whole,
            slots,
            settings,
            shapes,
            facts,
            fact_access,
            reads,
            refuses_counts: false,
            now,
            candidates,
            gone,
            asked_about,
            recording,
        }
    }

    /// A view with nothing in it, for `validate`.
    pub fn empty(settings: Arc<str>) -> Self {
        Self::new(Arc::default(), Arc::default(), Arc::default(), 0).with_settings(settings).without_cluster()
    }

    /// The same view, in which reads about the whole cluster have no answer.
    #[must_use]
    pub fn without_cluster(self) -> Self {
        self.with_whole(WholeCluster::default())
    }

    /// The same view with another answer to reads about the whole cluster.
    #[must_use]
    pub(crate) fn with_whole(mut self, whole: WholeCluster) -> Self {
        self.whole = whole;
        self
    }

    /// The policy's settings as JSON.
    pub fn settings(&self) -> &Arc<str> {
        &self.settings
    }

    /// The same view for a policy with these settings (JSON).
    #[must_use]
    pub fn with_settings(mut self, settings: Arc<str>) -> Self {
        self.settings = settings;
        self
    }

    /// The same view for a policy that has named these shapes.
    #[must_use]
    pub(crate) fn with_shapes(mut self, shapes: &Arc<ShapeLimit>) -> Self {
        self.shapes = Some(Arc::clone(shapes));
        self
    }

    /// The same view with other facts than those of the cluster.
    #[must_use]
    pub(crate) fn with_facts(mut self, facts: Arc<Facts>) -> Self {
        self.facts = Some(facts);
        self
    }

    /// The same view for a policy that may read these sources of facts.
    #[must_use]
    pub fn with_fact_access(mut self, access: Arc<FactAccess>) -> Self {
        self.fact_access = Some(access);
        self
    }

    /// The same view, in which reads of values that change when a pod is bound are errors, unless they are allowed.
    #[must_use]
    pub(crate) fn with_counts(mut self, are_allowed: bool) -> Self {
        self.refuses_counts = !are_allowed;
        self
    }

    /// The same view, in which other reads are errors.
    #[must_use]
    pub(crate) fn with_reads(mut self, reads: ReadSet) -> Self {
        self.reads = Some(reads);
        self
    }

    /// The same view with preemption candidates, one for each node.
    #[must_use]
    pub fn with_candidates(mut self, candidates: Arc<[Candidate]>) -> Self {
        self.candidates = candidates;
        self
    }

    /// The same view as if these placed pods, by node and ascending, were gone.
    #[must_use]
    pub fn without(mut self, gone: Arc<[Vec<u32>]>) -> Self {
        self.gone = gone;
        self
    }

    /// The pod being scheduled.
    pub fn pod(&self) -> &Pod {
        &self.pod
    }

    /// The snapshot of the whole cluster, which knows namespaces.
    pub(crate) fn in_force(&self) -> Option<&Cluster> {
        self.whole.cluster().map(AsRef::as_ref)
    }

    /// The same, to be kept.
    pub(crate) fn shared_pod(&self) -> &Arc<Pod> {
        &self.pod
    }

    /// The same view; every read of it is written down here.
    #[must_use]
    pub(crate) fn recorded(mut self, recording: Recording) -> Self {
        self.recording = Some(recording);
        self
    }

    /// Whether people see each read of the call: then its instance must have read nothing before.
    pub fn shows_reads(&self) -> bool {
        self.recording.as_ref().is_some_and(Recording::shows_reads)
    }

    /// The slot of each node of the view.
    pub(crate) fn slots(&self) -> &Arc<[u32]> {
        &self.slots
    }

    /// The values that policies read, by slot.
    pub(crate) fn columns(&self) -> &Columns {
        self.cluster.columns()
    }

    /// A view of every node of the cluster: each has the number of its slot.
    pub(crate) fn of_all_slots(&self) -> Self {
        Self { slots: Arc::clone(self.cluster.all_slots()), recording: None, ..self.clone() }
    }

    /// The same view of some of its nodes only, given by their slots and how many they are.
    pub(crate) fn of_some(&self, slots: impl Iterator<Item = u32>, count: usize) -> Self {
        let slots = if count == self.slots.len() { Arc::clone(&self.slots) } else { slots.collect() };
        Self { slots, ..self.clone() }
    }

    /// The fingerprint of a node's record, and of the DeviceClasses that its resources may be provided by.
    pub(crate) fn node_fingerprint(&self, node: u32) -> Fingerprint {
        let Ok(slot) = self.slot(node) else { return Fingerprint::ABSENT };
        let (stamp, classes) = (slot.node.stamp(), self.cluster.device_classes());
        if classes.is_empty() { Fingerprint::of_number(stamp as i64) } else { Fingerprint::of(&(stamp, classes)) }
    }

    /// The stamp of the record of the pods on a node.
    pub(crate) fn placed_stamp(&self, node: u32) -> Option<u64> {
        self.slot(node).ok()?.placed.as_ref().map(|placed| placed.stamp())
    }

    /// The parts in which the first node differs between the two views.
    pub(crate) fn differing_parts(&self, other: &Self) -> Parts {
        let part = |is_same: bool, part| if is_same { Parts::NONE } else { part };
        let is_same_node = self.slot(0).is_ok() && self.node_fingerprint(0) == other.node_fingerprint(0);
        let is_same_pods = self.placed_stamp(0) == other.placed_stamp(0) && self.gone_from(0) == other.gone_from(0);
        part(is_same_node, NODE).union(part(is_same_node && is_same_pods, PODS))
    }

    /// The number of nodes in the view.
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// The number of pods placed on a node of the view; 0 where there is no such node.
    pub fn placed_count(&self, node: u32) -> usize {
        self.placed(node).map_or(0, Iterator::count)
    }

    /// The name of a node of the view.
    pub fn node_name(&self, node: u32) -> Option<&Arc<str>> {
        self.slot(node).ok().map(|slot| slot.node.name())
    }

    /// Bytes of an image on a node, for callers that ask about many nodes.
    pub(crate) fn image_size(&self, node: u32, image: ImageName) -> Result<Value<'_>, ReadError> {
        let size = self.slot(node)?.node.image_size(image);
        Ok(size.map_or(Value::Absent, |size| Value::Number(i64::try_from(size).unwrap_or(i64::MAX))))
    }

    /// The pods on a node that are not gone, by index.
    fn placed(&self, node: u32) -> Result<impl Iterator<Item = &Arc<Pod>>, ReadError> {
        let pods = self.slot(node)?.placed.as_deref().map_or(&[][..], Placed::pods);
        let gone = self.gone_from(node);
        let stays = move |at: usize| gone.is_empty() || gone.binary_search(&(at as u32)).is_err();
        Ok(pods.iter().enumerate().filter(move |(at, _)| stays(*at)).map(|(_, pod)| pod))
    }

    fn placed_pod(&self, node: u32, pod: u32) -> Result<&Pod, ReadError> {
        let missing = |count| ReadError::Missing { what: "placed pod", index: pod, count };
        if self.gone_from(node).is_empty() {
            let pods = self.slot(node)?.placed.as_deref().map_or(&[][..], Placed::pods);
            return pods.get(pod as usize).map(AsRef::as_ref).ok_or_else(|| missing(pods.len()));
        }
        let count = self.placed(node)?.count();
        self.placed(node)?.nth(pod as usize).map(AsRef::as_ref).ok_or_else(|| missing(count))
    }

    fn gone_from(&self, node: u32) -> &[u32] {
        self.gone.get(node as usize).map_or(&[], Vec::as_slice)
    }

    fn slot(&self, node: u32) -> Result<&Slot, ReadError> {
        let slot = self.slots.get(node as usize).and_then(|slot| self.cluster.slots().get(*slot as usize));
        slot.ok_or(ReadError::Missing { what: "node", index: node, count: self.slots.len() })
    }

    fn candidate(&self, candidate: u32) -> Result<&Candidate, ReadError> {
        let missing = ReadError::Missing { what: "candidate", index: candidate, count: self.candidates.len() };
        self.candidates.get(candidate as usize).ok_or(missing)
    }
}

/// The number of pods of a namespace that carry a label with this value.
pub(super) fn labelled<'p>(pods: impl Iterator<Item = &'p Pod>, namespace: &str, key: &str, value: &str) -> u32 {
    pods.filter(|pod| pod.namespace() == namespace && pod.labels().get(key) == Some(value)).count() as u32
}

#[cfg(test)]
mod tests;
