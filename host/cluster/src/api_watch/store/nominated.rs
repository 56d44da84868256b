//! Nominated pods: they count on the node that kube-scheduler has written into their status, until they are bound.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use plimsoll_core::Pod;

use super::{ClusterStore, NominatedPod, Resource};

/// The time that a pod keeps its place after it has left the watch of nominated pods: the event does not say whether it
/// was bound, and the watch of placed pods may be behind. Beyond, a pod that was not bound would keep others away.
const MAX_LAG: Duration = Duration::from_secs(1);

// === impl ClusterStore ===

impl ClusterStore {
    /// A nominated pod as it is now.
    pub(super) fn put_nominated(&mut self, pod: Pod) {
        let is_over = pod.nomination().is_none() || pod.finished() || self.pods.contains_key(pod.uid());
        let seen = self.lists[Resource::Nominated as usize];
        if let Some(known) = self.nominated.get_mut(pod.uid()).filter(|known| *known.pod == pod) {
            (known.seen, known.left) = (seen, None);
            return;
        }
        self.end_nomination(pod.uid());
        if !is_over {
            let (uid, pod) = (Box::<str>::from(pod.uid()), Arc::new(self.pool.share(pod)));
            self.nominated.insert(uid.clone(), NominatedPod { pod, seen, left: None });
            self.show_nominated(&uid);
        }
    }

    /// A list of nominated pods that began then is complete.
    pub(super) fn end_nominated(&mut self, list: u64, began: Instant) {
        for nominated in self.nominated.values_mut().filter(|nominated| nominated.seen < list) {
            nominated.left.get_or_insert(began);
        }
    }

    /// A pod is not nominated any more: most likely it is bound.
    pub(super) fn leave_nominated(&mut self, uid: &str, now: Instant) {
        if let Some(nominated) = self.nominated.get_mut(uid) {
            nominated.left.get_or_insert(now);
        }
    }

    /// Ends the nominations of pods that have left the watch too long ago; returns when the next one ends.
    pub(crate) fn end_left_nominations(&mut self, now: Instant) -> Option<Instant> {
        let ends = |nominated: &NominatedPod| Some(nominated.left? + MAX_LAG);
        let over = self.nominated.iter().filter(|(_, nominated)| ends(nominated).is_some_and(|end| end <= now));
        for uid in over.map(|(uid, _)| uid.clone()).collect::<Vec<_>>() {
            self.end_nomination(&uid);
        }
        self.nominated.values().filter_map(ends).min()
    }

    /// The pod does not count as nominated any more.
    pub(super) fn end_nomination(&mut self, uid: &str) {
        self.hide_nominated(uid);
        self.nominated.remove(uid);
    }

    /// Puts a nominated pod on its node, unless it is reserved.
    pub(super) fn show_nominated(&mut self, uid: &str) {
        if let Some(pod) = self.nominated_alone(uid) {
            self.attach(&pod, true);
        }
    }

    /// Takes a nominated pod off its node.
    pub(super) fn hide_nominated(&mut self, uid: &str) {
        if let Some(pod) = self.nominated_alone(uid) {
            self.detach(&pod);
        }
    }

    /// A nominated pod that is not reserved.
    fn nominated_alone(&self, uid: &str) -> Option<Arc<Pod>> {
        let nominated = self.nominated.get(uid).filter(|_| !self.reserved.contains_key(uid))?;
        Some(Arc::clone(&nominated.pod))
    }
}
