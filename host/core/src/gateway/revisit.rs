//! Decides the waiting pods again after changes that kube-scheduler has no event for.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use super::{deciding::Deciding, state::Gateway};
use crate::{
    decide::{DecideError, DuePod, Group, ModelVerdict, Nodes, Pass, Query, filter_all},
    model::{Cluster, Mode, Verb, cluster::OwnPlace},
};

/// The time that one pass may take; the pods that are left come first in the next.
const MAX_PASS: Duration = Duration::from_millis(250);

/// kube-scheduler is to be told to try all waiting pods again.
#[derive(Debug)]
#[must_use = "it is over with `Gateway::woken`"]
pub struct Wake {
    cluster: Arc<Cluster>,
    changes: u64,
    /// The pods for which the pass had no time.
    undecided: Vec<DuePod>,
}

// === impl Gateway ===

impl Gateway {
    /// Decides again about the waiting pods, after changes that kube-scheduler has no event for, of policies, facts,
    /// namespaces and the time, and after those of pods and nodes that kube-scheduler may have seen first. Returns a wake
    /// if one of them would keep a node now. It takes as long as a call of a guest may, and a quarter of a second.
    pub fn revisit_waiting_pods(&self) -> Option<Wake> {
        let changes = self.changes.load(Ordering::SeqCst);
        // A cluster or a roster that comes after this counts as another change.
        let (roster, cluster) = (self.roster(), self.cluster()?);
        let reads_time = |group: &str| roster.group(group).is_some_and(Group::reads_time);
        let now = self.clock.now();
        let pass = Pass { cluster: &cluster, changes, reads_time: &reads_time, now };
        let mut due = self.waiting.due(&pass);
        let (mut wakes, mut decided) = (false, 0);
        for pod in &due {
            if decided > 0 && self.clock.now().saturating_duration_since(now) > MAX_PASS {
                break;
            }
            decided += 1;
            if self.nominations.is_under_way(pod.pod.uid()) {
                continue;
            }
            // A panic has been told by its hook; the pod counts as one that does not fit.
            let is_free = catch_unwind(AssertUnwindSafe(|| self.would_keep_a_node(pod, &cluster)));
            // A fault of a policy may pass.
            let is_free = matches!(is_free, Ok(Ok(true)));
            wakes |= self.waiting.decided(pod, is_free, &pass);
        }
        let undecided = due.split_off(decided);
        (wakes || self.waiting.is_blind_wake_due(&pass)).then_some(Wake { cluster, changes, undecided })
    }

    /// kube-scheduler was told to try all waiting pods again.
    pub fn woken(&self, wake: Wake) {
        let Wake { cluster, changes, undecided } = wake;
        let pass = Pass { cluster: &cluster, changes, reads_time: &|_| false, now: self.clock.now() };
        self.waiting.woken(&undecided, &pass);
    }

    /// Whether all filters would leave the pod a node: those of the groups that kube-scheduler asks about it, and
    /// kube-scheduler's own.
    fn would_keep_a_node(&self, due: &DuePod, cluster: &Arc<Cluster>) -> Result<bool, DecideError> {
        let received = self.clock.now();
        let groups = self.groups_of_waiting(due);
        let Some((first, _)) = groups.first() else { return Ok(false) };
        let deciding = Deciding { cluster: Some(Arc::clone(cluster)), ..self.begin(first)? };
        let nodes = Nodes::Slots { cluster: Some(cluster), slots: cluster.all_slots() };
        let query = Query { pod: Arc::clone(&due.pod), nodes, received, may_bind: false };
        let context = deciding.context(&query, OwnPlace::AsThePodSays)?;
        let filters = self.model.filters(&due.pod, context.cluster())?;
        if filters.not_tried() {
            return Ok(false);
        }
        let caller = deciding.caller(received).without_effects();
        let groups: Vec<Group> = groups.into_iter().map(|(_, group)| group).collect();
        let (outcome, inserts) = deciding.decide(&caller, |caller| filter_all(caller, &groups, &context))?;
        inserts.run();
        let is_free = |node: u32| {
            let slot =
                context.slots().get(node as usize).and_then(|slot| context.cluster().slots().get(*slot as usize));
            slot.is_some_and(|slot| {
                !matches!(filters.verdict(slot), ModelVerdict::Rejects { .. })
                    && !self.nominations.is_vain(cluster, &due.pod, slot)
            })
        };
        Ok(outcome.kept(context.len()).into_iter().any(is_free))
    }

    /// The groups that kube-scheduler has asked about the pod, or after a start those that have a filter for it.
    fn groups_of_waiting(&self, due: &DuePod) -> Vec<(Arc<str>, Group)> {
        let roster = self.roster();
        let of = |(name, group): (&Arc<str>, &Group)| (Arc::clone(name), group.clone());
        if due.groups.is_empty() {
            let cluster = self.cluster();
            let is_asked = |group: &Group| {
                group.answering(Mode::Enforce, Verb::Filter, &due.pod, cluster.as_deref()).next().is_some()
            };
            return roster.groups().filter(|(_, group)| is_asked(group)).map(of).collect();
        }
        // kube-scheduler may ask others since a group is gone.
        due.groups.iter().filter_map(|name| roster.named(name)).map(of).collect()
    }
}
