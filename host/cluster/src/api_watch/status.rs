//! The status of the watches: whether the first lists are complete, how stale they are, and counts of events.

use std::time::{Duration, Instant};

use crate::clock;

/// The state of the watches at one moment.
#[derive(Debug, Clone)]
pub struct WatchStatus {
    /// The watch of Nodes.
    pub nodes: ResourceStatus,
    /// The watch of pods.
    pub pods: ResourceStatus,
    /// The watch of pods without a node; the gateway works without it.
    pub waiting: ResourceStatus,
    /// The watch of namespaces; the gateway works without it.
    pub namespaces: ResourceStatus,
    /// The watch of DeviceClasses; the gateway works without it.
    pub device_classes: ResourceStatus,
    /// The watch of PersistentVolumeClaims; the gateway works without it.
    pub claims: ResourceStatus,
    /// The number of pods that were bound and have not been shown by the watch.
    pub reserved: usize,
    /// Whether a cluster has been published: the first one waits for the other watches too, or for their failure.
    pub is_published: bool,
}

/// The state of one watch.
#[derive(Debug, Clone)]
pub struct ResourceStatus {
    /// `nodes`, `pods`, `waiting pods`, `namespaces`, `deviceclasses` or `claims`.
    pub resource: &'static str,
    /// Whether a list has been complete.
    pub is_listed: bool,
    /// The last sign of life; before the first one, the start.
    pub(super) alive: Instant,
    /// Events, bookmarks left out.
    pub events: u64,
    /// Lists and watches that failed.
    pub failures: u64,
    /// Nodes or pods that the API server has now and that cannot be read.
    pub unreadable_now: usize,
    /// Why the last one failed; `None` once a list or a watch has succeeded again.
    pub trouble: Option<String>,
}

// === impl WatchStatus ===

impl WatchStatus {
    /// Why the cluster in force should not be relied on; empty if it may be.
    pub fn doubts(&self, max_staleness: Duration) -> Vec<String> {
        let mut doubts: Vec<_> =
            [&self.nodes, &self.pods].into_iter().filter_map(|status| status.doubt(max_staleness)).collect();
        if doubts.is_empty() && !self.is_published {
            let optional = [&self.waiting, &self.device_classes, &self.claims, &self.namespaces];
            let missing = optional.into_iter().find(|status| !status.is_decided());
            doubts.push(format!("{} are not listed yet", missing.unwrap_or(&self.namespaces).resource));
        }
        doubts
    }

    /// The objects that are missing in the current cluster. It is still safe to use: nothing is placed on a node that
    /// they concern.
    pub fn gaps(&self, max_staleness: Duration) -> Vec<String> {
        let unreadable = [&self.nodes, &self.pods].into_iter().filter(|status| status.unreadable_now > 0);
        let mut gaps: Vec<_> = unreadable
            .map(|ResourceStatus { unreadable_now, resource, .. }| {
                format!("{unreadable_now} {resource} cannot be read, and nothing is placed on their nodes: the log names them")
            })
            .collect();
        if let Some(silence) = self.waiting.silence(max_staleness).filter(|_| self.waiting.is_decided()) {
            gaps.push(format!("{silence}: nominated pods do not count{}", self.waiting.why()));
        }
        if let (false, Some(trouble)) = (self.namespaces.is_listed, &self.namespaces.trouble) {
            gaps.push(format!("namespaces are not known, and policies cannot read their labels: {trouble}"));
        }
        if let (false, Some(trouble)) = (self.device_classes.is_listed, &self.device_classes.trouble) {
            gaps.push(format!("deviceclasses are not known, and a resource that DRA provides counts as 0: {trouble}"));
        }
        if let (false, Some(trouble)) = (self.claims.is_listed, &self.claims.trouble) {
            gaps.push(format!(
                "claims are not known, and pods that wait for volumes get no place before their bind: {trouble}"
            ));
        }
        gaps
    }
}

// === impl ResourceStatus ===

impl ResourceStatus {
    /// A watch that starts now.
    pub(super) fn new(resource: &'static str) -> Self {
        let (is_listed, alive) = (false, clock::now());
        Self { resource, is_listed, alive, events: 0, failures: 0, unreadable_now: 0, trouble: None }
    }

    /// The time since the last sign of life; before the first one, since the start.
    pub fn silent_for(&self) -> Duration {
        clock::now().saturating_duration_since(self.alive)
    }

    /// Whether its first list is complete or has failed.
    fn is_decided(&self) -> bool {
        self.is_listed || self.trouble.is_some()
    }

    fn doubt(&self, max_staleness: Duration) -> Option<String> {
        self.silence(max_staleness).map(|silence| silence + &self.why())
    }

    fn silence(&self, max_staleness: Duration) -> Option<String> {
        let (resource, silent_for) = (self.resource, self.silent_for());
        if !self.is_listed {
            return Some(format!("{resource} are not listed yet"));
        }
        (silent_for > max_staleness)
            .then(|| format!("{resource} have not been heard of for {} s", silent_for.as_secs()))
    }

    fn why(&self) -> String {
        self.trouble.as_ref().map_or_else(String::new, |trouble| format!(": {trouble}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn listed(resource: &'static str) -> ResourceStatus {
        ResourceStatus { is_listed: true, ..ResourceStatus::new(resource) }
    }

    fn status(nodes: ResourceStatus) -> WatchStatus {
        let (pods, waiting) = (listed("pods"), listed("waiting pods"));
        WatchStatus {
            nodes,
            pods,
            waiting,
            namespaces: ResourceStatus::new("namespaces"),
            device_classes: listed("deviceclasses"),
            claims: listed("claims"),
            reserved: 0,
            is_published: true,
        }
    }

    #[test]
    fn a_cluster_is_doubted_until_all_is_listed_and_published_and_once_it_is_stale() {
        let mut nodes = ResourceStatus::new("nodes");
        assert_eq!(status(nodes.clone()).doubts(LIMIT), ["nodes are not listed yet"]);
        nodes.trouble = Some("refused".to_owned());
        assert_eq!(status(nodes).doubts(LIMIT), ["nodes are not listed yet: refused"]);
        let mut status = status(listed("nodes"));
        assert!(status.doubts(LIMIT).is_empty());
        status.is_published = false;
        assert_eq!(status.doubts(LIMIT), ["namespaces are not listed yet"]);
        status.nodes.alive = clock::now().checked_sub(LIMIT * 2).unwrap();
        assert_eq!(status.doubts(LIMIT), ["nodes have not been heard of for 20 s"]);
    }

    #[test]
    fn a_gateway_that_may_not_list_namespaces_works_and_says_what_is_missing() {
        let mut status = status(listed("nodes"));
        assert!(status.gaps(LIMIT).is_empty(), "{:?}", status.gaps(LIMIT));
        status.namespaces.trouble = Some("the API server answered 403: forbidden".to_owned());
        status.pods.unreadable_now = 2;
        let pods = "2 pods cannot be read, and nothing is placed on their nodes: the log names them";
        let namespaces =
            "namespaces are not known, and policies cannot read their labels: the API server answered 403: forbidden";
        assert_eq!(status.gaps(LIMIT), [pods, namespaces]);
        assert!(status.doubts(LIMIT).is_empty());
    }
    #[test]
    fn a_gateway_that_does_not_hear_of_waiting_pods_works_and_says_that_nominated_ones_do_not_count() {
        let mut status = status(listed("nodes"));
        status.waiting.alive = clock::now().checked_sub(LIMIT * 2).unwrap();
        let stale = "waiting pods have not been heard of for 20 s: nominated pods do not count";
        assert_eq!(status.gaps(LIMIT), [stale]);
        status.waiting.trouble = Some("refused".to_owned());
        assert_eq!(status.gaps(LIMIT), [format!("{stale}: refused")]);
        status.waiting.is_listed = false;
        assert_eq!(status.gaps(LIMIT), ["waiting pods are not listed yet: nominated pods do not count: refused"]);
        assert!(status.doubts(LIMIT).is_empty());
    }
}
