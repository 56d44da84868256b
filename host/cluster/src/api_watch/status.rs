//! The status of the watches: whether the first lists are complete, how stale they are, and counts of events.

use std::time::Duration;

/// The state of the watches at one moment.
#[derive(Debug, Clone)]
pub struct WatchStatus {
    /// The watch of Nodes.
    pub nodes: ResourceStatus,
    /// The watch of pods.
    pub pods: ResourceStatus,
    /// The watch of namespaces; the gateway works without it.
    pub namespaces: ResourceStatus,
    /// The number of pods that were bound and have not been shown by the watch.
    pub reserved: usize,
    /// Whether a cluster has been published: the first one waits for the namespaces too, or for their failure.
    pub is_published: bool,
}

/// The state of one watch.
#[derive(Debug, Clone, Default)]
pub struct ResourceStatus {
    /// `nodes`, `pods` or `namespaces`.
    pub resource: &'static str,
    /// Whether a list has been complete.
    pub is_listed: bool,
    /// The time since the last sign of life; before the first one, since the start.
    pub silent_for: Duration,
    /// Events, bookmarks left out.
    pub events: u64,
    /// Lists and watches that failed.
    pub failures: u64,
    /// Objects that the API server has now and that cannot be read.
    pub unreadable_now: usize,
    /// The first of them, and why.
    pub first_unreadable: Option<String>,
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
            doubts.push("namespaces are not listed yet".to_owned());
        }
        doubts
    }

    /// The objects that are missing in the current cluster. It is still safe to use: nothing is placed on a node that
    /// they concern.
    pub fn gaps(&self) -> Vec<String> {
        let gaps = [&self.nodes, &self.pods].into_iter().filter_map(ResourceStatus::gap);
        gaps.chain(self.namespaces.gap_of_namespaces()).collect()
    }
}

// === impl ResourceStatus ===

impl ResourceStatus {
    fn gap(&self) -> Option<String> {
        let (count, resource, first) = (self.unreadable_now, self.resource, self.first_unreadable.as_ref()?);
        Some(format!(
            "{count} {resource} cannot be read, and nothing is placed on their nodes if these are known; the first is {first}"
        ))
    }

    fn gap_of_namespaces(&self) -> Option<String> {
        if let (false, Some(trouble)) = (self.is_listed, &self.trouble) {
            return Some(format!("namespaces are not known, and policies cannot read their labels: {trouble}"));
        }
        let first = self.first_unreadable.as_ref()?;
        Some(format!("{} namespaces cannot be read, and are not known; the first is {first}", self.unreadable_now))
    }

    fn doubt(&self, max_staleness: Duration) -> Option<String> {
        let resource = self.resource;
        let why = self.trouble.as_ref().map_or_else(String::new, |trouble| format!(": {trouble}"));
        if !self.is_listed {
            return Some(format!("{resource} are not listed yet{why}"));
        }
        (self.silent_for > max_staleness)
            .then(|| format!("{resource} have not been heard of for {} s{why}", self.silent_for.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn status(nodes: ResourceStatus) -> WatchStatus {
        let listed = ResourceStatus { resource: "pods", is_listed: true, silent_for: LIMIT, ..Default::default() };
        WatchStatus { nodes, pods: listed, namespaces: ResourceStatus::default(), reserved: 0, is_published: true }
    }

    #[test]
    fn a_cluster_is_doubted_until_all_is_listed_and_once_it_is_stale() {
        let mut nodes = ResourceStatus { resource: "nodes", ..Default::default() };
        assert_eq!(status(nodes.clone()).doubts(LIMIT), ["nodes are not listed yet"]);
        nodes.trouble = Some("refused".to_owned());
        assert_eq!(status(nodes.clone()).doubts(LIMIT), ["nodes are not listed yet: refused"]);
        nodes = ResourceStatus { is_listed: true, silent_for: LIMIT, trouble: None, ..nodes };
        assert!(status(nodes.clone()).doubts(LIMIT).is_empty());
        nodes.silent_for = LIMIT * 2;
        assert_eq!(status(nodes).doubts(LIMIT), ["nodes have not been heard of for 20 s"]);
    }

    #[test]
    fn a_cluster_that_waits_for_the_namespaces_is_doubted() {
        let nodes = ResourceStatus { resource: "nodes", is_listed: true, ..Default::default() };
        let status = WatchStatus { is_published: false, ..status(nodes) };
        assert_eq!(status.doubts(LIMIT), ["namespaces are not listed yet"]);
    }

    #[test]
    fn a_gateway_that_may_not_list_namespaces_works_and_says_what_is_missing() {
        let listed = ResourceStatus { resource: "nodes", is_listed: true, ..Default::default() };
        let mut status = status(listed);
        assert!(status.gaps().is_empty(), "{:?}", status.gaps());
        status.namespaces.trouble = Some("the API server answered 403: forbidden".to_owned());
        let missing =
            "namespaces are not known, and policies cannot read their labels: the API server answered 403: forbidden";
        assert_eq!(status.gaps(), [missing]);
        assert!(status.doubts(LIMIT).is_empty());
        status.namespaces = ResourceStatus {
            is_listed: true,
            unreadable_now: 1,
            first_unreadable: Some("web: too large".to_owned()),
            ..ResourceStatus::default()
        };
        assert_eq!(status.gaps(), ["1 namespaces cannot be read, and are not known; the first is web: too large"]);
    }
}
