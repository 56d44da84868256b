//! Pods that count on their node from the moment their bind call arrives.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use plimsoll_core::{Announcement, Gateway};
use tokio::{task::AbortHandle, time::sleep};

use crate::{answer::Arrival, decode};

/// The longest time that a pod which another replica has bound counts here before the watch shows it.
const MAX_WATCH_LAG: Duration = Duration::from_secs(5);

/// Announces the pod of a bind call; `body` is empty for other calls.
pub(super) fn announce(
    gateway: &Arc<Gateway>,
    body: &Bytes,
    Arrival { received, sender, .. }: Arrival,
) -> Option<Announcement> {
    if body.is_empty() {
        return None;
    }
    // A body that cannot be read is refused when it is decided.
    gateway.announce(sender, &decode::binding_args(body, received).ok()?)
}

/// The announcement of a pod that another replica binds.
pub(super) struct KeptAnnouncement(Option<AbortHandle>);

/// Keeps the announcement of a pod that another replica binds, even if its reply is lost or the caller leaves. The first
/// cluster that shows the pod ends it.
pub(super) fn keep_until_shown(announcement: Option<Announcement>) -> KeptAnnouncement {
    let keep = |announcement| {
        let kept = tokio::spawn(async move {
            #[expect(clippy::disallowed_methods, reason = "the watch may never show the pod")]
            sleep(MAX_WATCH_LAG).await;
            drop(announcement);
        });
        kept.abort_handle()
    };
    KeptAnnouncement(announcement.map(keep))
}

// === impl KeptAnnouncement ===

impl KeptAnnouncement {
    /// The other replica has refused to bind the pod.
    pub(super) fn end(self) {
        if let Some(kept) = self.0 {
            kept.abort();
        }
    }
}
