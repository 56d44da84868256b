//! Reads about the whole cluster, whatever nodes the request has.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use plimsoll_decision_cache::Fingerprint;

use super::View;
use crate::model::{
    Cluster, MAX_LABEL_VALUES, Node, Placed, Pod, Read, ReadError, Selector, Slot, Value, cluster::PlacedPod,
    tally::Shape,
};

/// Maximum pods that an explanation names for a count.
const COUNTED_PODS: usize = 5;

// === impl View ===

impl View {
    /// The same view, whose reader says which node it is asked about: see [`View::ask_about`].
    #[must_use]
    pub(crate) fn asked_about_each(mut self) -> Self {
        self.asked_about = Some(Arc::new(AtomicU32::new(u32::MAX)));
        self
    }

    /// The same view of one node for a bind: neither the pod itself nor nominated pods are there. Of two nominated pods each
    /// would keep the other from being bound to the last place. Pods with a tentative place are there only for a pod that
    /// `yields` to them: one that has a place itself does not.
    #[must_use]
    pub(crate) fn for_bind(mut self, yields: bool) -> Self {
        let pods = self.slot(0).ok().and_then(|slot| slot.placed.as_deref()).map_or(&[][..], Placed::pods);
        let tentative = self.whole.cluster().filter(|_| !yields).map_or(&[][..], |cluster| cluster.tentative());
        let is_tentative = |pod: &Pod| tentative.iter().any(|placed| placed.is_same_object(pod));
        let is_gone = |pod: &Pod| pod.nomination().is_some() || pod.is_same_object(&self.pod) || is_tentative(pod);
        let gone: Vec<u32> = (0..).zip(pods).filter(|(_, pod)| is_gone(pod)).map(|(at, _)| at).collect();
        self.whole.leave_out_waiting(yields);
        if gone.is_empty() { self } else { self.without(Arc::from([gone])) }
    }

    /// Tells the view that the following reads are made to answer about this node.
    pub(crate) fn ask_about(&self, node: u32) {
        if let Some(asked_about) = &self.asked_about {
            // One thread writes it and reads it.
            asked_about.store(node, Ordering::Relaxed);
        }
    }

    /// Notes the keys by which the policy reads the whole cluster.
    pub(super) fn admit(&self, read: &Read<'_>) -> Result<(), ReadError> {
        let Some(limit) = &self.shapes else { return Ok(()) };
        match (shape_of(read), read) {
            (Some(shape), _) => limit.admit(shape.fingerprint(), shape.longest_key()),
            (None, Read::ClusterNodesWithLabel { key, .. } | Read::ClusterLabelValues(key)) => {
                limit.admit(Fingerprint::of(*key), key.len())
            }
            _ => Ok(()),
        }
    }

    /// Whether the answer to a read has to be worked out from all pods or nodes first. Only a call does that: it has a
    /// permit and a deadline, and a comparison of cached answers has none.
    pub(crate) fn needs_walk(&self, read: &Read<'_>) -> bool {
        let Some(cluster) = self.whole.cluster() else { return false };
        match read {
            Read::ClusterNodesWithLabel { key, .. } | Read::ClusterLabelValues(key) => {
                !cluster.tallies().has_label_values(key)
            }
            _ => shape_of(read).is_some_and(|shape| cluster.needs_walk(&shape)),
        }
    }

    /// The number of the pods of the cluster that a selector matches, or the sum of their requests, without those that are
    /// gone.
    pub(super) fn total(&self, selector: &Selector<&str>, requested: Option<&str>) -> Option<i64> {
        let cluster = self.whole.cluster()?;
        let mut total = cluster.total(selector, requested)?;
        let share = |pod: &Pod, node: Option<&Node>| match requested {
            _ if !selector.matches(pod, node) => 0,
            None => 1,
            Some(name) => i128::from(pod.requests().get(name)),
        };
        self.each_not_counted(cluster, |pod, node| total -= share(pod, node));
        Some(i64::try_from(total).unwrap_or(i64::MAX))
    }

    /// For people: how many pods a count of the cluster is about, and the first of them.
    pub(super) fn counted(&self, read: &Read<'_>) -> Option<String> {
        let (Read::ClusterCount(selector)
        | Read::ClusterCountUpTo { selector, .. }
        | Read::ClusterAtLeast { selector, .. }) = read
        else {
            return None;
        };
        let (cluster, count) = (self.whole.cluster()?, self.total(selector, None)?);
        let matching = |slot: &Slot| {
            let pods = slot.placed.as_deref().map_or(&[][..], Placed::pods).iter();
            let counts = |pod: &&Arc<Pod>| selector.matches(pod, Some(&slot.node)) && !pod.is_same_object(&self.pod);
            pods.filter(counts)
                .map(|pod| format!("{}/{} on {}", pod.namespace(), pod.name(), slot.node.name()))
                .collect::<Vec<_>>()
        };
        let shown = usize::try_from(count).unwrap_or_default().min(COUNTED_PODS);
        let mut names: Vec<String> = cluster.slots().iter().flat_map(matching).take(shown).collect();
        if count > shown as i64 {
            names.push("...".to_owned());
        }
        Some(format!("now {count}{}{}", if names.is_empty() { "" } else { ": " }, names.join(", ")))
    }

    pub(super) fn nodes_with_label(&self, key: &str, value: &str) -> Option<i64> {
        Some(i64::from(self.whole.cluster()?.label_values(key).count(value)))
    }

    pub(super) fn label_values(&self, key: &str) -> Result<Value<'_>, ReadError> {
        let Some(cluster) = self.whole.cluster() else { return Ok(Value::Absent) };
        let values = cluster.label_values(key);
        if values.iter().len() > MAX_LABEL_VALUES {
            Err(ReadError::TooManyValues)
        } else {
            Ok(Value::LabelValues(values))
        }
    }

    /// The pods that the cluster has and that do not count: those that are hidden, and those that are taken as gone.
    fn each_not_counted(&self, cluster: &Cluster, mut each: impl FnMut(&Pod, Option<&Node>)) {
        let hidden = self.whole.hidden();
        for PlacedPod { pod, node } in hidden {
            each(pod, node.as_deref());
        }
        let is_hidden = |pod: &Pod| hidden.iter().any(|hidden| hidden.pod.is_same_object(pod));
        let nodes = match &self.asked_about {
            Some(asked_about) => {
                let node = asked_about.load(Ordering::Relaxed) as usize;
                node..node.saturating_add(1).min(self.gone.len())
            }
            None => 0..self.gone.len(),
        };
        for node in nodes {
            let gone = self.gone_from(node as u32);
            let Ok(Slot { node, placed: Some(placed) }) = self.slot(node as u32) else { continue };
            for pod in gone.iter().filter_map(|at| placed.pods().get(*at as usize)).filter(|pod| !is_hidden(pod)) {
                // A victim of a group may be on another node. A scheduler that sends whole objects may name pods that the
                // cluster does not have yet.
                let at = cluster.find(pod.node().unwrap_or(node.name()));
                let Some(Slot { node, placed: Some(known) }) = at.and_then(|at| cluster.slots().get(at as usize))
                else {
                    continue;
                };
                if known.pods().iter().any(|placed| placed.is_same_object(pod)) {
                    each(pod, Some(node));
                }
            }
        }
    }
}

/// The shape of the total of pods that a read asks for.
fn shape_of<'a>(read: &Read<'a>) -> Option<Shape<&'a str>> {
    match read {
        Read::ClusterCount(selector)
        | Read::ClusterCountUpTo { selector, .. }
        | Read::ClusterAtLeast { selector, .. } => Some(Shape::of(selector, None)),
        Read::ClusterRequested { selector, name } => Some(Shape::of(selector, Some(*name))),
        _ => None,
    }
}
