//! The statements of an answer about the nodes of a view.

use std::{collections::HashMap, sync::Arc, time::Instant};

use plimsoll_core::{DistinctReasons, Fault, FaultKind, MAX_SCORE, Verdict, View, excerpt};
use serde::de::Error;

use super::{
    fault::{output_fault, shown},
    parts::AnswerList,
};

/// The highest score of an extender; the scores of policies go up to [`MAX_SCORE`].
const MAX_EXTENDER_SCORE: u32 = 10;

/// Maximum bytes of the program's error that a message quotes.
const QUOTED_ERROR: usize = 400;

/// Values of JSON between two checks of the clock: a value has at most [`MAX_TOKEN`](super::scan::MAX_TOKEN) bytes beside
/// those within it.
const VALUES_BETWEEN_CHECKS: usize = 8;

/// An answer as far as it was read.
pub(super) struct Statements<'v> {
    /// The first node of each name: a statement is about all nodes of that name.
    by_name: HashMap<&'v str, usize>,
    names: Vec<&'v str>,
    /// In the order of the view.
    nodes: Vec<AboutNode>,
    /// The node that was named last.
    latest: Option<usize>,
    /// The score that was read last; its host may follow.
    latest_score: i64,
    /// Whether the answer has whole nodes: they win over names.
    has_objects: bool,
    /// The reasons so far: equal ones are one text, and all together are bounded.
    reasons: DistinctReasons,
    fault: Option<Fault>,
    /// The end of the program's time.
    deadline: Instant,
    /// Values of JSON that were read.
    values: usize,
}

#[derive(Clone, Default)]
struct AboutNode {
    /// A bit for each [`AnswerList`] that names the node.
    lists: u8,
    failed: Option<Arc<str>>,
    unresolvable: Option<Arc<str>>,
    score: u32,
}

// === impl Statements ===

impl<'v> Statements<'v> {
    pub(super) fn about(view: &'v View, deadline: Instant) -> Self {
        let name = |node| view.node_name(node).map_or("", AsRef::as_ref);
        let names: Vec<&str> = (0..view.node_count() as u32).map(name).collect();
        let mut by_name = HashMap::with_capacity(names.len());
        for (node, name) in names.iter().enumerate() {
            by_name.entry(*name).or_insert(node);
        }
        Self {
            by_name,
            nodes: vec![AboutNode::default(); names.len()],
            names,
            latest: None,
            latest_score: 0,
            has_objects: false,
            reasons: DistinctReasons::default(),
            fault: None,
            deadline,
            values: 0,
        }
    }

    /// Counts a value of the answer before it is parsed, also one that is passed over, and checks the clock now and then.
    ///
    /// # Errors
    /// If the time is over.
    pub(super) fn next_value<E: Error>(&mut self) -> Result<(), E> {
        self.values += 1;
        if self.values.is_multiple_of(VALUES_BETWEEN_CHECKS) && Instant::now() >= self.deadline {
            return Err(E::custom("its time is over"));
        }
        Ok(())
    }

    pub(super) const fn note_objects(&mut self) {
        self.has_objects = true;
    }

    /// Ends the parser with a fault that is about a node.
    pub(super) fn stop(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// The fault that ended the parser; `None` if the output is no such JSON.
    pub(super) fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// A list names a node.
    pub(super) fn name(&mut self, list: AnswerList, name: &str) -> Result<(), Fault> {
        let Some(node) = self.by_name.get(name).copied() else {
            return Err(output_fault(&format!(
                "{} names node '{}', which is not in the request",
                list.as_str(),
                shown(name)
            )));
        };
        if self.nodes[node].is_in(list) {
            return Err(output_fault(&format!("node '{}' is in {} twice", shown(name), list.as_str())));
        }
        self.nodes[node].lists |= bit(list);
        self.latest = Some(node);
        Ok(())
    }

    /// The reason for the node that was named last.
    pub(super) fn reason(&mut self, list: AnswerList, reason: &str) -> Result<(), Fault> {
        if let Some(node) = self.latest {
            let reason = self.reasons.keep(reason).map_err(|breach| output_fault(&breach))?;
            let about = &mut self.nodes[node];
            let kept = if list == AnswerList::Failed { &mut about.failed } else { &mut about.unresolvable };
            *kept = Some(reason);
        }
        Ok(())
    }

    pub(super) const fn score(&mut self, score: i64) {
        self.latest_score = score;
    }

    /// The end of an entry with the host and the score that were read last.
    pub(super) fn scored(&mut self) -> Result<(), Fault> {
        let (Some(node), score) = (self.latest, self.latest_score) else { return Ok(()) };
        let in_range = u32::try_from(score).ok().filter(|score| *score <= MAX_EXTENDER_SCORE);
        let Some(score) = in_range else {
            let host = shown(self.names[node]);
            let detail = format!("node '{host}' has the score {score}; expected 0 to {MAX_EXTENDER_SCORE}");
            return Err(output_fault(&detail));
        };
        self.nodes[node].score = score * (MAX_SCORE / MAX_EXTENDER_SCORE);
        Ok(())
    }

    /// The program's error; an empty one is none.
    pub(super) fn error(error: &str) -> Result<(), Fault> {
        if error.is_empty() {
            return Ok(());
        }
        let detail = format!("it answered with the error '{}'", excerpt(error, QUOTED_ERROR));
        Err(Fault::new(FaultKind::Panic, detail))
    }

    /// The verdicts in the order of the view.
    pub(super) fn verdicts(self) -> Result<Vec<Verdict>, Fault> {
        let kept_in = if self.has_objects { AnswerList::Nodes } else { AnswerList::Names };
        let mut verdicts: Vec<Verdict> = Vec::with_capacity(self.nodes.len());
        for (name, about) in self.names.iter().zip(self.nodes) {
            let known = self.by_name.get(name).and_then(|first| verdicts.get(*first)).cloned();
            verdicts.push(known.map_or_else(|| about.verdict(name, kept_in), Ok)?);
        }
        Ok(verdicts)
    }

    /// The scores in the order of the view.
    pub(super) fn scores(self) -> Vec<u32> {
        let first = |name: &&str| self.by_name.get(name).and_then(|first| self.nodes.get(*first));
        self.names.iter().map(|name| first(name).map_or(0, |about| about.score)).collect()
    }
}

// === impl AboutNode ===

impl AboutNode {
    const fn is_in(&self, list: AnswerList) -> bool {
        self.lists & bit(list) != 0
    }

    fn verdict(self, name: &str, kept_in: AnswerList) -> Result<Verdict, Fault> {
        let (name, list, is_kept) = (shown(name), kept_in.as_str(), self.is_in(kept_in));
        // As kube-scheduler has it, the second map wins over the first.
        let rejected = match (self.failed, self.unresolvable) {
            (_, Some(reason)) => Some(Verdict::Unresolvable(reason)),
            (Some(reason), None) => Some(Verdict::Unschedulable(reason)),
            (None, None) => None,
        };
        match (rejected, is_kept) {
            (None, true) => Ok(Verdict::Fits),
            (Some(rejected), false) => Ok(rejected),
            (Some(_), true) => Err(output_fault(&format!("node '{name}' is both in {list} and among the failed ones"))),
            (None, false) => Err(output_fault(&format!(
                "node '{name}' is neither in {list} nor in FailedNodes nor in FailedAndUnresolvableNodes; each node of the request belongs in one of them"
            ))),
        }
    }
}

const fn bit(list: AnswerList) -> u8 {
    1 << list as u8
}
