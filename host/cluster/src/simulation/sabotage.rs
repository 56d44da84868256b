//! The gateway's view with one part of the cure taken out: the worlds must notice.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Instant,
};

use plimsoll_core::{IsUnchanged, NotReserved, Pod};

use crate::{AssumeCache, ClusterWatch, ReservationId, clock};

/// The part of the fix that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defect {
    /// A bind's end releases the pod by its UID, wherever another bind has put it since: this was shipped.
    ReleasesByUid,
    /// A pod is reserved without comparing the records with those that the policies were shown.
    ReservesBlindly,
    /// A pod is reserved after comparing its node, and not the count of pods in the whole cluster.
    ComparesTheNodeAlone,
    /// A reservation is released although the outcome of its Binding is unknown.
    ForgetsTheUnknown,
}

impl Defect {
    pub(super) const ALL: [Self; 4] =
        [Self::ReleasesByUid, Self::ReservesBlindly, Self::ComparesTheNodeAlone, Self::ForgetsTheUnknown];
}

pub(super) struct Sabotaged {
    watch: Arc<ClusterWatch>,
    fault: Defect,
    /// The latest reservation of each pod.
    latest: Mutex<HashMap<String, ReservationId>>,
    /// Every reservation, and its pod.
    all: Mutex<Vec<(ReservationId, Arc<Pod>)>>,
}

// === impl Sabotaged ===

impl Sabotaged {
    pub(super) fn new(watch: Arc<ClusterWatch>, fault: Defect) -> Self {
        Self { watch, fault, latest: Mutex::default(), all: Mutex::default() }
    }

    /// The former `forget`: the pod is released wherever it is.
    fn forget(&self, uid: &str) {
        let latest = self.latest.lock().unwrap().remove(uid);
        if let Some(latest) = latest {
            self.watch.release(&latest);
        }
    }

    /// The former `assume`: the pod is moved to the node of this bind.
    fn assume(&self, pod: &Arc<Pod>, settled: Instant) {
        self.forget(pod.uid());
        if let Ok(id) = self.watch.reserve(Arc::clone(pod), &|_| true) {
            self.watch.settle_at(&id, None, settled);
            self.latest.lock().unwrap().insert(pod.uid().to_owned(), id);
        }
    }

    fn given(&self, id: &ReservationId) -> Option<Arc<Pod>> {
        let all = self.all.lock().unwrap();
        all.iter().find(|(own, _)| own == id).map(|(_, pod)| Arc::clone(pod))
    }
}

impl AssumeCache for Sabotaged {
    fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved> {
        let is_unchanged: &IsUnchanged<'_> =
            if self.fault == Defect::ReservesBlindly { &|_| true } else { is_unchanged };
        let mut result = self.watch.reserve(Arc::clone(&pod), is_unchanged);
        if self.fault == Defect::ReleasesByUid && matches!(result, Err(NotReserved::Undecided(_))) {
            self.forget(pod.uid());
            result = self.watch.reserve(Arc::clone(&pod), &|_| true);
        }
        if let Ok(id) = &result {
            self.latest.lock().unwrap().insert(pod.uid().to_owned(), id.clone());
            self.all.lock().unwrap().push((id.clone(), pod));
        }
        result
    }

    fn forward(&self, pod: Arc<Pod>) {
        self.watch.forward(pod);
    }

    fn end_forwarded(&self, uid: &str) {
        self.watch.end_forwarded(uid);
    }

    fn settle_at(&self, id: &ReservationId, pod: Option<Arc<Pod>>, settled: Instant) {
        let is_unknown = pod.is_none() && settled != clock::now();
        match (self.fault, self.given(id)) {
            (Defect::ForgetsTheUnknown, _) if is_unknown => self.watch.release(id),
            (Defect::ReleasesByUid, Some(given)) if is_unknown => self.assume(&given, settled),
            (Defect::ReleasesByUid, Some(given)) if pod.as_ref().is_some_and(|pod| pod.node() != given.node()) => {
                self.forget(id.uid());
            }
            _ => self.watch.settle_at(id, pod, settled),
        }
    }

    fn release(&self, id: &ReservationId) {
        match self.fault {
            Defect::ReleasesByUid => self.forget(id.uid()),
            _ => self.watch.release(id),
        }
    }

    fn observe(&self, pod: &Pod, began: Instant) {
        self.watch.observe(pod, began);
    }

    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.watch.relist())
    }
}
