//! Watches how well the model of kube-scheduler's filters agrees with kube-scheduler: every offered node has passed them.
//!
//! The model does not know the scheduler's configuration (disabled plugins, ignored resources, added affinity).

use std::{
    borrow::Cow,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use hashbrown::{HashMap, HashSet};
use parking_lot::Mutex;

use crate::model::{Cluster, ObjectError, Pod, SchedulerFilters, SchedulerRejection, Slot};

/// The time between two rejections of an offered node from one snapshot that shows that the snapshot is not just behind.
const MIN_GAP: Duration = Duration::from_millis(100);

/// The time after which a difference that is not seen again counts as none: a watch that stalls shows some.
const LIFETIME: Duration = Duration::from_hours(1);

/// Maximum differences that are kept, and of those that are suspected.
const MAX_DIFFERENCES: usize = 1_000;

/// A reason for which the model rejects nodes that kube-scheduler accepts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelDifference {
    /// `spec.schedulerName` of the pods.
    pub scheduler: Box<str>,
    /// The plugin that the model rejects by.
    pub plugin: &'static str,
    /// In kube-scheduler's words.
    pub reason: Box<str>,
}

/// Each with the time at which it was last seen.
type Differences = HashMap<ModelDifference, Instant>;

/// The differences that were found.
#[derive(Debug, Default)]
pub(crate) struct ModelWatch {
    differences: ArcSwap<Differences>,
    /// Rejections of offered nodes that may come from a snapshot that was behind.
    suspected: Mutex<HashMap<ModelDifference, (Weak<Cluster>, Instant)>>,
}

/// kube-scheduler's filters about one pod, without the reasons for which they differ from kube-scheduler.
pub(crate) struct TrustedFilters<'p> {
    filters: SchedulerFilters<'p>,
    pod: &'p Pod,
    differences: Arc<Differences>,
}

/// What the model says of a node.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ModelVerdict<'f> {
    Accepts,
    Rejects {
        /// In kube-scheduler's words.
        text: Cow<'f, str>,
        unresolvable: bool,
    },
    /// It rejects the node for a reason that is not trusted.
    Unknown,
}

// === impl ModelWatch ===

impl ModelWatch {
    /// The filters about a pod among the nodes of a cluster.
    ///
    /// # Errors
    /// If the pod has a field that they cannot read.
    pub(crate) fn filters<'p>(&self, pod: &'p Pod, cluster: &'p Cluster) -> Result<TrustedFilters<'p>, ObjectError> {
        let filters = SchedulerFilters::new(pod, cluster, &[])?;
        Ok(TrustedFilters { filters, pod, differences: self.differences.load_full() })
    }

    /// Compares the filters with what kube-scheduler has offered; returns the differences that are new.
    pub(crate) fn compare<'s>(
        &self,
        filters: &TrustedFilters<'_>,
        offered: impl Iterator<Item = &'s Slot>,
        cluster: &Arc<Cluster>,
        now: Instant,
    ) -> Vec<ModelDifference> {
        let (known, age) = (&filters.differences, |seen: &Instant| now.saturating_duration_since(*seen));
        let rejections = offered.filter_map(|slot| filters.filters.rejection(slot));
        let each = |SchedulerRejection { plugin, reasons, .. }: SchedulerRejection<'_>| {
            reasons.iter().map(|reason| filters.difference(plugin, reason)).collect::<Vec<_>>()
        };
        let mut seen: Vec<_> = rejections.flat_map(each).collect::<HashSet<_>>().into_iter().collect();
        seen.retain(|difference| match known.get(difference) {
            Some(seen) => age(seen) >= LIFETIME / 2,
            None => self.is_certain(difference, cluster, now),
        });
        if !seen.is_empty() || known.values().any(|seen| age(seen) >= LIFETIME) {
            self.differences.rcu(|known| {
                let lasting =
                    known.iter().filter(|(_, seen)| age(seen) < LIFETIME).map(|(one, seen)| (one.clone(), *seen));
                let seen = seen.iter().map(|one| (one.clone(), now));
                lasting.chain(seen).take(MAX_DIFFERENCES).collect::<Differences>()
            });
        }
        seen.retain(|difference| !known.contains_key(difference));
        seen
    }

    /// Whether the same snapshot has shown it before.
    fn is_certain(&self, difference: &ModelDifference, cluster: &Arc<Cluster>, now: Instant) -> bool {
        let mut suspected = self.suspected.lock();
        if let Some((of, since)) = suspected.get(difference)
            && std::ptr::eq(of.as_ptr(), Arc::as_ptr(cluster))
        {
            return now.saturating_duration_since(*since) >= MIN_GAP;
        }
        if suspected.len() >= MAX_DIFFERENCES {
            suspected.clear();
        }
        suspected.insert(difference.clone(), (Arc::downgrade(cluster), now));
        false
    }

    /// All differences.
    pub(crate) fn differences(&self) -> Vec<ModelDifference> {
        self.differences.load().keys().cloned().collect()
    }
}

// === impl TrustedFilters ===

impl TrustedFilters<'_> {
    /// What they say of a node.
    pub(crate) fn verdict(&self, slot: &Slot) -> ModelVerdict<'_> {
        let Some(SchedulerRejection { plugin, mut reasons, unresolvable }) = self.filters.rejection(slot) else {
            return ModelVerdict::Accepts;
        };
        if !self.differences.is_empty() {
            reasons.to_mut().retain(|reason| !self.differences.contains_key(&self.difference(plugin, reason)));
        }
        match reasons.as_ref() {
            [] => ModelVerdict::Unknown,
            [reason] => ModelVerdict::Rejects { text: Cow::Borrowed(reason), unresolvable },
            reasons => ModelVerdict::Rejects { text: reasons.join(", ").into(), unresolvable },
        }
    }

    /// Whether kube-scheduler does not try the pod at all: it has a scheduling gate, or is being deleted.
    pub(crate) fn not_tried(&self) -> bool {
        self.filters.not_tried().is_some()
    }

    /// `accepted`, with the plugins that may reject a node all the same.
    pub(crate) fn why_not_offered(&self, accepted: &'static str) -> Cow<'static, str> {
        match self.filters.not_modelled() {
            [] => accepted.into(),
            plugins => format!("{accepted} ({} not modelled)", plugins.join(", ")).into(),
        }
    }

    fn difference(&self, plugin: &'static str, reason: &str) -> ModelDifference {
        ModelDifference { scheduler: self.pod.scheduler_name().into(), plugin, reason: reason.into() }
    }
}
