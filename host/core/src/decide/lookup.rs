//! The nodes that no policy has rejected yet, and the answers of a policy about them: what its cache knows, and a call
//! about the rest.

use std::sync::Arc;

use plimsoll_decision_cache::{CombinedClasses, Evaluated, MISS};

use super::Caller;
use crate::{
    cache::{Answers, CachedAnswer, Evaluation, Lookup, RecentCombined},
    decide::Member,
    model::{
        Fault, FaultKind, NodeSource, Recording, Verb, View, ViewSource,
        answer::{DistinctReasons, VerbAnswer},
        policy::NodeList,
    },
};

/// The nodes of a view in groups, each with a value: the combined classes of all policies, as long as all answers follow
/// from classes, else each node by itself.
pub(super) struct FeasibleNodes<V> {
    /// The classes that the groups are; none if each node is a group.
    classes: Option<Arc<CombinedClasses>>,
    /// The group of each node of the view.
    groups: Vec<u32>,
    /// The number of feasible nodes in each group: all that the view has of it, or none.
    node_counts: Vec<u32>,
    /// The value of each group, of rejected ones too.
    pub(super) values: Vec<V>,
}

/// A policy, and what its cache knows about the pod.
pub(super) struct PolicyLookup<'g, A> {
    pub(super) member: &'g Arc<Member>,
    lookup: Lookup<A>,
    /// The column of its classes of nodes among those that are combined.
    column: Option<usize>,
}

/// The answers of a policy about the feasible nodes.
pub(super) struct PolicyAnswers<A> {
    pub(super) answers: Answers<A>,
    /// The number of the answer about each group with feasible nodes, or about each feasible node, in their order.
    pub(super) numbers: Vec<u32>,
    /// Whether the numbers are of groups.
    pub(super) is_by_group: bool,
}

/// An evaluation that ends at the first answer that breaks the contract.
struct CheckedSource<'e, A: CachedAnswer> {
    evaluation: &'e mut Evaluation<A>,
    reasons: DistinctReasons,
    breach: Option<String>,
}

// === impl FeasibleNodes ===

impl<V: Copy + Default> FeasibleNodes<V> {
    /// All of this many nodes, each by itself.
    pub(super) fn one_by_one(count: usize) -> Self {
        let (groups, values) = ((0..count as u32).collect(), vec![V::default(); count]);
        Self { classes: None, groups, node_counts: vec![1; count], values }
    }

    /// All nodes of a view.
    fn by_class(classes: Arc<CombinedClasses>, all: &View) -> Self {
        let groups: Vec<u32> = all.slots().iter().map(|slot| classes.by_row[*slot as usize]).collect();
        let mut node_counts = vec![0; classes.count()];
        for group in &groups {
            node_counts[*group as usize] += 1;
        }
        Self { values: vec![V::default(); classes.count()], classes: Some(classes), groups, node_counts }
    }

    /// The groups with feasible nodes, and the number of these.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        let groups = self.node_counts.iter().map(|nodes| *nodes as usize).enumerate();
        groups.filter(|(_, nodes)| *nodes > 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present().next().is_none()
    }

    /// The feasible nodes, by their index in the view, each with its group.
    fn nodes(&self) -> Vec<(u32, u32)> {
        let nodes = (0..).zip(self.groups.iter().copied());
        nodes.filter(|(_, group)| self.node_counts[*group as usize] > 0).collect()
    }

    /// Each node becomes a group by itself.
    pub(super) fn split(&mut self) {
        if self.classes.is_some() {
            let is_feasible: Vec<u32> = self.node_counts.iter().map(|nodes| u32::from(*nodes > 0)).collect();
            let (node_counts, values) = (self.by_node(&is_feasible), self.by_node(&self.values));
            *self = Self { node_counts, values, ..Self::one_by_one(self.groups.len()) };
        }
    }

    /// Changes the value of each group by the number of the policy's answer about it. A group for which `change` returns
    /// false is rejected.
    ///
    /// # Errors
    /// If there is no answer about a group: plimsoll is at fault, and the decision fails, since a node without an answer
    /// must not pass a filter.
    pub(super) fn apply<A: CachedAnswer>(
        &mut self,
        answers: &PolicyAnswers<A>,
        mut change: impl FnMut(&mut V, usize) -> bool,
    ) -> Result<(), Fault> {
        if !answers.is_by_group {
            self.split();
        }
        let distinct = answers.answers.count();
        let detail = "a feasible node was left without an answer, by a bug of plimsoll";
        let uncovered = || Fault::new(FaultKind::Host, detail);
        let mut numbers = answers.numbers.iter().map(|number| *number as usize);
        let groups = self.node_counts.iter_mut().zip(&mut self.values).filter(|(nodes, _)| **nodes > 0);
        for (nodes, value) in groups {
            let number = numbers.next().filter(|number| *number < distinct).ok_or_else(uncovered)?;
            if !change(value, number) {
                *nodes = 0;
            }
        }
        numbers.next().map_or(Ok(()), |_| Err(uncovered()))
    }

    /// For each node of the view what there is for its group.
    pub(super) fn by_node<T: Copy>(&self, by_group: &[T]) -> Vec<T> {
        self.groups.iter().map(|group| by_group[*group as usize]).collect()
    }
}

// === impl PolicyLookup ===

impl<'g, A: CachedAnswer> PolicyLookup<'g, A> {
    /// Looks a pod up for one policy, which is asked about each node by itself.
    pub(super) fn of(member: &'g Arc<Member>, source: &ViewSource) -> Self {
        Self { member, lookup: A::cache(&member.cache).lookup(source), column: None }
    }

    /// Looks the pod of a view up for all these policies. The nodes of the view are in classes that no policy tells apart,
    /// if these are known.
    pub(super) fn of_all<V: Copy + Default>(
        members: impl Iterator<Item = &'g Arc<Member>>,
        recent: &RecentCombined,
        all: &View,
    ) -> (Vec<Self>, FeasibleNodes<V>) {
        let source = ViewSource::of(all);
        let mut lookups: Vec<Self> = members.map(|member| Self::of(member, &source)).collect();
        let with_classes = lookups.iter_mut().filter(|each| each.lookup.has_row_classes());
        with_classes.enumerate().for_each(|(column, each)| each.column = Some(column));
        let nodes = match recent.get(lookups.iter().map(|each| &each.lookup)) {
            Some(classes) => FeasibleNodes::by_class(classes, all),
            None => FeasibleNodes::one_by_one(all.node_count()),
        };
        (lookups, nodes)
    }
}

// === impl Caller ===

impl Caller {
    /// The answers of a policy about the feasible nodes of the view `all`. It is called about those that its cache does
    /// not know, and sees only the feasible nodes.
    pub(super) fn answers<A: CachedAnswer, V: Copy + Default>(
        &self,
        policy: PolicyLookup<'_, A>,
        verb: Verb,
        all: &View,
        nodes: &FeasibleNodes<V>,
    ) -> Result<PolicyAnswers<A>, Fault> {
        let PolicyLookup { member, lookup, column } = policy;
        let (began, slot) = (self.now(), |(node, _): &(u32, u32)| all.slots()[*node as usize]);
        let classes = column.zip(nodes.classes.as_deref());
        let mut numbers: Vec<u32> = if let Some((column, classes)) = classes {
            let class_of = |group| classes.row_classes(group)[column];
            nodes.present().map(|(group, _)| lookup.number_of(class_of(group))).collect()
        } else if lookup.is_cacheable() {
            lookup.numbers(&ViewSource::of(all), nodes.nodes().iter().map(slot))
        } else {
            let feasible = nodes.nodes();
            let view = all.of_some(feasible.iter().map(slot), feasible.len());
            let ask_guest =
                |ask: &_, nodes: &[u32]| NodeList::collect(nodes, |nodes| A::ask(member.policy.as_ref(), ask, nodes));
            return Ok(PolicyAnswers::plain(self.ask(member, verb, view, ask_guest)?));
        };
        if !numbers.contains(&MISS) {
            let answers = PolicyAnswers { answers: lookup.into_answers(), numbers, is_by_group: classes.is_some() };
            let asked = nodes.present().map(|(_, nodes)| nodes).sum();
            self.report(all.pod(), member, verb, (began, began), Ok((asked, answers.rejected(nodes), 0)));
            return Ok(answers);
        }
        let feasible = nodes.nodes();
        // The position of a node that stands for its group. Without classes each node stands for itself.
        let representatives: Vec<u32> = if classes.is_some() {
            let mut last = vec![MISS; nodes.node_counts.len()];
            (0..).zip(&feasible).for_each(|(position, (_, group))| last[*group as usize] = position);
            nodes.present().map(|(group, _)| last[group]).collect()
        } else {
            (0..feasible.len() as u32).collect()
        };
        let is_missed = |(number, _): &(&u32, &u32)| **number == MISS;
        let mut misses: Vec<u32> = numbers.iter().zip(&representatives).filter(is_missed).map(|(_, at)| *at).collect();
        misses.sort_unstable();
        let view = all.of_some(feasible.iter().map(slot), feasible.len());
        let (source, slots) = (ViewSource::of(all), Arc::clone(view.slots()));
        let mut evaluation = Evaluation::new(lookup, source, slots, misses, classes.is_some());
        let view = Arc::new(member.view_of(view, verb).recorded(Recording::of(evaluation.log())));
        // The time that the host's lookup took until here is not charged to the guest.
        let guest_began = self.now();
        let reasons = DistinctReasons::default();
        let mut source = CheckedSource { evaluation: &mut evaluation, reasons, breach: None };
        let ask_guest = |ask: &_| A::ask(member.policy.as_ref(), ask, &mut source);
        let result = self.call_guest(member, verb, Arc::clone(&view), guest_began, ask_guest);
        let result = result.and_then(|()| source.finish());
        let (asked, evaluated) = (view.node_count(), evaluation.evaluated());
        let Evaluated { answers, numbers: by_position, is_of_misses, update } = evaluation.finish();
        if let Some(update) = update {
            let (member, observer) = (Arc::clone(member), Arc::clone(&self.observer));
            self.defer(move || {
                if let Err(why) = A::cache(&member.cache).insert(&update) {
                    observer.cache_disabled(&member, verb, why);
                }
            });
        }
        let result = result.map(|()| {
            if is_of_misses {
                for (number, at) in numbers.iter_mut().zip(&representatives).filter(|(number, _)| **number == MISS) {
                    *number = by_position[*at as usize];
                }
            } else {
                numbers = by_position;
            }
            PolicyAnswers { answers, numbers, is_by_group: is_of_misses && classes.is_some() }
        });
        let outcome = result.as_ref().map(|answers| (asked, answers.rejected(nodes), evaluated));
        self.report(view.pod(), member, verb, (began, guest_began), outcome);
        result
    }
}

// === impl PolicyAnswers ===

impl<A: CachedAnswer> PolicyAnswers<A> {
    /// One answer for each feasible node.
    pub(super) fn plain(answers: Vec<A>) -> Self {
        let numbers = (0..answers.len() as u32).collect();
        Self { answers: Answers::plain(answers), numbers, is_by_group: false }
    }

    /// The number of these feasible nodes that the answers reject.
    fn rejected<V: Copy + Default>(&self, nodes: &FeasibleNodes<V>) -> usize {
        let rejects: Vec<bool> = self.answers.iter().map(VerbAnswer::rejects).collect();
        if !rejects.contains(&true) {
            return 0;
        }
        let is_rejected = |number: &u32| rejects.get(*number as usize).copied().unwrap_or_default();
        if !self.is_by_group {
            return self.numbers.iter().filter(|number| is_rejected(number)).count();
        }
        let groups = self.numbers.iter().zip(nodes.present());
        groups.filter(|(number, _)| is_rejected(number)).map(|(_, (_, nodes))| nodes).sum()
    }
}

// === impl CheckedSource ===

impl<A: CachedAnswer> CheckedSource<'_, A> {
    /// # Errors
    /// If an answer breaks the contract, or one is missing.
    fn finish(self) -> Result<(), Fault> {
        match self.breach {
            Some(detail) => Err(Fault::new(FaultKind::Output, detail)),
            None if self.evaluation.is_complete() => Ok(()),
            None => Err(Fault::new(FaultKind::Output, "it did not answer about every node")),
        }
    }
}

impl<A: CachedAnswer> NodeSource<A> for CheckedSource<'_, A> {
    fn next(&mut self) -> Option<u32> {
        if self.breach.is_some() { None } else { self.evaluation.next_miss() }
    }

    fn answer(&mut self, mut answer: A) {
        self.breach = answer.breach().or_else(|| self.reasons.share(&mut answer).err());
        if self.breach.is_none() {
            self.evaluation.record_answer(answer);
        }
    }
}
