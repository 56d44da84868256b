//! Pods that count on their node from the moment their bind call arrives.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use parking_lot::Mutex;
use plimsoll_core::{Announcement, BindQuery, Gateway};
use tokio::{task::AbortHandle, time::sleep};

use crate::{answer::RequestOrigin, decode, error::WireError};

/// The longest time that a pod which another replica has bound counts here before the watch shows it.
const MAX_WATCH_LAG: Duration = Duration::from_secs(5);

/// A bind call. It is read once, and its pod counts on the node from then on.
pub(super) struct BindCall {
    pub(super) query: Result<Arc<BindQuery<'static>>, WireError>,
    /// None if no filter counts, or the body cannot be read.
    pub(super) announcement: Option<Announcement>,
}

// === impl BindCall ===

impl BindCall {
    pub(super) fn announce(
        gateway: &Arc<Gateway>,
        body: &Bytes,
        RequestOrigin { received, sender, .. }: RequestOrigin,
    ) -> Self {
        let query = decode::binding_args(body, received).map(|query| Arc::new(query.into_owned()));
        let announcement = query.as_ref().ok().and_then(|query| gateway.announce(sender, query));
        Self { query, announcement }
    }
}

/// The announcement of a pod that another replica binds.
pub(super) struct KeptAnnouncement(Option<Kept>);

struct Kept {
    /// Shared with the task, which drops it when the watch has not shown the pod in time.
    announcement: Arc<Mutex<Option<Announcement>>>,
    task: AbortHandle,
}

/// Keeps the announcement of a pod that another replica binds, even if its reply is lost or the caller leaves. The first
/// cluster that shows the pod ends it.
pub(super) fn keep_until_shown(announcement: Option<Announcement>) -> KeptAnnouncement {
    let keep = |announcement| {
        let announcement = Arc::new(Mutex::new(Some(announcement)));
        let of_task = Arc::clone(&announcement);
        let task = tokio::spawn(async move {
            #[expect(clippy::disallowed_methods, reason = "the watch may never show the pod")]
            sleep(MAX_WATCH_LAG).await;
            drop(of_task.lock().take());
        });
        Kept { announcement, task: task.abort_handle() }
    };
    KeptAnnouncement(announcement.map(keep))
}

// === impl KeptAnnouncement ===

impl KeptAnnouncement {
    /// The other replica does not bind the pod: it no longer counts when this returns.
    pub(super) fn end(self) {
        if let Some(Kept { announcement, task }) = self.0 {
            // Aborting alone would drop it at some later moment, after the reply.
            drop(announcement.lock().take());
            task.abort();
        }
    }
}
