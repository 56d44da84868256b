//! The events of a world, and the state between two of them.

use bytes::Bytes;
use http::Method;
use tokio::sync::{mpsc, oneshot};

use crate::simulation::process::{Back, BindOrder, BindResult};

/// Something that happens at one moment.
pub(super) enum SimulationEvent {
    /// The API server receives a request.
    Arrive {
        identity: String,
        sent: Request,
    },
    /// A reply comes back.
    Return(oneshot::Sender<Back>, Back),
    /// A watch shows the next events.
    Show(u64),
    /// A watch ends.
    Cut(u64),
    /// The scheduler looks at a pod.
    Schedule(String),
    /// A gateway process receives a bind.
    Ask(usize, BindOrder),
    /// The scheduler gets the outcome of a bind.
    Hear(BindOrder, BindResult),
    Thaw(usize),
    Freeze(usize),
    Crash(usize),
    /// It is told to stop, as by SIGTERM.
    Stop(usize),
    DeletePod(String),
    CreatePod(String),
    DeleteLease,
    /// During this time the API server drops most requests, and watches deliver no events.
    Hiccup(u64),
    /// The trouble is over.
    Calm,
    /// Is all well?
    Look,
}

/// A request under way; of one that is repeated, the last one's answer comes back.
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) target: String,
    pub(super) body: Bytes,
    pub(super) is_fenced: bool,
    pub(super) reply: Option<oneshot::Sender<Back>>,
}

/// Its time, its number in the order of scheduling, and the event.
pub(super) struct ScheduledEvent(pub(super) u64, pub(super) u64, pub(super) SimulationEvent);

/// A watch that is open.
pub(super) struct Watch {
    pub(super) lines: mpsc::UnboundedSender<Bytes>,
    /// The version of the last event that was shown.
    pub(super) shown: u64,
    /// The delay of its events; `None`: it shows none.
    pub(super) lag: Option<u64>,
}

/// A pod that the scheduler still has to place.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) attempt: u64,
    pub(super) node: Option<String>,
    pub(super) heard: bool,
}

// === impl ScheduledEvent ===

impl PartialEq for ScheduledEvent {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}

impl Eq for ScheduledEvent {}

impl PartialOrd for ScheduledEvent {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScheduledEvent {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}
