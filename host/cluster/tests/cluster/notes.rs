//! An assume cache that notes the calls of a binder.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    time::Instant,
};

use plimsoll_cluster::{AssumeCache, ReservationId};
use plimsoll_core::{IsUnchanged, NotReserved, Pod};
use tokio::sync::watch;

/// The calls of a binder to its view; a list is complete when the test says so.
pub(crate) struct Notes {
    /// As they were reserved, and as they were read later.
    pub(crate) shown: Mutex<Vec<Arc<Pod>>>,
    /// The UIDs of those that were not bound.
    pub(crate) released: Mutex<Vec<String>>,
    pub(crate) lists: watch::Sender<u64>,
    pub(crate) allowed: watch::Sender<u64>,
}

// === impl Notes ===

impl Notes {
    pub(crate) fn new(lists: u64) -> Arc<Self> {
        let (shown, released) = (Mutex::default(), Mutex::default());
        Arc::new(Self { shown, released, lists: watch::Sender::new(0), allowed: watch::Sender::new(lists) })
    }

    pub(crate) fn last_shown(&self) -> Option<Arc<Pod>> {
        self.shown.lock().unwrap().last().cloned()
    }
}

impl AssumeCache for Notes {
    fn reserve(&self, pod: Arc<Pod>, _: &IsUnchanged<'_>) -> Result<ReservationId, NotReserved> {
        let mut shown = self.shown.lock().unwrap();
        shown.push(Arc::clone(&pod));
        Ok(ReservationId::new(pod.uid(), shown.len() as u64))
    }

    fn forward(&self, _: Arc<Pod>) {}

    fn end_forwarded(&self, _: &str) {}

    fn settle_at(&self, _: &ReservationId, pod: Option<Arc<Pod>>, _: Instant) {
        self.shown.lock().unwrap().extend(pod);
    }

    fn release(&self, id: &ReservationId) {
        self.released.lock().unwrap().push(id.uid().to_owned());
    }

    fn observe(&self, _: &Pod, _: Instant) {}

    fn relist(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let mut number = 0;
            self.lists.send_modify(|lists| {
                *lists += 1;
                number = *lists;
            });
            self.allowed.subscribe().wait_for(|allowed| *allowed >= number).await.unwrap();
        })
    }
}
