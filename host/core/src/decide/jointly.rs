//! All policies at once, where what they say is remembered: worked out once for each combined class of node.

use std::{fmt::Debug, sync::Arc, time::Instant};

use plimsoll_decision_cache::CombinedClasses;

use crate::{
    Group, Member, Mode, Verb, Verdict, View,
    answer::Answer,
    cache::{ByClass, CachedAnswer, ViewSource},
};

use super::{Caller, Rejection, chain::Reasons};

/// No refusal.
const FITS: u32 = u32::MAX;

/// The policies that are asked one verb about every node of a view.
struct Together<'g, A> {
    members: Vec<&'g Arc<Member>>,
    known: Vec<ByClass<A>>,
    combined: Arc<CombinedClasses>,
    /// By combined class, how many nodes of the view are of it.
    nodes: Vec<u32>,
}

/// The totals of all scores.
pub(super) struct Totals {
    combined: Arc<CombinedClasses>,
    by_class: Vec<u64>,
    /// The weights of all policies that gave scores.
    pub(super) weights: u64,
}

/// How many nodes a policy was asked about, and how many it turned down.
#[derive(Clone, Copy, Default)]
struct Count {
    asked: usize,
    rejected: usize,
}

/// What the filters say about every node of a view, by ascending node; none where a policy must be asked.
pub(super) fn filter(caller: &Caller, group: &Group, view: &View, reasons: &mut Reasons) -> Option<Vec<Rejection>> {
    let started = caller.now();
    let members = group.answering(Mode::Enforce, Verb::Filter, view.pod()).collect();
    let together = Together::<Verdict>::of(caller, members, group, Verb::Filter, view)?;
    let mut counts = vec![Count::default(); together.known.len()];
    let mut refusals = vec![(FITS, 0); together.combined.count()];
    for (class, nodes) in together.present() {
        for (at, number) in together.numbers(class).enumerate() {
            let number = number?;
            counts[at].asked += nodes;
            if together.known[at].answers()[number as usize].rejects() {
                counts[at].rejected += nodes;
                refusals[class] = (at as u32, number);
                break;
            }
        }
    }
    let refused = together.refused(view, &refusals, counts.iter().map(|count| count.rejected).sum(), reasons);
    let reached = |at: usize, class: usize| refusals[class].0 as usize >= at;
    together.tell(caller, Verb::Filter, view, started, &counts, reached);
    Some(refused)
}

/// What the policies' scores come to for every node of a view; none where a policy must be asked.
pub(super) fn score(caller: &Caller, group: &Group, view: &View) -> Option<Totals> {
    let started = caller.now();
    let members: Vec<_> =
        group.answering(Mode::Enforce, Verb::Score, view.pod()).filter(|member| member.config.weight > 0).collect();
    let weights: Vec<u64> = members.iter().map(|member| u64::from(member.config.weight)).collect();
    let together = Together::<u32>::of(caller, members, group, Verb::Score, view)?;
    let mut by_class = vec![0; together.combined.count()];
    for (class, _) in together.present() {
        for (at, number) in together.numbers(class).enumerate() {
            by_class[class] += weights[at] * u64::from(together.known[at].answers()[number? as usize]);
        }
    }
    let count = Count { asked: view.node_count(), rejected: 0 };
    together.tell(caller, Verb::Score, view, started, &vec![count; weights.len()], |_, _| true);
    Some(Totals { combined: together.combined, by_class, weights: weights.into_iter().sum() })
}

// === impl Together ===

impl<'g, A: Answer + CachedAnswer + Debug> Together<'g, A> {
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

    /// The combined classs that nodes of the view are of, each with their number.
    fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        self.nodes.iter().enumerate().filter(|(_, nodes)| **nodes > 0).map(|(class, nodes)| (class, *nodes as usize))
    }

    /// The number of each policy's answer about a combined class, if it is known.
    fn numbers(&self, class: usize) -> impl Iterator<Item = Option<u32>> {
        self.known.iter().zip(self.combined.classes(class)).map(|(known, class)| known.number(*class))
    }

    /// What one of the policies says about a combined class, if that is known.
    fn answer(&self, at: usize, class: usize) -> Option<A> {
        let number = self.known[at].number(*self.combined.classes(class).get(at)?)?;
        self.known[at].answers().get(number as usize).cloned()
    }

    /// Tells of every policy that was asked, and has some of the answers asked for again.
    fn tell(
        &self,
        caller: &Caller,
        verb: Verb,
        view: &View,
        started: Instant,
        counts: &[Count],
        reached: impl Fn(usize, usize) -> bool,
    ) {
        // Which of them took how long cannot be told.
        let share = caller.now().saturating_duration_since(started) / counts.len() as u32;
        let asked = self.members.iter().zip(counts).enumerate().filter(|(_, (_, count))| count.asked > 0);
        for (at, (member, count)) in asked {
            caller.tell_remembered(member, verb, (count.asked, count.rejected), share);
            // Every answer that was given here was remembered.
            caller.recheck_later(member, verb, view, (count.asked, count.asked), |of_asked| {
                let classs = view.slots().iter().map(|slot| self.combined.class(*slot)).enumerate();
                let (node, class) = classs.filter(|(_, class)| reached(at, *class)).nth(of_asked)?;
                Some((node as u32, self.answer(at, class)?))
            });
        }
    }
}

impl Together<'_, Verdict> {
    /// The nodes that are turned down, which are so many; `refusals` has by combined class the policy and its answer.
    fn refused(&self, view: &View, refusals: &[(u32, u32)], many: usize, reasons: &mut Reasons) -> Vec<Rejection> {
        let none = Rejection { node: 0, reason: FITS, unresolvable: false };
        if many == 0 {
            return Vec::new();
        }
        let by_class: Vec<Rejection> = refusals
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
        // Which nodes are refused follows no pattern that a processor could foretell: each is put down, and the
        // next one over it unless it was refused.
        let (mut refused, mut count) = (vec![none; many + 1], 0);
        for (node, slot) in view.slots().iter().enumerate() {
            let refusal = by_class[self.combined.class(*slot)];
            refused[count] = Rejection { node: node as u32, ..refusal };
            count += usize::from(refusal.reason != FITS);
        }
        refused.truncate(count);
        refused
    }
}

// === impl Totals ===

impl Totals {
    /// What a total comes to, for each of the nodes at these slots.
    pub(super) fn map<T: Copy>(&self, slots: &[u32], map: impl Fn(u64) -> T) -> Vec<T> {
        let by_class: Vec<T> = self.by_class.iter().map(|total| map(*total)).collect();
        slots.iter().map(|slot| by_class[self.combined.class(*slot)]).collect()
    }
}
