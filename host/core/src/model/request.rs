//! Which request is being answered, for log lines: it costs nothing where nothing is logged.
//!
//! The ID belongs to the thread that answers, as a log span would. The [`Gateway`](crate::Gateway) takes it from
//! there, and carries it to every call that it makes for the request, on whichever thread.

use std::{
    cell::RefCell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::model::{BindQuery, Mode, Pod, Verb, bounded, escaped};

/// The most bytes of an ID that a client chose: a UUID has 36.
const MAX_ID_BYTES: usize = 64;

/// The most bytes of each part of a pod's name in the log: Kubernetes allows no more.
const MAX_NAME_BYTES: usize = 253;

/// Names one request in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RequestId {
    /// Work that belongs to no request.
    #[default]
    None,
    /// Counted from the start of the process.
    Counted(u64),
    /// Chosen by the client.
    Given(Arc<str>),
}

/// The request, version, mode and verb that a call belongs to, for the log lines of its guest.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The request.
    pub request: RequestId,
    /// The version of the policy, from 1; 0: it is not in force.
    pub version: u64,
    /// Whether the policy's answers count.
    pub mode: Mode,
    /// The verb that it is asked; none outside of a roster.
    pub verb: Option<Verb>,
}

/// Names a pod in the log: `namespace/name`. The sender of the request chose the texts, so they are cut.
#[derive(Debug, Clone, Copy)]
pub struct PodId<'p> {
    namespace: &'p str,
    name: &'p str,
    uid: &'p str,
}

thread_local! {
    static CURRENT: RefCell<RequestId> = const { RefCell::new(RequestId::None) };
}

/// Puts back the request that was current before, also when the work panics.
struct Restore(RequestId);

// === impl RequestId ===

impl RequestId {
    /// One that no other request of this process has.
    pub fn counted() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self::Counted(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// An ID that a client sent; none unless it is short and of letters, digits and `-_.:/+=`.
    pub fn given(id: &[u8]) -> Option<Self> {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(byte);
        let id = std::str::from_utf8(id).ok().filter(|id| (1..=MAX_ID_BYTES).contains(&id.len()))?;
        id.bytes().all(|byte| is_plain(&byte)).then(|| Self::Given(id.into()))
    }

    /// Does work for this request on this thread.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        let _restore = Restore(CURRENT.replace(self.clone()));
        work()
    }

    /// The request that this thread works for.
    pub fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.0));
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("-"),
            Self::Counted(number) => write!(f, "{number}"),
            Self::Given(id) => f.write_str(id),
        }
    }
}

// === impl PodId ===

impl<'p> PodId<'p> {
    /// The pod's; none if it has no name.
    pub fn of(pod: &'p Pod) -> Option<Self> {
        let id = Self { namespace: pod.namespace(), name: pod.name(), uid: pod.uid() };
        (!id.name.is_empty()).then_some(id)
    }

    /// That of the pod which is to be bound.
    pub fn of_bind(query: &'p BindQuery<'_>) -> Self {
        Self { namespace: &query.namespace, name: &query.name, uid: &query.uid }
    }

    /// `metadata.uid`.
    pub fn uid(self) -> &'p str {
        bounded(self.uid, MAX_ID_BYTES)
    }
}

impl fmt::Display for PodId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [namespace, name] =
            [self.namespace, self.name].map(|text| escaped(bounded(text, MAX_NAME_BYTES), |_| false));
        write!(f, "{namespace}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_client_is_short_and_plain_or_is_not_taken() {
        for id in ["a", "0b0f2c9e-7d5a-4f57-9d0a-2d3f0a6f7c11", "a/b:c_d.e+f="] {
            assert_eq!(RequestId::given(id.as_bytes()).map(|id| id.to_string()).as_deref(), Some(id));
        }
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for id in ["", "a b", "a\nb", "\u{1b}[31m", "é", "\"", long.as_str()] {
            assert_eq!(RequestId::given(id.as_bytes()), None, "{id:?}");
        }
        assert_eq!(RequestId::given(b"\xff"), None);
    }

    #[test]
    fn a_pod_is_named_within_bounds() {
        let long = "é".repeat(1 << 20);
        let id = PodId { namespace: "team-a", name: &long, uid: &long };
        assert!(id.to_string().starts_with("team-a/é") && id.to_string().len() <= 2 * MAX_NAME_BYTES + 1);
        assert_eq!(id.uid().len(), MAX_ID_BYTES);
        let forged = PodId { namespace: "a\u{1b}[2J", name: "b\n", uid: "" };
        assert_eq!(forged.to_string(), "a\\u001b[2J/b\\u000a");
    }

    #[test]
    fn the_request_of_a_thread_is_the_innermost_and_ends_with_its_work() {
        let (outer, inner) = (RequestId::counted(), RequestId::counted());
        assert_ne!(outer, inner);
        outer.scope(|| {
            let panicked = std::panic::catch_unwind(|| inner.scope(|| panic!("{}", RequestId::current())));
            let text = *panicked.unwrap_err().downcast::<String>().unwrap();
            assert_eq!((text, RequestId::current()), (inner.to_string(), outer.clone()));
        });
        assert_eq!(RequestId::current(), RequestId::None);
    }
}
