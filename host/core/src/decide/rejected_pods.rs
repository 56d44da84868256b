//! The pods that filter requests left without a node.
//!
//! kube-scheduler tries such a pod again after events of pods, nodes and volumes, often before the watch shows plimsoll the
//! event. Of a fact, a policy file or a label of a namespace it hears nothing. After either, the pod would wait for five
//! minutes: these pods are decided again here.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;

use crate::{
    decide::RequestContext,
    model::{Cluster, Pod},
};

/// Maximum pods that are kept, and the bytes of their JSON; the pods that were asked about last stay.
const MAX_PODS: usize = 1_000;
const MAX_BYTES: usize = 32 << 20;

/// A pod that kube-scheduler has not asked about for this long is gone: it asks about each at least every 5.5 minutes.
const MAX_AGE: Duration = Duration::from_mins(10);

/// The watch shows a change of pods and nodes at most this much later than kube-scheduler asks because of it.
const MAX_LAG: Duration = Duration::from_mins(1);

/// kube-scheduler names all nodes that its own filters accept, unless they are this many or more: then the names may be a
/// sample, another one in each attempt (its `minFeasibleNodesToFind`).
pub const MIN_SAMPLE: usize = 100;

/// The number of times that a pod which stays rejected causes a wake without another change. The pauses double from 1 s
/// to 32 s. Then each early ask causes one more; the pause is longer than [`MAX_LAG`], since a wake causes an ask itself.
const MAX_WAKES: u32 = 6;

/// By UID.
#[derive(Debug, Default)]
pub(crate) struct RejectedPods(Mutex<HashMap<Box<str>, RejectedPod>>);

/// A pod, with the request that left it without a node.
#[derive(Debug, Clone)]
pub(crate) struct RejectedPod {
    pub(crate) pod: Arc<Pod>,
    pub(crate) group: Box<str>,
    /// The nodes that kube-scheduler's own filters accept; none if they are not known.
    nodes: Option<Arc<[Arc<str>]>>,
    /// The members of its pod group that had a tentative place.
    tentative: Vec<Arc<Pod>>,
    /// The cluster that it was decided from last.
    cluster: Weak<Cluster>,
    asked: Instant,
    /// The wakes that it has caused, and when it may cause the next.
    wakes: u32,
    pause_until: Option<Instant>,
}

// === impl RejectedPods ===

impl RejectedPods {
    /// The pod of a request has no node left.
    pub(crate) fn insert(&self, group: &str, context: &RequestContext, tentative: Vec<Arc<Pod>>, now: Instant) {
        let pod = Arc::clone(&context.node_set.pod);
        if pod.uid().is_empty() || context.len() == 0 {
            return;
        }
        let is_known = context.len() < MIN_SAMPLE && context.unknown.is_empty();
        let nodes = is_known.then(|| context.node_names().collect());
        let cluster = context.whole().map(Arc::downgrade).unwrap_or_default();
        let mut pods = self.0.lock();
        let (wakes, pause_until) = pods.remove(pod.uid()).map_or((0, None), |own| (own.wakes, own.pause_until));
        let rejected =
            RejectedPod { pod, group: group.into(), nodes, tentative, cluster, asked: now, wakes, pause_until };
        pods.insert(rejected.pod.uid().into(), rejected);
        let bytes = |own: &RejectedPod| own.pod.json().map_or(0, Bytes::len);
        while pods.len() > MAX_PODS || pods.values().map(bytes).sum::<usize>() > MAX_BYTES {
            let Some(oldest) = pods.iter().min_by_key(|(_, own)| own.asked).map(|(uid, _)| uid.clone()) else { break };
            pods.remove(&oldest);
        }
    }

    /// The pod has a node, or may get one.
    pub(crate) fn remove(&self, uid: &str) {
        self.0.lock().remove(uid);
    }

    /// The pods to decide again, by UID: all if anything `is_changed` or a policy `reads_time`, those that kube-scheduler
    /// may have asked about before the watch showed the `cluster`, and those whose wake has freed nothing, after a pause.
    pub(crate) fn due(
        &self,
        is_changed: bool,
        reads_time: bool,
        cluster: &Arc<Cluster>,
        now: Instant,
    ) -> HashMap<Box<str>, RejectedPod> {
        let mut pods = self.0.lock();
        pods.retain(|_, own| now.saturating_duration_since(own.asked) < MAX_AGE);
        if is_changed {
            // One more, if the change comes within a pause.
            pods.values_mut().for_each(|own| own.wakes = own.wakes.min(MAX_WAKES - 1));
        }
        let is_due = |own: &RejectedPod| match own.pause_until {
            None => is_changed || reads_time || own.may_be_outdated(cluster, now),
            Some(until) => until <= now && (own.wakes < MAX_WAKES || own.may_be_outdated(cluster, now)),
        };
        pods.iter().filter(|(_, own)| is_due(own)).map(|(uid, own)| (uid.clone(), own.clone())).collect()
    }

    /// A pod was decided again. One that causes a wake is decided once more after a pause, any other after a change. Returns
    /// whether this counts: it does not if the pod was asked about meanwhile.
    pub(crate) fn decided(&self, pod: &RejectedPod, causes_wake: bool, cluster: &Arc<Cluster>, now: Instant) -> bool {
        let mut pods = self.0.lock();
        let Some(own) = pods.get_mut(pod.pod.uid()).filter(|own| own.asked == pod.asked) else { return false };
        own.cluster = Arc::downgrade(cluster);
        own.pause_until = causes_wake.then(|| now + Duration::from_secs(1 << own.wakes));
        own.wakes = if causes_wake { MAX_WAKES.min(own.wakes + 1) } else { 0 };
        true
    }
}

// === impl RejectedPod ===

impl RejectedPod {
    fn may_be_outdated(&self, cluster: &Arc<Cluster>, now: Instant) -> bool {
        !std::ptr::eq(self.cluster.as_ptr(), Arc::as_ptr(cluster))
            && now.saturating_duration_since(self.asked) < MAX_LAG
    }

    /// The pods that count for it alone. Later they may be gone: of a pod that waits and is deleted plimsoll hears nothing.
    pub(crate) fn tentative(&self, now: Instant) -> &[Arc<Pod>] {
        if now.saturating_duration_since(self.asked) < MAX_LAG { &self.tentative } else { &[] }
    }

    /// The slots of its nodes in a cluster.
    pub(crate) fn slots(&self, cluster: &Cluster) -> Arc<[u32]> {
        match &self.nodes {
            Some(names) => names.iter().filter_map(|name| cluster.find(name)).collect(),
            None => Arc::clone(cluster.all_slots()),
        }
    }
}
