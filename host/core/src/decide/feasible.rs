//! The nodes that no policy has rejected yet, in groups that no policy so far tells apart.

use std::sync::Arc;

use plimsoll_decision_cache::CombinedClasses;

use crate::{
    cache::{Answers, CachedAnswer},
    model::{Fault, FaultKind, View, answer::VerbAnswer},
};

/// The nodes of a view in groups, each with a value: the combined classes of all policies, as long as all answers follow
/// from classes, else each node by itself.
pub(super) struct FeasibleNodes<V> {
    /// The classes that the groups are; none if each node is a group.
    classes: Option<Arc<CombinedClasses>>,
    /// The number of feasible nodes in each group: all that the view has of it, or none.
    node_counts: Vec<u32>,
    /// The value of each group, of rejected ones too.
    values: Vec<V>,
}

/// The answers of a policy about the feasible nodes.
pub(super) struct PolicyAnswers<A> {
    pub(super) answers: Answers<A>,
    /// The number of the answer about each group with feasible nodes, or about each feasible node, in their order.
    pub(super) numbers: Vec<u32>,
    /// Whether the numbers are of groups.
    pub(super) is_by_class: bool,
}

// === impl FeasibleNodes ===

impl<V: Copy + Default> FeasibleNodes<V> {
    /// All nodes of a view, by these classes or one by one.
    pub(super) fn all(classes: Option<Arc<CombinedClasses>>, all: &View) -> Self {
        let node_counts = match &classes {
            None => vec![1; all.node_count()],
            Some(classes) => {
                let mut counts = vec![0_u32; classes.count()];
                all.slots().iter().for_each(|slot| counts[classes.by_row()[*slot as usize] as usize] += 1);
                counts
            }
        };
        Self { classes, values: vec![V::default(); node_counts.len()], node_counts }
    }

    /// Some nodes of a view, one by one.
    pub(super) fn some(nodes: &[u32], all: &View) -> Self {
        let mut node_counts = vec![0; all.node_count()];
        for node in nodes {
            node_counts[*node as usize] = 1;
        }
        Self { classes: None, values: vec![V::default(); node_counts.len()], node_counts }
    }

    /// The classes that the groups are; none if each node is a group.
    pub(super) fn classes(&self) -> Option<&CombinedClasses> {
        self.classes.as_deref()
    }

    /// The groups with feasible nodes, and the number of these.
    pub(super) fn present(&self) -> impl Iterator<Item = (usize, usize)> {
        let groups = self.node_counts.iter().map(|nodes| *nodes as usize).enumerate();
        groups.filter(|(_, nodes)| *nodes > 0)
    }

    /// The number of feasible nodes.
    pub(super) fn node_count(&self) -> usize {
        self.present().map(|(_, nodes)| nodes).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.present().next().is_none()
    }

    /// The feasible nodes, by their index in the view, each with its group.
    pub(super) fn nodes(&self, all: &View) -> Vec<(u32, usize)> {
        let is_feasible = |(_, group): &(u32, usize)| self.node_counts[*group] > 0;
        match &self.classes {
            None => (0..).zip(0..self.node_counts.len()).filter(is_feasible).collect(),
            Some(classes) => {
                let group = |slot: &u32| classes.by_row()[*slot as usize] as usize;
                (0..).zip(all.slots().iter().map(group)).filter(is_feasible).collect()
            }
        }
    }

    /// Each node becomes a group by itself.
    pub(super) fn split(&mut self, all: &View) {
        let is_feasible: Vec<u32> = self.node_counts.iter().map(|nodes| u32::from(*nodes > 0)).collect();
        let (node_counts, values) = (self.by_node(all, &is_feasible), self.by_node(all, &self.values));
        (self.classes, self.node_counts, self.values) = (None, node_counts, values);
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
        all: &View,
        mut change: impl FnMut(&mut V, usize) -> bool,
    ) -> Result<(), Fault> {
        if !answers.is_by_class && self.classes.is_some() {
            self.split(all);
        }
        let distinct = answers.answers.count();
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

    /// The value of each group.
    pub(super) fn values(&self) -> &[V] {
        &self.values
    }

    /// The value of each group, to be changed.
    pub(super) fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// For each node of the view what there is for its group.
    pub(super) fn by_node<T: Copy>(&self, all: &View, by_group: &[T]) -> Vec<T> {
        match &self.classes {
            None => by_group.to_vec(),
            Some(classes) => {
                let by_row = classes.by_row();
                all.slots().iter().map(|slot| by_group[by_row[*slot as usize] as usize]).collect()
            }
        }
    }
}

// === impl PolicyAnswers ===

impl<A: CachedAnswer> PolicyAnswers<A> {
    /// One answer for each feasible node.
    pub(super) fn plain(answers: Vec<A>) -> Self {
        let numbers = (0..answers.len() as u32).collect();
        Self { answers: Answers::plain(answers), numbers, is_by_class: false }
    }

    /// The number of these feasible nodes that the answers reject.
    pub(super) fn rejected<V: Copy + Default>(&self, nodes: &FeasibleNodes<V>) -> usize {
        let rejects: Vec<bool> = self.answers.iter().map(VerbAnswer::rejects).collect();
        if !rejects.contains(&true) {
            return 0;
        }
        let is_rejected = |number: &u32| rejects.get(*number as usize).copied().unwrap_or_default();
        if !self.is_by_class {
            return self.numbers.iter().filter(|number| is_rejected(number)).count();
        }
        let groups = self.numbers.iter().zip(nodes.present());
        groups.filter(|(number, _)| is_rejected(number)).map(|(_, (_, nodes))| nodes).sum()
    }
}

fn uncovered() -> Fault {
    Fault::new(FaultKind::Host, "a feasible node was left without an answer, by a bug of plimsoll")
}
