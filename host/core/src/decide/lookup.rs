//! The answers of a policy about the feasible nodes: what its cache knows, and a call about the rest.

use std::{sync::Arc, time::Instant};

use plimsoll_decision_cache::{Evaluated, MISS};

use super::{
    Caller,
    feasible::{FeasibleNodes, PolicyAnswers},
};
use crate::{
    cache::{CachedAnswer, Evaluation, RecentCombined, RowClassAnswers},
    decide::Member,
    model::{
        Fault, FaultKind, NodeSource, Recording, Verb, View, ViewSource, answer::DistinctReasons, policy::NodeList,
    },
};

/// A policy, and the answers that its cache has by class of nodes.
pub(super) struct PolicyLookup<'g, A> {
    pub(super) member: &'g Arc<Member>,
    pub(super) by_class: Option<ByClass<A>>,
}

/// Answers by class of nodes.
pub(super) struct ByClass<A> {
    /// The column of these classes among those that are combined.
    column: usize,
    answers: RowClassAnswers<A>,
}

/// The nodes that a policy has to be asked about.
struct Misses<A: CachedAnswer> {
    view: View,
    evaluation: Evaluation<A>,
    /// The groups of nodes that have one answer each; none if each node has its own.
    groups: Option<Groups>,
}

/// Groups of nodes in their order.
struct Groups {
    /// The numbers of the cached answers; [`MISS`] where there is none.
    numbers: Vec<u32>,
    /// The position of a node that stands for the others.
    representatives: Vec<u32>,
}

/// An evaluation that ends at the first answer that breaks the contract.
struct CheckedSource<'e, A: CachedAnswer> {
    evaluation: &'e mut Evaluation<A>,
    reasons: DistinctReasons,
    breach: Option<String>,
}

// === impl PolicyLookup ===

impl<'g, A: CachedAnswer> PolicyLookup<'g, A> {
    /// Looks up the answers of all these policies about the nodes of a view.
    pub(super) fn of_all<V: Copy + Default>(
        members: impl Iterator<Item = &'g Arc<Member>>,
        recent: &RecentCombined,
        all: &View,
    ) -> (Vec<Self>, FeasibleNodes<V>) {
        let source = ViewSource::of(all);
        let mut columns = 0;
        let mut by_class = |member: &Member| {
            let answers = A::cache(&member.cache).lookup_by_row_class(&source)?;
            columns += 1;
            Some(ByClass { column: columns - 1, answers })
        };
        let lookups: Vec<Self> = members.map(|member| Self { member, by_class: by_class(member) }).collect();
        let of_classes: Vec<_> = lookups.iter().filter_map(|lookup| Some(&lookup.by_class.as_ref()?.answers)).collect();
        let classes = recent.get(&of_classes);
        (lookups, FeasibleNodes::all(classes, all))
    }
}

// === impl Caller ===

impl Caller {
    /// The answers of a policy about the feasible nodes of the view `all`. It is called about those that its cache does
    /// not know, and sees only the feasible nodes.
    pub(super) fn answers<A: CachedAnswer, V: Copy + Default>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        all: &View,
        nodes: &FeasibleNodes<V>,
        by_class: Option<ByClass<A>>,
    ) -> Result<PolicyAnswers<A>, Fault> {
        let (began, source) = (self.now(), ViewSource::of(all));
        let cached = |answers, numbers, is_by_class| {
            let answers = PolicyAnswers { answers, numbers, is_by_class };
            let outcome = (nodes.node_count(), answers.rejected(nodes), 0);
            self.report(all.pod(), member, verb, (began, began), Ok(outcome));
            Ok(answers)
        };
        let slot = |(node, _): &(u32, usize)| all.slots()[*node as usize];
        let Some((ByClass { column, answers }, classes)) = by_class.zip(nodes.classes()) else {
            let feasible = nodes.nodes(all);
            let lookup = A::cache(&member.cache).lookup(&source, feasible.iter().map(slot));
            let view = all.of_some(feasible.iter().map(slot), feasible.len());
            if !lookup.is_cacheable() {
                let ask_guest = |ask: &_, nodes: &[u32]| {
                    NodeList::collect(nodes, |nodes| A::ask(member.policy.as_ref(), ask, nodes))
                };
                return Ok(PolicyAnswers::plain(self.ask(member, verb, view, ask_guest)?));
            }
            if lookup.is_complete() {
                let (answers, numbers) = lookup.into_answers();
                return cached(answers, numbers, false);
            }
            let evaluation = Evaluation::of_rows(lookup, source, Arc::clone(view.slots()));
            return self.ask_about_misses(member, verb, nodes, Misses { view, evaluation, groups: None }, began);
        };
        let class_of = |group| classes.row_classes(group)[column];
        let numbers: Vec<u32> = nodes.present().map(|(group, _)| answers.number_of(class_of(group))).collect();
        if !numbers.contains(&MISS) {
            return cached(answers.answers(), numbers, true);
        }
        let feasible = nodes.nodes(all);
        let mut last = vec![MISS; classes.count()];
        (0..).zip(&feasible).for_each(|(position, (_, group))| last[*group] = position);
        let representatives = nodes.present().map(|(group, _)| last[group]).collect();
        let groups = Groups { numbers, representatives };
        let view = all.of_some(feasible.iter().map(slot), feasible.len());
        let evaluation = Evaluation::of_row_classes(answers, source, Arc::clone(view.slots()), groups.misses());
        self.ask_about_misses(member, verb, nodes, Misses { view, evaluation, groups: Some(groups) }, began)
    }

    fn ask_about_misses<A: CachedAnswer, V: Copy + Default>(
        &self,
        member: &Arc<Member>,
        verb: Verb,
        nodes: &FeasibleNodes<V>,
        misses: Misses<A>,
        began: Instant,
    ) -> Result<PolicyAnswers<A>, Fault> {
        let Misses { view, mut evaluation, groups } = misses;
        let recording = Recording::of(evaluation.log());
        let view = Arc::new(member.view_of(view, verb).recorded(recording));
        // The time that the host's lookup took until here is not charged to the guest.
        let guest_began = self.now();
        let reasons = DistinctReasons::default();
        let mut source = CheckedSource { evaluation: &mut evaluation, reasons, breach: None };
        let ask_guest = |ask: &_| A::ask(member.policy.as_ref(), ask, &mut source);
        let result = self.call_guest(member, verb, Arc::clone(&view), guest_began, ask_guest);
        let result = result.and_then(|()| source.finish());
        let (asked, evaluated) = (view.node_count(), evaluation.evaluated());
        let Evaluated { answers, numbers, is_by_class, update } = evaluation.finish();
        if let Some(update) = update {
            let (member, observer) = (Arc::clone(member), Arc::clone(self.observer()));
            self.defer(move || {
                if let Err(why) = A::cache(&member.cache).insert(&update) {
                    observer.cache_disabled(&member, verb, why);
                }
            });
        }
        let result = result.map(|()| {
            let groups = groups.filter(|_| is_by_class);
            let numbers = if let Some(groups) = groups { groups.with_evaluated(&numbers) } else { numbers };
            PolicyAnswers { answers, numbers, is_by_class }
        });
        let outcome = result.as_ref().map(|answers| (asked, answers.rejected(nodes), evaluated));
        self.report(view.pod(), member, verb, (began, guest_began), outcome);
        result
    }
}

// === impl Groups ===

impl Groups {
    /// The representatives of the groups without an answer, ascending.
    fn misses(&self) -> Vec<u32> {
        let pairs = self.numbers.iter().zip(&self.representatives);
        let mut misses: Vec<u32> = pairs.filter(|(number, _)| **number == MISS).map(|(_, at)| *at).collect();
        misses.sort_unstable();
        misses
    }

    /// The numbers of the answers of all groups, some from those by position that were evaluated.
    fn with_evaluated(mut self, by_position: &[u32]) -> Vec<u32> {
        for (number, at) in self.numbers.iter_mut().zip(&self.representatives).filter(|(number, _)| **number == MISS) {
            *number = by_position[*at as usize];
        }
        self.numbers
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
