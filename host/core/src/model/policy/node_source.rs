//! The nodes that a policy is asked about in one call, one after another.

use crate::model::{
    Fault, FaultKind, View,
    answer::{DistinctReasons, VerbAnswer},
};

/// Names the nodes that a policy is asked about, one after another, and takes its answers.
pub trait NodeSource<A> {
    /// The next node, an index of the view; none when there are no more.
    fn next(&mut self) -> Option<u32>;
    /// Takes the answer about the node that was named last.
    fn answer(&mut self, answer: A);
}

/// A list of nodes as a source, which collects the answers.
#[derive(Debug)]
pub(crate) struct NodeList<'n, A> {
    nodes: std::slice::Iter<'n, u32>,
    answers: Vec<A>,
    reasons: DistinctReasons,
    /// The reasons are too large; the call ends.
    breach: Option<String>,
}

/// Tells the view about which node the policy is asked next.
pub(crate) struct ViewedNodes<'a, S> {
    nodes: &'a mut S,
    view: &'a View,
}

// === impl NodeList ===

impl<'n, A: VerbAnswer> NodeList<'n, A> {
    /// The answers of a call about these nodes.
    ///
    /// # Errors
    /// As for the call, or if its reasons are too large.
    pub(crate) fn collect(
        nodes: &'n [u32],
        call: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<Vec<A>, Fault> {
        let answers = Vec::with_capacity(nodes.len());
        let mut list = Self { nodes: nodes.iter(), answers, reasons: DistinctReasons::default(), breach: None };
        call(&mut list)?;
        match list.breach {
            Some(detail) => Err(Fault::new(FaultKind::Output, detail)),
            None => Ok(list.answers),
        }
    }
}

impl<A: VerbAnswer> NodeSource<A> for NodeList<'_, A> {
    fn next(&mut self) -> Option<u32> {
        if self.breach.is_some() { None } else { self.nodes.next().copied() }
    }

    fn answer(&mut self, mut answer: A) {
        match self.reasons.share(&mut answer) {
            Ok(()) => self.answers.push(answer),
            Err(detail) => self.breach = Some(detail),
        }
    }
}

// === impl ViewedNodes ===

impl<'a, S> ViewedNodes<'a, S> {
    pub(crate) fn new(nodes: &'a mut S, view: &'a View) -> Self {
        Self { nodes, view }
    }
}

impl<A, S: NodeSource<A>> NodeSource<A> for ViewedNodes<'_, S> {
    fn next(&mut self) -> Option<u32> {
        self.nodes.next().inspect(|node| self.view.ask_about(*node))
    }

    fn answer(&mut self, answer: A) {
        self.nodes.answer(answer);
    }
}
