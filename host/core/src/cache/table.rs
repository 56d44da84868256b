//! The decision table that a policy has shown so far.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use plimsoll_decision_cache::{Answer, AnswerCache, Branch, DecisionTree, Fingerprint};

use crate::model::{Attribute, Cluster, FactAccess, Shown, SurveyAnswer, View, ViewSource, excerpt};

/// The most rows of a table.
const MAX_ROWS: usize = 1_000;

/// Maximum bytes of a read as it is shown: a guest may ask for a key of a megabyte.
const MAX_READ_BYTES: usize = 500;

/// The most values that one condition lists.
const MAX_VALUES: usize = 20;

/// The answers of a policy to one verb, as far as it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionTable {
    /// The rows; where values do not matter they are merged.
    pub rows: Vec<DecisionRow>,
    /// The number of rows beyond the maximum, which are not listed.
    pub truncated: usize,
    /// The number of pod classes whose answers cannot be cached.
    pub uncacheable: usize,
}

/// If all conditions hold, this is the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// In the order of the reads.
    pub conditions: Vec<Condition>,
    /// The verdict with its reason, or the score.
    pub answer: SurveyAnswer,
}

/// Holds if the value that was read is one of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The read, as the contract writes it.
    pub read: Arc<str>,
    /// The values that were seen.
    pub values: Vec<Shown>,
    /// The number of values beyond those listed.
    pub more: usize,
}

/// A step of the table: the next read with its branches, or the answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    Answer(SurveyAnswer),
    Read(Arc<str>, Vec<(BTreeSet<Shown>, Tree)>),
}

// === impl DecisionTable ===

impl DecisionTable {
    /// The cached answers in words; values of nodes are looked up in this cluster.
    pub(crate) fn of<A: Answer + Into<SurveyAnswer>>(
        cache: &AnswerCache<ViewSource, A>,
        cluster: &Arc<Cluster>,
    ) -> Self {
        let view = View::new(Arc::default(), Arc::clone(cluster), Arc::default(), 0);
        let mut table = Self::default();
        let tree = cache.decision_tree(&ViewSource::of(&view));
        if let Some(tree) = tree.and_then(|tree| in_words(tree, &mut table.uncacheable)) {
            table.add(&tree, &mut Vec::new());
        }
        table
    }

    /// The table with the policy's names of the sources.
    pub(crate) fn into_shown(mut self, facts: &FactAccess) -> Self {
        for condition in self.rows.iter_mut().flat_map(|row| &mut row.conditions) {
            if let Cow::Owned(own) = facts.in_words_of_policy(&condition.read) {
                condition.read = own.into();
            }
        }
        self
    }

    fn add(&mut self, tree: &Tree, conditions: &mut Vec<Condition>) {
        match tree {
            Tree::Answer(_) if self.rows.len() == MAX_ROWS => self.truncated += 1,
            Tree::Answer(answer) => {
                self.rows.push(DecisionRow { conditions: conditions.clone(), answer: answer.clone() });
            }
            Tree::Read(read, branches) => {
                for (values, next) in branches {
                    let shown: Vec<Shown> = values.iter().take(MAX_VALUES).cloned().collect();
                    let more = values.len() - shown.len();
                    conditions.push(Condition { read: read.clone(), values: shown, more });
                    self.add(next, conditions);
                    conditions.pop();
                }
            }
        }
    }
}

/// A tree with values instead of fingerprints; `uncacheable` counts where answers are not cached.
fn in_words<A: Answer + Into<SurveyAnswer>>(
    tree: DecisionTree<ViewSource, A>,
    uncacheable: &mut usize,
) -> Option<Tree> {
    match tree {
        DecisionTree::Answer(answer) => Some(Tree::Answer(answer.into())),
        DecisionTree::Uncacheable => {
            *uncacheable += 1;
            None
        }
        DecisionTree::Read(attribute, branches) => {
            let in_words = |Branch { fingerprint, value, next }| {
                Some((shown(&attribute, fingerprint, value), in_words(next, uncacheable)?))
            };
            let branches: Vec<_> = branches.into_iter().filter_map(in_words).collect();
            (!branches.is_empty()).then(|| merged(excerpt(&attribute.to_string(), MAX_READ_BYTES).into(), branches))
        }
    }
}

fn shown(attribute: &Attribute, fingerprint: Fingerprint, value: Option<Shown>) -> Shown {
    match fingerprint.as_number() {
        Some(number) if attribute.is_record() => Shown::Note(format!("record {number}").into()),
        Some(number) => Shown::of_number(number, attribute.is_flag()),
        None if fingerprint == Fingerprint::ABSENT => Shown::Absent,
        None => value.unwrap_or_else(|| Shown::Note("a value that no node has now".into())),
    }
}

/// Branches that lead to the same are one; a read whose branches all do does not matter.
fn merged(read: Arc<str>, branches: Vec<(Shown, Tree)>) -> Tree {
    let mut by_tree: Vec<(BTreeSet<Shown>, Tree)> = Vec::new();
    for (value, tree) in branches {
        match by_tree.iter_mut().find(|(_, own)| *own == tree) {
            Some((values, _)) => drop(values.insert(value)),
            None => by_tree.push((BTreeSet::from([value]), tree)),
        }
    }
    by_tree.sort();
    match by_tree.len() {
        1 if by_tree[0].0.len() > 1 => by_tree.swap_remove(0).1,
        _ => Tree::Read(read, by_tree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{NodeRead, Read, Value};

    #[test]
    fn a_condition_on_a_yes_or_no_names_it() {
        let attribute = Attribute::of_node(Read::Node(0, NodeRead::Unschedulable)).unwrap();
        assert_eq!(shown(&attribute, Fingerprint::of_number(1), None), Shown::Flag(true));
        let attribute = Attribute::of_node(Read::PlacedCount(0)).unwrap();
        assert_eq!(shown(&attribute, Fingerprint::of_number(1), None), Shown::of(&Value::Number(1), 9));
    }

    #[test]
    fn a_table_says_how_many_rows_it_does_not_list() {
        let branch = |number: i64| (BTreeSet::from([Shown::Number(number)]), Tree::Answer(SurveyAnswer::Score(1)));
        let pair = |number| (BTreeSet::from([Shown::Absent]), Tree::Read("b".into(), vec![branch(number), branch(-1)]));
        for (rows, truncated) in [(MAX_ROWS, 0), (MAX_ROWS + 20, 20)] {
            let branches = (0..rows as i64 / 2).map(pair).collect();
            let mut table = DecisionTable::default();
            table.add(&Tree::Read("a".into(), branches), &mut Vec::new());
            assert_eq!((table.rows.len(), table.truncated), (MAX_ROWS, truncated));
        }
    }
}
