//! The decision table that a policy has shown so far.

use std::{collections::BTreeSet, sync::Arc};

use super::{answers::Remember, class::Class, column::Column, key::Key, path::Path, remembered::Remembered};
use crate::{Cluster, Shown, SurveyAnswer, View};

/// The most rows of a table.
const MAX_ROWS: usize = 1_000;

/// The most values that one condition lists.
const MAX_VALUES: usize = 20;

/// What a policy answers to one verb, as far as it was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecisionTable {
    /// The rows; where values do not matter they are merged.
    pub rows: Vec<DecisionRow>,
    /// Whether there are more.
    pub is_cut: bool,
    /// Kinds of pods that the policy is asked about each time.
    pub asked_each_time: usize,
}

/// If all conditions hold, this is the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// In the order of the reads.
    pub conditions: Vec<Condition>,
    /// The verdict with its reason, or the score.
    pub answer: SurveyAnswer,
}

/// What was read is one of these values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The read, as the contract writes it.
    pub read: String,
    /// The values that were seen.
    pub values: Vec<Shown>,
    /// How many more there are.
    pub more: usize,
}

/// A step of the table: the next read with its branches, or the answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    Answer(SurveyAnswer),
    Read(String, Vec<(BTreeSet<Shown>, Tree)>),
}

// === impl Remembered ===

impl<A: Remember + Into<SurveyAnswer>> Remembered<A> {
    /// What is remembered, in words; values of nodes are looked up in this cluster.
    pub(crate) fn decision_table(&self, cluster: &Arc<Cluster>) -> DecisionTable {
        let (request, classes) = self.classes();
        let asked_each_time = classes.iter().filter(|class| class.each_time).count();
        let slots = (0..cluster.slots().len() as u32).collect();
        let words = Words { view: View::new(Arc::default(), Arc::clone(cluster), slots, 0) };
        let trees = classes.iter().filter(|class| !class.each_time).filter_map(|class| {
            let values = request.iter().map(ToString::to_string).zip(class.of.iter().cloned());
            Some((values.collect::<Vec<_>>(), words.tree(class)?))
        });
        let trees: Vec<_> = trees.collect();
        let mut table = DecisionTable { asked_each_time, ..DecisionTable::default() };
        if let Some(tree) = by_request(trees, 0) {
            table.add(&tree, &mut Vec::new());
        }
        table
    }
}

/// Classes as one tree: the reads of the pod and the time come first.
fn by_request(classes: Vec<(Vec<(String, Shown)>, Tree)>, depth: usize) -> Option<Tree> {
    let (first, _) = classes.first()?;
    let Some((read, _)) = first.get(depth) else { return classes.into_iter().next().map(|(_, tree)| tree) };
    let read = read.clone();
    let mut by_value: Vec<(Shown, Vec<_>)> = Vec::new();
    for class in classes {
        let value = class.0[depth].1.clone();
        match by_value.iter_mut().find(|(own, _)| *own == value) {
            Some((_, group)) => group.push(class),
            None => by_value.push((value, vec![class])),
        }
    }
    let branches = by_value.into_iter().filter_map(|(value, group)| Some((value, by_request(group, depth + 1)?)));
    Some(merged(read, branches.collect()))
}

/// Branches that lead to the same are one; a read whose branches all do does not matter.
fn merged(read: String, branches: Vec<(Shown, Tree)>) -> Tree {
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

/// Turns keys into what they stand for.
struct Words {
    /// Every slot of the cluster is the node of the same number.
    view: View,
}

// === impl Words ===

impl Words {
    fn tree<A: Remember + Into<SurveyAnswer>>(&self, class: &Class<A>) -> Option<Tree> {
        let columns: Vec<_> = class.paths.iter().map(|path| self.view.known_column(path)).collect();
        let value = |path: u32, key: Key| {
            let (path, column) = (&class.paths[path as usize], columns[path as usize].as_deref());
            self.value(path, column, key)
        };
        class.trie.fold(&|answer: &A| Tree::Answer(answer.clone().into()), &|path, branches| {
            let branches = branches.into_iter().map(|(key, tree)| (value(path, key), tree));
            merged(class.paths[path as usize].to_string(), branches.collect())
        })
    }

    fn value(&self, path: &Path, column: Option<&Column>, key: Key) -> Shown {
        if let Some(number) = key.as_number() {
            let record = || Shown::Note(format!("record {number}").into());
            return if path.is_record() { record() } else { Shown::Number(number) };
        }
        if key == Key::absent() {
            return Shown::Absent;
        }
        let at = column.and_then(|column| column.keys_by_slot().position(|own| own == Some(key)));
        let gone = || Shown::Note("a value that no node has now".into());
        at.map_or_else(gone, |slot| path.shown(&self.view, slot as u32))
    }
}

// === impl DecisionTable ===

impl DecisionTable {
    fn add(&mut self, tree: &Tree, conditions: &mut Vec<Condition>) {
        if self.rows.len() == MAX_ROWS {
            self.is_cut = true;
            return;
        }
        match tree {
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
