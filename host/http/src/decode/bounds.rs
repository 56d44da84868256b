//! Limits for the parts of a request.

use bytes::Bytes;

/// Maximum elements of one list of names, nodes, candidates or victims. Kubernetes supports 5,000 nodes.
pub(crate) const MAX_ELEMENTS: usize = 100_000;

/// Maximum bytes of a pod. etcd stores at most 1.5 MiB, which can be a few times as much in JSON.
pub(super) const MAX_POD: usize = 8 << 20;

/// The pod, unless it is too large.
pub(super) fn within_bounds(pod: Bytes) -> Option<Bytes> {
    (pod.len() <= MAX_POD).then_some(pod)
}
