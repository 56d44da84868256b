//! The filter chain: policies in order, each asked about the nodes that all earlier ones accepted.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use crate::{
    Fault, Member, Verdict, View,
    cache::{Evaluated, RowAnswers},
    one_line,
};

use super::{
    Rejection,
    feasible::{FeasibleClasses, FeasibleNodes, check_covered, uncovered},
};

/// The reasons of one reply, each text once.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    texts: Vec<Box<str>>,
    /// The numbers of the texts, by their hashes.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// The filters so far: which nodes they have rejected, and which are feasible.
pub(super) struct Chain<'c> {
    pub(super) feasible: FeasibleNodes,
    reasons: &'c mut Reasons,
    /// The rejection of each combined class, as long as nodes are feasible by class.
    by_class: Vec<Option<Rejection>>,
    /// The rejected nodes, by index in the list of nodes.
    rejected: Vec<Rejection>,
}

// === impl Chain ===

impl<'c> Chain<'c> {
    /// No node of these is rejected.
    pub(super) fn new(feasible: FeasibleNodes, reasons: &'c mut Reasons) -> Self {
        let classes = if let FeasibleNodes::ByClass(classes) = &feasible { classes.count() } else { 0 };
        Self { feasible, reasons, by_class: vec![None; classes], rejected: Vec::new() }
    }

    /// Rejects by the answers of a policy about the feasible nodes of the view `all`. Answers by class are by a column
    /// of the combined classes.
    ///
    /// # Errors
    /// [`uncovered`].
    pub(super) fn apply(
        &mut self,
        member: &Member,
        answers: &Evaluated<Verdict>,
        column: Option<usize>,
        all: &View,
    ) -> Result<(), Fault> {
        match (answers, &mut self.feasible, column) {
            (Evaluated::ByRowClass(answers), FeasibleNodes::ByClass(classes), Some(column)) => {
                let mut rejections = Vec::new();
                for (class, _, verdict) in classes.answers(column, answers) {
                    let rejection = self.reasons.rejection(member, verdict.ok_or_else(uncovered)?);
                    rejections.extend(rejection.map(|rejection| (class, rejection)));
                }
                for (class, rejection) in rejections {
                    self.by_class[class] = Some(rejection);
                    classes.reject(class);
                }
                Ok(())
            }
            (Evaluated::ByRow(answers), ..) => {
                self.split(all);
                self.apply_by_node(member, answers)
            }
            (Evaluated::ByRowClass(_), ..) => Err(uncovered()),
        }
    }

    /// The rejected nodes.
    pub(super) fn finish(self, all: &View) -> Vec<Rejection> {
        match &self.feasible {
            FeasibleNodes::ByClass(classes) => rejected(classes, &self.by_class, all),
            FeasibleNodes::ByNode(_) => self.rejected,
        }
    }

    /// From here on nodes are feasible one by one.
    fn split(&mut self, all: &View) {
        let FeasibleNodes::ByClass(classes) = &self.feasible else { return };
        self.rejected = rejected(classes, &self.by_class, all);
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
        let mut rejections: Vec<Option<Rejection>> = vec![None; distinct.len()];
        let is_feasible = |(node, number): &(&u32, &u32)| {
            let number = **number as usize;
            let rejection = rejections[number].or_else(|| self.reasons.rejection(member, distinct[number]));
            rejections[number] = rejection;
            self.rejected.extend(rejection.map(|rejection| Rejection { node: **node, ..rejection }));
            rejection.is_none()
        };
        *nodes = nodes.iter().zip(verdicts.numbers()).filter(is_feasible).map(|(node, _)| *node).collect();
        Ok(())
    }
}

/// The nodes of the classes that are rejected.
fn rejected(classes: &FeasibleClasses, by_class: &[Option<Rejection>], all: &View) -> Vec<Rejection> {
    /// Stands for no reason.
    const NONE: Rejection = Rejection { node: 0, reason: u32::MAX, unresolvable: false };
    let many = all.node_count() - classes.node_count();
    if many == 0 {
        return Vec::new();
    }
    let by_class: Vec<Rejection> = by_class.iter().map(|rejection| rejection.unwrap_or(NONE)).collect();
    // Branch-free, as rejections are unpredictable: every node is written, and the next one overwrites it unless it
    // is rejected.
    let (mut rejected, mut count) = (vec![NONE; many + 1], 0);
    let (by_slot, by_class) = (classes.by_slot(), by_class.as_slice());
    for (node, slot) in all.slots().iter().enumerate() {
        let rejection = by_class[by_slot[*slot as usize] as usize];
        rejected[count] = Rejection { node: node as u32, ..rejection };
        count += usize::from(rejection.reason != NONE.reason);
    }
    rejected.truncate(count);
    rejected
}

// === impl Reasons ===

impl Reasons {
    /// The rejection of a node by this verdict; `None` if it fits.
    fn rejection(&mut self, member: &Member, verdict: &Verdict) -> Option<Rejection> {
        let (reason, unresolvable) = match verdict {
            Verdict::Fits => return None,
            Verdict::Unschedulable(reason) => (reason, false),
            Verdict::Unresolvable(reason) => (reason, true),
        };
        Some(Rejection { node: 0, reason: self.number(&member.name, reason), unresolvable })
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
