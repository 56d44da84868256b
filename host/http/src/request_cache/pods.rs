//! The pods of the last requests: filter, prioritize and preempt ask about one pod after each other.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use plimsoll_core::{ObjectError, Pod};

/// Maximum pods that are kept: one for each request in flight, as long as there are no more than this.
const MAX_PODS: usize = 8;

/// The most bytes of a pod that is kept.
const MAX_BYTES: usize = 64 << 10;

/// Pods by their JSON: one that comes again is not parsed again.
#[derive(Debug, Default)]
pub(crate) struct RecentPods {
    last: [ArcSwapOption<Pod>; MAX_PODS],
    /// Counts the pods: each takes the place of the oldest.
    count: AtomicUsize,
}

// === impl RecentPods ===

impl RecentPods {
    /// Reads the JSON of a pod being scheduled.
    ///
    /// # Errors
    /// As for [`Pod::from_json`].
    pub(crate) fn read(&self, json: Bytes) -> Result<Arc<Pod>, ObjectError> {
        let again = |kept: &ArcSwapOption<Pod>| kept.load_full().filter(|pod| pod.json() == Some(&json));
        if let Some(pod) = self.last.iter().find_map(again) {
            return Ok(pod);
        }
        if json.len() > MAX_BYTES {
            return Pod::from_json(json).map(Arc::new);
        }
        // A slice would keep the whole request in memory.
        let pod = Arc::new(Pod::from_json(Bytes::copy_from_slice(&json))?);
        self.last[self.count.fetch_add(1, Ordering::Relaxed) % MAX_PODS].store(Some(Arc::clone(&pod)));
        Ok(pod)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(name: &str) -> Bytes {
        Bytes::from(format!(r#"{{"metadata":{{"name":"{name}"}}}}"#))
    }

    #[test]
    fn a_pod_that_comes_again_is_the_same_record_and_does_not_hold_its_request() {
        let (pods, body) = (RecentPods::default(), json("a"));
        let first = pods.read(body.clone()).unwrap();
        assert_ne!(first.json().unwrap().as_ptr(), body.as_ptr());
        assert!(Arc::ptr_eq(&first, &pods.read(json("a")).unwrap()));
        assert_eq!(pods.read(json("b")).unwrap().name(), "b");
        assert!(Arc::ptr_eq(&first, &pods.read(json("a")).unwrap()));
        (0..MAX_PODS).for_each(|number| drop(pods.read(json(&number.to_string()))));
        assert!(!Arc::ptr_eq(&first, &pods.read(json("a")).unwrap()));
    }

    #[test]
    fn what_is_no_pod_or_a_huge_one_is_not_kept() {
        let pods = RecentPods::default();
        assert!(pods.read(Bytes::from_static(b"{")).is_err() && pods.read(Bytes::from_static(b"{")).is_err());
        let annotation = "x".repeat(MAX_BYTES);
        let huge = Bytes::from(format!(r#"{{"metadata": {{"name": "p", "annotations": {{"x": "{annotation}"}}}}}}"#));
        assert!(!Arc::ptr_eq(&pods.read(huge.clone()).unwrap(), &pods.read(huge).unwrap()));
        assert_eq!(pods.count.into_inner(), 0);
    }
}
