//! Reservations: pods that count on a node while they are bound, until the watch shows them.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use plimsoll_core::{NotReserved, Pod};

use super::{BindState, ClusterStore, PodByUid, ReservationId, ReservedPod};

// === impl ClusterStore ===

impl ClusterStore {
    /// A pod counts on its node from now on, until the watch shows it or its end, or its bind releases it.
    ///
    /// The pod names its node and has the annotations of its binding: see [`Pod::placed_on`].
    pub(crate) fn reserve(&mut self, pod: Arc<Pod>) -> Result<ReservationId, NotReserved> {
        self.add_reserved(pod, BindState::Open)
    }

    /// The same for a pod about whose bind another replica decides. It stands in the way of no bind of this replica, and
    /// the next list ends it.
    pub(crate) fn forward(&mut self, pod: Arc<Pod>) -> Option<ReservationId> {
        // A pod that is placed already needs none.
        self.add_reserved(pod, BindState::Forwarded).ok()
    }

    /// The same for a pod that has a node and whose bind has not begun, until this moment. It stands in the way of no bind,
    /// and no list of placed pods ends it.
    pub(crate) fn hold(&mut self, pod: Arc<Pod>, until: Instant) {
        // A pod that is placed or being bound needs none.
        let _ = self.add_reserved(pod, BindState::Tentative(until));
    }

    fn add_reserved(&mut self, pod: Arc<Pod>, bind: BindState) -> Result<ReservationId, NotReserved> {
        self.end_forwarded(pod.uid());
        self.leave(pod.uid());
        let node_of = |pod: &Pod| pod.node().unwrap_or_default().into();
        if let Some((PodByUid(shown), _)) = self.pods.get_key_value(pod.uid()) {
            return Err(NotReserved::Placed(node_of(shown)));
        }
        if let Some(earlier) = self.reserved.get(pod.uid()) {
            return Err(NotReserved::Undecided(node_of(&earlier.pod)));
        }
        self.hide_nominated(pod.uid());
        self.reservations_made += 1;
        let id = ReservationId { uid: pod.uid().into(), number: self.reservations_made };
        self.attach(&pod, true);
        let reserved = ReservedPod { number: id.number, pod, bind };
        self.has_changed_uncertain |= !reserved.is_certain();
        self.reserved.insert(id.uid.clone(), reserved);
        Ok(id)
    }

    /// The other replica does not bind the pod.
    pub(crate) fn end_forwarded(&mut self, uid: &str) {
        if self.reserved.get(uid).is_some_and(|reserved| reserved.bind == BindState::Forwarded) {
            self.end_reservation(uid);
        }
    }

    /// The pod has no tentative place any more.
    pub(crate) fn leave(&mut self, uid: &str) {
        if self.reserved.get(uid).is_some_and(|reserved| reserved.until().is_some()) {
            self.end_reservation(uid);
        }
    }

    /// After that moment no write of this bind can arrive any more: a list or a read that begins later shows
    /// its outcome. A `pod` is the pod as it was read, with its node and annotations.
    pub(crate) fn settle_at(&mut self, id: &ReservationId, pod: Option<Arc<Pod>>, settled: Instant) {
        let Some(reserved) = self.reserved.get_mut(&id.uid).filter(|reserved| reserved.number == id.number) else {
            return;
        };
        reserved.bind = BindState::Settled(settled);
        if let Some(pod) = pod {
            let before = std::mem::replace(&mut reserved.pod, Arc::clone(&pod));
            self.detach(&before);
            self.attach(&pod, true);
        }
    }

    /// The pod was not bound by the bind with this reservation, and will not be.
    pub(crate) fn release(&mut self, id: &ReservationId) {
        if self.reserved.get(&id.uid).is_some_and(|reserved| reserved.number == id.number) {
            self.end_reservation(&id.uid);
        }
    }

    /// The pod was read by a request that `began` then: this shows the outcome of a bind that was settled before.
    pub(crate) fn observe(&mut self, pod: &Pod, began: Instant) {
        let reserved = self.reserved.get(pod.uid());
        let Some(reserved) = reserved.filter(|reserved| reserved.is_settled_before(began)) else { return };
        let id = ReservationId { uid: pod.uid().into(), number: reserved.number };
        match pod.node() {
            Some(node) => {
                let placed = Arc::new(pod.placed_on(node, &BTreeMap::new(), &BTreeMap::new()));
                self.settle_at(&id, Some(placed), began);
            }
            None => self.release(&id),
        }
    }

    /// The number of pods that are reserved, and not only tentatively.
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.values().filter(|reserved| reserved.until().is_none()).count()
    }

    /// Since when the oldest reservation waits for the watch; those whose bind is under way do not.
    pub(crate) fn oldest_unconfirmed(&self) -> Option<Instant> {
        let settled = |reserved: &ReservedPod| match reserved.bind {
            BindState::Settled(settled) => Some(settled),
            BindState::Open | BindState::Forwarded | BindState::Tentative(_) => None,
        };
        self.reserved.values().filter_map(settled).min()
    }

    /// Takes the pod with this UID off the node that it is reserved for; if it is nominated, it counts there again.
    pub(super) fn end_reservation(&mut self, uid: &str) {
        if let Some(reserved) = self.reserved.remove(uid) {
            self.has_changed_uncertain |= !reserved.is_certain();
            self.detach(&reserved.pod);
            self.show_nominated(uid);
        }
    }
}
