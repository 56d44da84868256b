//! The feasible nodes, which no policy has rejected yet: by combined class as long as all answers follow from classes,
//! else one by one.

use std::{borrow::Cow, sync::Arc};

use plimsoll_decision_cache::CombinedClasses;

use crate::{
    Blocking, Fault, FaultKind, Member, View,
    answer::VerbAnswer,
    cache::{CachedAnswer, Evaluated, RecentCombined, RowAnswers, RowClassAnswers, ViewSource},
};

/// The nodes of a view that no policy has rejected yet.
pub(super) enum FeasibleNodes {
    /// All nodes of each combined class that is feasible.
    ByClass(FeasibleClasses),
    /// Indices of nodes.
    ByNode(Vec<u32>),
}

/// The number of feasible nodes in each combined class: all that the view has of it, or none.
pub(super) struct FeasibleClasses {
    combined: Arc<CombinedClasses>,
    node_counts: Vec<u32>,
}

/// A policy, and the answers that its cache has by class.
pub(super) struct PolicyLookup<'g, A> {
    pub(super) member: &'g Arc<Member>,
    pub(super) cached: Option<CachedByClass<A>>,
}

/// Answers by class of nodes.
pub(super) struct CachedByClass<A> {
    /// The column of these classes among those that are combined.
    pub(super) column: usize,
    pub(super) answers: RowClassAnswers<A>,
}

/// The answers of a policy about the feasible nodes.
pub(super) enum PolicyAnswers<A> {
    ByClass(CachedByClass<A>),
    /// One for each feasible node.
    ByNode(RowAnswers<A>),
}

// === impl PolicyLookup ===

impl<'g, A: CachedAnswer> PolicyLookup<'g, A> {
    /// Looks up the answers of all these policies about the nodes of a view.
    pub(super) fn of_all(
        blocking: Blocking,
        members: impl Iterator<Item = &'g Arc<Member>>,
        recent: &RecentCombined,
        all: &View,
    ) -> (Vec<Self>, FeasibleNodes) {
        let source = ViewSource::of(all).with_blocking(blocking);
        let mut columns = 0;
        let mut cached = |member: &Member| {
            let answers = A::cache(&member.cache).lookup_by_row_class(&source)?;
            columns += 1;
            Some(CachedByClass { column: columns - 1, answers })
        };
        let lookups: Vec<Self> = members.map(|member| Self { member, cached: cached(member) }).collect();
        let by_class: Vec<_> = lookups.iter().filter_map(|lookup| Some(&lookup.cached.as_ref()?.answers)).collect();
        let feasible = match recent.get(&by_class) {
            Some(combined) => FeasibleNodes::ByClass(FeasibleClasses::of(combined, all)),
            None => FeasibleNodes::all(all),
        };
        (lookups, feasible)
    }
}

// === impl PolicyAnswers ===

impl<A: CachedAnswer> PolicyAnswers<A> {
    /// The answers of an evaluation, and the number of nodes that they reject. An evaluation by class is by this column
    /// of these classes.
    ///
    /// # Errors
    /// [`uncovered`].
    pub(super) fn of(
        evaluated: Evaluated<A>,
        classes: Option<(usize, &FeasibleClasses)>,
    ) -> Result<(Self, usize), Fault> {
        match (evaluated, classes) {
            (Evaluated::ByRow(answers), _) => {
                let rejected = answers.count(VerbAnswer::rejects);
                Ok((Self::ByNode(answers), rejected))
            }
            (Evaluated::ByRowClass(answers), Some((column, classes))) => {
                let answers = CachedByClass { column, answers };
                let rejected = classes.rejected(&answers).ok_or_else(uncovered)?;
                Ok((Self::ByClass(answers), rejected))
            }
            (Evaluated::ByRowClass(_), None) => Err(uncovered()),
        }
    }
}

// === impl FeasibleNodes ===

impl FeasibleNodes {
    /// All nodes of a view, one by one.
    pub(super) fn all(all: &View) -> Self {
        Self::ByNode((0..all.node_count() as u32).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::ByClass(classes) => classes.present().next().is_none(),
            Self::ByNode(nodes) => nodes.is_empty(),
        }
    }

    /// The number of nodes.
    pub(super) fn node_count(&self) -> usize {
        match self {
            Self::ByClass(classes) => classes.node_count(),
            Self::ByNode(nodes) => nodes.len(),
        }
    }

    /// The indices of the nodes in the view.
    pub(super) fn nodes(&self, all: &View) -> Cow<'_, [u32]> {
        match self {
            Self::ByClass(classes) => classes.nodes(all).map(|(node, _)| node).collect(),
            Self::ByNode(nodes) => nodes.into(),
        }
    }
}

// === impl FeasibleClasses ===

impl FeasibleClasses {
    pub(super) fn of(combined: Arc<CombinedClasses>, all: &View) -> Self {
        let mut node_counts = vec![0_u32; combined.count()];
        let (by_slot, counts) = (combined.by_row(), node_counts.as_mut_slice());
        for slot in all.slots().iter() {
            counts[by_slot[*slot as usize] as usize] += 1;
        }
        Self { combined, node_counts }
    }

    /// The number of combined classes, of no node included.
    pub(super) fn class_count(&self) -> usize {
        self.node_counts.len()
    }

    /// The combined classes whose nodes are feasible, and the number of nodes of each.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        let counts = self.node_counts.iter().enumerate();
        counts.filter(|(_, nodes)| **nodes > 0).map(|(class, nodes)| (class, *nodes as usize))
    }

    /// The number of feasible nodes.
    pub(super) fn node_count(&self) -> usize {
        self.node_counts.iter().map(|nodes| *nodes as usize).sum()
    }

    /// The class by the policy with this column that a combined class stands for.
    pub(super) fn node_class(&self, class: usize, column: usize) -> u32 {
        self.combined.row_classes(class)[column]
    }

    /// The combined class of the node at each slot.
    pub(super) fn by_slot(&self) -> &[u32] {
        self.combined.by_row()
    }

    /// Drops a class, whose nodes were rejected.
    pub(super) fn reject(&mut self, class: usize) {
        self.node_counts[class] = 0;
    }

    /// Each feasible class, its number of nodes, and the answer about it.
    pub(super) fn answers<'c, A: CachedAnswer>(
        &'c self,
        CachedByClass { column, answers }: &'c CachedByClass<A>,
    ) -> impl Iterator<Item = (usize, usize, Option<&'c A>)> {
        let answer = move |class| answers.answer(answers.number_of(self.node_class(class, *column))?);
        self.present().map(move |(class, nodes)| (class, nodes, answer(class)))
    }

    /// The number of nodes that these answers reject; `None` if one answer is not known.
    pub(super) fn rejected<A: CachedAnswer>(&self, answers: &CachedByClass<A>) -> Option<usize> {
        let mut rejected = 0;
        for (_, nodes, answer) in self.answers(answers) {
            rejected += if answer?.rejects() { nodes } else { 0 };
        }
        Some(rejected)
    }

    /// The feasible nodes, with their slots, ascending.
    pub(super) fn nodes(&self, all: &View) -> impl Iterator<Item = (u32, u32)> {
        let is_feasible = |(_, slot): &(usize, &u32)| self.node_counts[self.combined.of_row(**slot)] > 0;
        all.slots().iter().enumerate().filter(is_feasible).map(|(node, slot)| (node as u32, *slot))
    }
}

/// Checks that there is an answer for each of these nodes, which are feasible one by one.
///
/// # Errors
/// [`uncovered`].
pub(super) fn check_covered<A: CachedAnswer>(answers: &RowAnswers<A>, nodes: usize) -> Result<(), Fault> {
    if answers.is_complete() && answers.numbers().len() == nodes { Ok(()) } else { Err(uncovered()) }
}

/// The answers of a call must cover every feasible node, by class or one by one. If they do not, plimsoll is at fault,
/// and the decision fails: a node without an answer must not pass a filter.
pub(super) fn uncovered() -> Fault {
    Fault::new(FaultKind::Host, "a feasible node was left without an answer, by a bug of plimsoll")
}
