//! The filter chain: policies in order, each asked about the nodes that all earlier ones accepted.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{Fault, Member, Verdict, View, cache::RowAnswers, one_line};

use super::{
    Rejection,
    feasible::{CachedByClass, FeasibleClasses, FeasibleNodes, PolicyAnswers, check_covered, uncovered},
};

/// The reasons of one reply, each text once.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    texts: Vec<Box<str>>,
    /// The numbers of the texts, by their hashes.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Why a node is rejected: the number of the text, and whether preemption cannot help.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reason {
    number: u32,
    unresolvable: bool,
}

/// The filters so far: which nodes they have rejected, and which are feasible.
pub(super) struct Chain<'c> {
    pub(super) feasible: FeasibleNodes,
    reasons: &'c mut Reasons,
    /// The index in the request of each node of the view; `None` where it is the same.
    request_indices: Option<&'c [u32]>,
    /// Why each combined class is rejected, as long as nodes are feasible by class.
    by_class: Vec<Option<Reason>>,
    rejected: Vec<Rejection>,
}

// === impl Chain ===

impl<'c> Chain<'c> {
    /// No node of these is rejected.
    pub(super) fn new(feasible: FeasibleNodes, reasons: &'c mut Reasons, request_indices: Option<&'c [u32]>) -> Self {
        let classes = if let FeasibleNodes::ByClass(classes) = &feasible { classes.class_count() } else { 0 };
        Self { feasible, reasons, request_indices, by_class: vec![None; classes], rejected: Vec::new() }
    }

    /// Rejects by the answers of a policy about the feasible nodes of the view `all`.
    ///
    /// # Errors
    /// [`uncovered`].
    pub(super) fn apply(&mut self, member: &Member, answers: &PolicyAnswers<Verdict>, all: &View) -> Result<(), Fault> {
        match answers {
            PolicyAnswers::ByClass(verdicts) => self.apply_by_class(member, verdicts),
            PolicyAnswers::ByNode(verdicts) => {
                self.split(all);
                self.apply_by_node(member, verdicts)
            }
        }
    }

    /// The rejected nodes.
    pub(super) fn finish(self, all: &View) -> Vec<Rejection> {
        match &self.feasible {
            FeasibleNodes::ByClass(classes) => self.rejected_by_class(classes, all),
            FeasibleNodes::ByNode(_) => self.rejected,
        }
    }

    fn apply_by_class(&mut self, member: &Member, verdicts: &CachedByClass<Verdict>) -> Result<(), Fault> {
        let FeasibleNodes::ByClass(classes) = &mut self.feasible else { return Err(uncovered()) };
        let mut rejected = Vec::new();
        for (class, _, verdict) in classes.answers(verdicts) {
            let reason = self.reasons.of(member, verdict.ok_or_else(uncovered)?);
            rejected.extend(reason.map(|reason| (class, reason)));
        }
        for (class, reason) in rejected {
            self.by_class[class] = Some(reason);
            classes.reject(class);
        }
        Ok(())
    }

    /// From here on nodes are feasible one by one.
    fn split(&mut self, all: &View) {
        let FeasibleNodes::ByClass(classes) = &self.feasible else { return };
        self.rejected = self.rejected_by_class(classes, all);
        self.feasible = FeasibleNodes::ByNode(self.feasible.nodes(all).into_owned());
    }

    fn apply_by_node(&mut self, member: &Member, verdicts: &RowAnswers<Verdict>) -> Result<(), Fault> {
        let FeasibleNodes::ByNode(nodes) = &mut self.feasible else { return Err(uncovered()) };
        check_covered(verdicts, nodes.len())?;
        // A policy has few reasons for many nodes: each text is made once.
        let distinct: Vec<&Verdict> = verdicts.distinct().collect();
        if distinct.iter().all(|verdict| **verdict == Verdict::Fits) {
            return Ok(());
        }
        let mut reasons: Vec<Option<Reason>> = vec![None; distinct.len()];
        let is_feasible = |(node, number): &(&u32, &u32)| {
            let number = **number as usize;
            let reason = reasons[number].or_else(|| self.reasons.of(member, distinct[number]));
            reasons[number] = reason;
            let index = || self.request_indices.map_or(**node, |indices| indices[**node as usize]);
            self.rejected.extend(reason.map(|reason| reason.rejection(index())));
            reason.is_none()
        };
        *nodes = nodes.iter().zip(verdicts.numbers()).filter(is_feasible).map(|(node, _)| *node).collect();
        Ok(())
    }

    /// The nodes of the classes that are rejected.
    fn rejected_by_class(&self, classes: &FeasibleClasses, all: &View) -> Vec<Rejection> {
        match self.request_indices {
            None => rejected(classes, &self.by_class, all, |node| node),
            Some(indices) => rejected(classes, &self.by_class, all, |node| indices[node as usize]),
        }
    }
}

/// The nodes of the classes that are rejected, by their index in the request.
fn rejected(
    classes: &FeasibleClasses,
    by_class: &[Option<Reason>],
    all: &View,
    request_index: impl Fn(u32) -> u32,
) -> Vec<Rejection> {
    const NONE: Reason = Reason { number: u32::MAX, unresolvable: false };
    let many = all.node_count() - classes.node_count();
    if many == 0 {
        return Vec::new();
    }
    let by_class: Vec<Reason> = by_class.iter().map(|reason| reason.unwrap_or(NONE)).collect();
    // Branch-free, as rejections are unpredictable: every node is written, and the next one overwrites it unless it
    // is rejected.
    let (mut rejected, mut count) = (vec![NONE.rejection(0); many + 1], 0);
    let (by_slot, by_class) = (classes.by_slot(), by_class.as_slice());
    for (node, slot) in all.slots().iter().enumerate() {
        let reason = by_class[by_slot[*slot as usize] as usize];
        rejected[count] = reason.rejection(request_index(node as u32));
        count += usize::from(reason.number != NONE.number);
    }
    rejected.truncate(count);
    rejected
}

// === impl Reason ===

impl Reason {
    /// The rejection of a node, by its index in the request.
    const fn rejection(self, node: u32) -> Rejection {
        Rejection { node, reason: self.number, unresolvable: self.unresolvable }
    }
}

// === impl Reasons ===

impl Reasons {
    /// The reason of this verdict; `None` if the node fits.
    fn of(&mut self, member: &Member, verdict: &Verdict) -> Option<Reason> {
        let (text, unresolvable) = match verdict {
            Verdict::Fits => return None,
            Verdict::Unschedulable(text) => (text, false),
            Verdict::Unresolvable(text) => (text, true),
        };
        Some(Reason { number: self.number(&member.name, text), unresolvable })
    }

    /// The number of `policy: reason`.
    pub(super) fn number(&mut self, policy: &str, reason: &str) -> u32 {
        let text = reason_text(policy, reason);
        let Self { texts, numbers, hasher } = self;
        let hash = hasher.hash_one(&text);
        if let Some(number) = numbers.find(hash, |number| texts[*number as usize] == text) {
            return *number;
        }
        let number = texts.len() as u32;
        texts.push(text);
        numbers.insert_unique(hash, number, |number| hasher.hash_one(&texts[*number as usize]));
        number
    }

    pub(super) fn get(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    pub(super) fn into_texts(self) -> Vec<Box<str>> {
        self.texts
    }
}

/// `policy: reason` on one line, and never without a reason.
pub(super) fn reason_text(policy: &str, reason: &str) -> Box<str> {
    let reason = one_line(reason);
    match reason.trim() {
        "" => [policy, ": no reason given"].concat().into(),
        reason => [policy, ": ", reason].concat().into(),
    }
}
