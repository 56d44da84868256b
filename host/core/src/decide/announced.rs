//! Announced pods: their bind call has arrived, and no place is reserved for them yet.
//!
//! Requests see them on their nodes; binds do not. A pod is announced as a request of a scheduler described it, which
//! anybody may send, so only reservations count when a bind is decided. And of two pods that are announced for one last
//! place, one must get it.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::model::{Cluster, Placed, Pod, Slot};

/// The most pods that are announced at once; bind calls beyond them are not.
const MAX_ANNOUNCED: usize = 256;

/// The cluster in force, and the pods that are announced in it.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// The cluster without them.
    base: Option<Arc<Cluster>>,
    /// The cluster that requests see.
    shown: Option<Arc<Cluster>>,
    pods: Vec<AnnouncedPod>,
    /// The nodes on which they are shown, by name.
    nodes: HashMap<Box<str>, ShownNode>,
    /// The announcements that were made.
    count: u64,
}

#[derive(Debug)]
struct AnnouncedPod {
    number: u64,
    /// The pod with its node.
    pod: Arc<Pod>,
}

/// The pods of one node, the announced ones among them.
#[derive(Debug)]
struct ShownNode {
    base: Arc<Placed>,
    numbers: Vec<u64>,
    placed: Arc<Placed>,
}

// === impl Announced ===

impl Announced {
    /// The cluster that binds are decided from.
    pub(crate) fn base(&self) -> Option<&Arc<Cluster>> {
        self.base.as_ref()
    }

    /// The cluster that requests see. It was made last, so the next one follows it.
    pub(crate) fn shown(&self) -> Option<&Arc<Cluster>> {
        self.shown.as_ref()
    }

    pub(crate) fn set_base(&mut self, base: Arc<Cluster>) {
        self.base = Some(base);
    }

    pub(crate) fn set_shown(&mut self, shown: Arc<Cluster>) {
        self.shown = Some(shown);
    }

    /// Announces a pod, which names its node. None: it is placed already, the node is not known, or there are too
    /// many.
    pub(crate) fn add(&mut self, pod: Pod) -> Option<u64> {
        let base = self.base.as_ref()?;
        let knows_node = base.find(pod.node()?).is_some();
        if !knows_node || has_place(base, &pod) || self.pods.len() >= MAX_ANNOUNCED {
            return None;
        }
        self.pods.retain(|own| own.pod.uid() != pod.uid());
        self.count += 1;
        self.pods.push(AnnouncedPod { number: self.count, pod: Arc::new(pod) });
        Some(self.count)
    }

    /// Withdraws a pod; whether it was announced until now.
    pub(crate) fn remove(&mut self, number: u64) -> bool {
        let before = self.pods.len();
        self.pods.retain(|own| own.number != number);
        self.pods.len() < before
    }

    /// The cluster with the announced pods; `None` if there are none. A pod that has a place in the cluster is no longer
    /// announced: from then on its reservation, or the watch, decides where it is.
    pub(crate) fn cluster(&mut self) -> Option<Cluster> {
        let base = self.base.as_ref()?;
        self.pods.retain(|own| !has_place(base, &own.pod));
        let mut before = std::mem::take(&mut self.nodes);
        if self.pods.is_empty() {
            return None;
        }
        let mut by_node: HashMap<&str, Vec<&AnnouncedPod>> = HashMap::new();
        for own in &self.pods {
            by_node.entry(own.pod.node().unwrap_or_default()).or_default().push(own);
        }
        let (mut slots, mut reserved) = (base.slots().clone(), HashMap::clone(base.reserved()));
        for (name, pods) in by_node {
            let Some(at) = base.find(name).map(|at| at as usize) else { continue };
            let Some(Slot { node, placed: Some(placed) }) = base.slots().get(at) else { continue };
            let numbers: Vec<u64> = pods.iter().map(|own| own.number).collect();
            // The same pods stay the same record, so that cached answers about the node are kept.
            let same = before.remove(name).filter(|own| Arc::ptr_eq(&own.base, placed) && own.numbers == numbers);
            let with = || Arc::new(placed.with(pods.iter().map(|own| &own.pod)));
            let shown = same.map_or_else(with, |own| own.placed);
            slots.replace(at, Slot { node: Arc::clone(node), placed: Some(Arc::clone(&shown)) });
            reserved.extend(pods.iter().map(|own| (own.pod.uid().into(), Arc::clone(node.name()))));
            self.nodes.insert(name.into(), ShownNode { base: Arc::clone(placed), numbers, placed: shown });
        }
        Some(base.successor(slots).with_reserved(Arc::new(reserved)).with_unannounced(Arc::clone(base)))
    }
}

/// Whether the cluster shows the pod on its node, or has a place reserved for it anywhere.
fn has_place(cluster: &Cluster, pod: &Pod) -> bool {
    cluster.reserved().contains_key(pod.uid()) || cluster.placed_pod(pod).is_some()
}
