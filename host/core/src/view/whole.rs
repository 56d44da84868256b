//! Reads about the whole cluster, whatever nodes the request has.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use super::View;
use crate::{Cluster, Node, Pod, ReadError, Selector, Slot, Value, tally::Measure};

// === impl View ===

impl View {
    /// The same view, whose reader says which node it is asked about: see [`View::ask_about`].
    #[must_use]
    pub(crate) fn asked_about_each(mut self) -> Self {
        self.asked_about = Some(Arc::new(AtomicU32::new(u32::MAX)));
        self
    }

    /// Tells the view that the following reads are made to answer about this node.
    pub(crate) fn ask_about(&self, node: u32) {
        if let Some(asked_about) = &self.asked_about {
            // One thread writes it and reads it.
            asked_about.store(node, Ordering::Relaxed);
        }
    }

    pub(super) fn count(&self, selector: &Selector<&str>) -> Option<i64> {
        self.total(selector, Measure::Pods)
    }

    /// A total over the pods of the cluster that a selector matches, without those that are gone.
    pub(super) fn total(&self, selector: &Selector<&str>, measure: Measure<&str>) -> Option<i64> {
        let cluster = self.whole.cluster()?;
        let mut total = cluster.total(selector, measure)?;
        self.each_gone(cluster, |pod, node| {
            if selector.matches(pod, node) {
                total -= match measure {
                    Measure::Pods => 1,
                    Measure::Requested(name) => i128::from(pod.requests().get(name)),
                    Measure::Nodes => 0,
                };
            }
        });
        Some(i64::try_from(total).unwrap_or(i64::MAX))
    }

    pub(super) fn nodes_with_label(&self, key: &str, value: &str) -> Option<i64> {
        let selector = Selector { node_label: Some((key, value)), ..Selector::all() };
        let total = self.whole.cluster()?.total(&selector, Measure::Nodes)?;
        i64::try_from(total).ok()
    }

    pub(super) fn label_values(&self, key: &str) -> Result<Value<'_>, ReadError> {
        match self.whole.cluster() {
            Some(cluster) => cluster.label_values(key).map(Value::LabelValues).map_err(|_| ReadError::TooManyValues),
            None => Ok(Value::Absent),
        }
    }

    /// The pods that the cluster has and that do not count: the request's own, and those that are taken as gone.
    fn each_gone(&self, cluster: &Cluster, mut each: impl FnMut(&Pod, Option<&Node>)) {
        let own = self.whole.own();
        if let Some(own) = own {
            each(&own.pod, own.node.as_deref());
        }
        let is_own = |pod: &Pod| own.is_some_and(|own| own.pod.is_same_object(pod));
        let asked_about = self.asked_about.as_ref().map(|asked_about| asked_about.load(Ordering::Relaxed));
        for (node, gone) in self.gone.iter().enumerate() {
            if gone.is_empty() || asked_about.is_some_and(|asked_about| asked_about as usize != node) {
                continue;
            }
            let Ok(Slot { node, placed: Some(placed) }) = self.slot(node as u32) else { continue };
            // A scheduler that sends whole objects may name pods that the cluster does not have yet.
            let known = cluster.find(node.name()).and_then(|at| cluster.slots().get(at as usize));
            let Some(Slot { node, placed: Some(known) }) = known else { continue };
            for pod in gone.iter().filter_map(|at| placed.pods().get(*at as usize)).filter(|pod| !is_own(pod)) {
                if known.pods().iter().any(|own| own.is_same_object(pod)) {
                    each(pod, Some(node));
                }
            }
        }
    }
}
