//! The interface between binds and the view of the cluster.

use std::{future::Future, pin::Pin, sync::Arc, time::Instant};

use plimsoll_core::{IsUnchanged, NotReserved, Pod};

use crate::ReservationId;

/// The gateway's view of the cluster, as far as a binder changes it.
pub trait AssumeCache: Send + Sync {
    /// Shows a pod on its node from now on, with the annotations of its binding, if the newest cluster `is_unchanged`:
    /// one step, between which nothing is published. Until the reservation is settled or
    /// released, no list and no read ends it; the watch does, when it shows the pod or its end.
    ///
    /// # Errors
    /// If it is changed, or the pod is on a node already, or has a reservation.
    fn reserve(&self, pod: Arc<Pod>, is_unchanged: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved>;

    /// After the moment `settled` no write of this bind can arrive any more: a list or a read that begins later
    /// shows its outcome. A `pod` is the pod as it was read, with its node and annotations.
    fn settle_at(&self, id: &ReservationId, pod: Option<Arc<Pod>>, settled: Instant);

    /// The bind with this reservation bound nothing, and will not.
    fn release(&self, id: &ReservationId);

    /// The pod was read by a request that `began` then.
    fn observe(&self, pod: &Pod, began: Instant);

    /// Lists nodes and pods again; done when the gateway's view is at least as new as the call.
    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
