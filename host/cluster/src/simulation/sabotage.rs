//! A gateway with one part of the cure taken out: the worlds must notice.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use plimsoll_core::{Binding, IsUnchanged, NotReserved, Pod};

use crate::{ApiBinder, ClusterWatch, api_watch::ReservationId, binder::ApiReservation, clock};

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

/// The reservations of a process, which has this defect.
pub(super) struct Sabotage {
    pub(super) defect: Option<Defect>,
    watch: Arc<ClusterWatch>,
    /// The latest reservation of each pod.
    latest: Mutex<HashMap<String, ReservationId>>,
}

// === impl Sabotage ===

impl Sabotage {
    pub(super) fn new(defect: Option<Defect>, watch: Arc<ClusterWatch>) -> Self {
        Self { defect, watch, latest: Mutex::default() }
    }

    pub(super) fn reserve<'b>(
        &self,
        binder: &'b ApiBinder,
        pod: &Arc<Pod>,
        binding: &Binding,
        is_unchanged: &IsUnchanged<'_>,
    ) -> Result<ApiReservation<'b>, NotReserved> {
        let is_unchanged: &IsUnchanged<'_> =
            if self.defect == Some(Defect::ReservesBlindly) { &|_| true } else { is_unchanged };
        let mut result = binder.reserve_pod(pod, binding.clone(), is_unchanged);
        if self.defect == Some(Defect::ReleasesByUid) && matches!(result, Err(NotReserved::Undecided(_))) {
            self.forget(pod.uid());
            result = binder.reserve_pod(pod, binding.clone(), &|_| true);
        }
        if let Ok(reservation) = &result {
            self.latest.lock().unwrap().insert(pod.uid().to_owned(), reservation.id.clone());
        }
        result
    }

    /// A bind with this reservation has failed, or nobody knows.
    pub(super) fn end(&self, id: &ReservationId, pod: &Pod, binding: &Binding, is_unknown: bool) {
        match self.defect {
            Some(Defect::ForgetsTheUnknown) if is_unknown => self.watch.change(|store| store.release(id)),
            Some(Defect::ReleasesByUid) => {
                self.forget(pod.uid());
                let placed = Arc::new(pod.placed_on(&binding.node, &binding.annotations, &binding.labels));
                if is_unknown && let Ok(id) = self.watch.reserve(placed, &|_| true) {
                    self.watch.change(|store| store.settle_at(&id, None, clock::now()));
                    self.latest.lock().unwrap().insert(pod.uid().to_owned(), id);
                }
            }
            _ => {}
        }
    }

    /// The pod is released wherever it is.
    fn forget(&self, uid: &str) {
        if let Some(latest) = self.latest.lock().unwrap().remove(uid) {
            self.watch.change(|store| store.release(&latest));
        }
    }
}
