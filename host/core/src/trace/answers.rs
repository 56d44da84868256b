//! Answers about many nodes, each different one kept once.

use std::sync::Arc;

use super::{
    class::Class,
    remembered::{Remembered, Traces},
    trie::Trie,
};
use crate::{Ask, Fault, Policy, Turns, Verdict};

/// An answer that can be remembered.
pub(crate) trait Remember: Clone + PartialEq + Send + Sync + 'static {
    /// Where a policy's answers of this kind are.
    fn of(traces: &Traces) -> &Remembered<Self>;
    /// Asks the policy about one node after another.
    fn ask(policy: &dyn Policy, ask: &Ask, turns: &mut dyn Turns<Self>) -> Result<(), Fault>;
    /// Asks the policy about each of some nodes.
    fn ask_all(policy: &dyn Policy, ask: &Ask, nodes: &[u32]) -> Result<Vec<Self>, Fault>;
    /// Bytes that it holds beside itself.
    fn heap(&self) -> usize;
}

/// One answer for each node: a number, and what the numbers stand for.
#[derive(Debug)]
pub(crate) struct Answers<A> {
    pub(super) class: Option<Arc<Class<A>>>,
    /// What was said in this call; its answers come after those of the class.
    pub(super) new: Arc<Trie<A>>,
    pub(super) which: Vec<u32>,
}

// === impl Answers ===

impl<A: Clone + PartialEq> Answers<A> {
    /// These answers, one for each node.
    pub(crate) fn plain(answers: Vec<A>) -> Self {
        Self { class: None, which: (0..answers.len() as u32).collect(), new: Arc::new(Trie::of_answers(answers)) }
    }

    /// The answer about a node.
    pub(crate) fn of(&self, node: usize) -> Option<&A> {
        let number = *self.which.get(node)? as usize;
        let known = self.class.as_ref().map_or(&[][..], |class| class.answers());
        known.get(number).or_else(|| self.new.answers().get(number - known.len()))
    }

    /// By node: the number of its answer.
    pub(crate) fn which(&self) -> &[u32] {
        &self.which
    }

    /// How many nodes have an answer that is so.
    pub(crate) fn count(&self, is_so: impl Fn(&A) -> bool) -> usize {
        let counts: Vec<bool> = self.distinct().map(is_so).collect();
        if counts.iter().all(|counts| !counts) {
            return 0;
        }
        // A call that failed leaves nodes without an answer.
        self.which.iter().filter(|which| counts.get(**which as usize).copied().unwrap_or_default()).count()
    }

    /// What the numbers stand for, in their order; not every one needs to be some node's.
    pub(crate) fn distinct(&self) -> impl Iterator<Item = &A> {
        self.class.iter().flat_map(|class| class.answers()).chain(self.new.answers())
    }
}

impl Remember for Verdict {
    fn of(traces: &Traces) -> &Remembered<Self> {
        &traces.filter
    }

    fn ask(policy: &dyn Policy, ask: &Ask, turns: &mut dyn Turns<Self>) -> Result<(), Fault> {
        policy.filter_in_turn(ask, turns)
    }

    fn ask_all(policy: &dyn Policy, ask: &Ask, nodes: &[u32]) -> Result<Vec<Self>, Fault> {
        policy.filter(ask, nodes)
    }

    fn heap(&self) -> usize {
        match self {
            Self::Fits => 0,
            Self::Unschedulable(reason) | Self::Unresolvable(reason) => reason.len(),
        }
    }
}

impl Remember for u32 {
    fn of(traces: &Traces) -> &Remembered<Self> {
        &traces.score
    }

    fn ask(policy: &dyn Policy, ask: &Ask, turns: &mut dyn Turns<Self>) -> Result<(), Fault> {
        policy.score_in_turn(ask, turns)
    }

    fn ask_all(policy: &dyn Policy, ask: &Ask, nodes: &[u32]) -> Result<Vec<Self>, Fault> {
        policy.score(ask, nodes)
    }

    fn heap(&self) -> usize {
        0
    }
}
