//! Cached answers of all policies at once, computed once per combined class of nodes.

use std::{fmt::Debug, sync::Arc, time::Instant};

use plimsoll_decision_cache::CombinedClasses;

use crate::{
    Group, Member, Mode, Verb, Verdict, View,
    answer::Answer,
    cache::{ByClass, CachedAnswer, ViewSource},
};

use super::{Caller, Rejection, chain::Reasons};

/// Stands for no policy, and for no reason.
const NONE: u32 = u32::MAX;

/// The policies that are asked one verb about every node of a view.
struct JointLookup<'g, A> {
    members: Vec<&'g Arc<Member>>,
    known: Vec<ByClass<A>>,
    combined: Arc<CombinedClasses>,
    /// The number of nodes of the view by combined class.
    nodes: Vec<u32>,
}

/// The totals of all scores.
pub(super) struct ScoreTotals {
    combined: Arc<CombinedClasses>,
    by_class: Vec<u64>,
    /// The weights of all policies that gave scores.
    pub(super) weights: u64,
}

/// How many nodes a policy answered about, and how many it rejected.
#[derive(Clone, Copy, Default)]
struct Count {
    asked: usize,
    rejected: usize,
}

/// The nodes of a view that the filters reject, ascending; `None` if a policy must be called.
pub(super) fn filter(caller: &Caller, group: &Group, view: &View, reasons: &mut Reasons) -> Option<Vec<Rejection>> {
    let started = caller.now();
    let members = group.answering(Mode::Enforce, Verb::Filter, view.pod()).collect();
    let joint = JointLookup::<Verdict>::of(caller, members, group, Verb::Filter, view)?;
    let mut counts = vec![Count::default(); joint.known.len()];
    let mut rejections = vec![(NONE, 0); joint.combined.count()];
    for (class, nodes) in joint.present() {
        for (at, number) in joint.numbers(class).enumerate() {
            let number = number?;
            counts[at].asked += nodes;
            if joint.known[at].answers()[number as usize].rejects() {
                counts[at].rejected += nodes;
                rejections[class] = (at as u32, number);
                break;
            }
        }
    }
    let rejected = joint.rejected(view, &rejections, counts.iter().map(|count| count.rejected).sum(), reasons);
    let reached = |at: usize, class: usize| rejections[class].0 as usize >= at;
    joint.report(caller, Verb::Filter, view, started, &counts, reached);
    Some(rejected)
}

/// The total score of every node of a view; `None` if a policy must be called.
pub(super) fn score(caller: &Caller, group: &Group, view: &View) -> Option<ScoreTotals> {
    let started = caller.now();
    let members: Vec<_> =
        group.answering(Mode::Enforce, Verb::Score, view.pod()).filter(|member| member.config.weight > 0).collect();
    let weights: Vec<u64> = members.iter().map(|member| u64::from(member.config.weight)).collect();
    let joint = JointLookup::<u32>::of(caller, members, group, Verb::Score, view)?;
    let mut by_class = vec![0; joint.combined.count()];
    for (class, _) in joint.present() {
        for (at, number) in joint.numbers(class).enumerate() {
            by_class[class] += weights[at] * u64::from(joint.known[at].answers()[number? as usize]);
        }
    }
    let count = Count { asked: view.node_count(), rejected: 0 };
    joint.report(caller, Verb::Score, view, started, &vec![count; weights.len()], |_, _| true);
    Some(ScoreTotals { combined: joint.combined, by_class, weights: weights.into_iter().sum() })
}

// === impl JointLookup ===

impl<'g, A: Answer + CachedAnswer + Debug> JointLookup<'g, A> {
    fn of(caller: &Caller, members: Vec<&'g Arc<Member>>, group: &Group, verb: Verb, view: &View) -> Option<Self> {
        if members.is_empty() || view.node_count() == 0 {
            return None;
        }
        let source = ViewSource::of(view).with_blocking(caller.blocking());
        let known =
            members.iter().map(|member| A::cache(&member.cache).by_class(&source)).collect::<Option<Vec<_>>>()?;
        let combined = group.combined(verb).get(&known)?;
        let mut nodes = vec![0; combined.count()];
        for slot in view.slots().iter() {
            nodes[combined.class(*slot)] += 1;
        }
        Some(Self { members, known, combined, nodes })
    }

    /// The combined classes that occur in the view, each with its number of nodes.
    fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.iter().enumerate().filter(|(_, nodes)| **nodes > 0).map(|(class, nodes)| (class, *nodes as usize))
    }

    /// The number of each policy's answer about a combined class, if it is known.
    fn numbers(&self, class: usize) -> impl Iterator<Item = Option<u32>> {
        self.known.iter().zip(self.combined.classes(class)).map(|(known, class)| known.number(*class))
    }

    /// The answer of one of the policies about a combined class, if it is cached.
    fn answer(&self, at: usize, class: usize) -> Option<A> {
        let number = self.known[at].number(*self.combined.classes(class).get(at)?)?;
        self.known[at].answers().get(number as usize).cloned()
    }

    /// Reports every policy that answered, and samples answers for a recheck.
    fn report(
        &self,
        caller: &Caller,
        verb: Verb,
        view: &View,
        started: Instant,
        counts: &[Count],
        reached: impl Fn(usize, usize) -> bool,
    ) {
        // The time of each policy is not known.
        let share = caller.now().saturating_duration_since(started) / counts.len() as u32;
        let asked = self.members.iter().zip(counts).enumerate().filter(|(_, (_, count))| count.asked > 0);
        for (at, (member, count)) in asked {
            caller.report_cached(member, verb, (count.asked, count.rejected), share);
            // Every answer here was cached.
            caller.recheck_later(member, verb, view, (count.asked, count.asked), |of_asked| {
                let classes = view.slots().iter().map(|slot| self.combined.class(*slot)).enumerate();
                let (node, class) = classes.filter(|(_, class)| reached(at, *class)).nth(of_asked)?;
                Some((node as u32, self.answer(at, class)?))
            });
        }
    }
}

impl JointLookup<'_, Verdict> {
    /// The rejected nodes, `many` in all; `rejections` has the policy and its answer by combined class.
    fn rejected(&self, view: &View, rejections: &[(u32, u32)], many: usize, reasons: &mut Reasons) -> Vec<Rejection> {
        let none = Rejection { node: 0, reason: NONE, unresolvable: false };
        if many == 0 {
            return Vec::new();
        }
        let by_class: Vec<Rejection> = rejections
            .iter()
            .map(|(at, number)| {
                let Some(known) = self.known.get(*at as usize) else { return none };
                let (reason, unresolvable) = match &known.answers()[*number as usize] {
                    Verdict::Fits => return none,
                    Verdict::Unschedulable(reason) => (reason, false),
                    Verdict::Unresolvable(reason) => (reason, true),
                };
                let reason = reasons.number(&self.members[*at as usize].name, reason);
                Rejection { node: 0, reason, unresolvable }
            })
            .collect();
        // Branch-free, as rejections are unpredictable: every node is written, and the next one overwrites it unless it
        // is rejected.
        let (mut rejected, mut count) = (vec![none; many + 1], 0);
        for (node, slot) in view.slots().iter().enumerate() {
            let rejection = by_class[self.combined.class(*slot)];
            rejected[count] = Rejection { node: node as u32, ..rejection };
            count += usize::from(rejection.reason != NONE);
        }
        rejected.truncate(count);
        rejected
    }
}

// === impl ScoreTotals ===

impl ScoreTotals {
    /// Maps the totals of the nodes at these slots.
    pub(super) fn map<T: Copy>(&self, slots: &[u32], map: impl Fn(u64) -> T) -> Vec<T> {
        let by_class: Vec<T> = self.by_class.iter().map(|total| map(*total)).collect();
        slots.iter().map(|slot| by_class[self.combined.class(*slot)]).collect()
    }
}
