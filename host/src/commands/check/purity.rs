//! `plimsoll check --purity`: does an answer depend only on the values read, and not on earlier calls?
//!
//! A rank is one answer about all nodes of a fresh instance, so it is asked twice, and it is never cached.

use std::{collections::BTreeSet, sync::Arc};

use plimsoll_core::{Cluster, Fault, Pod, Verb, read_for};
use serde_json::{Value, json};

use super::trial::Callee;
use crate::sample;

/// Maximum number of differences in the text for people.
const SHOWN_DIFFERENCES: usize = 3;

/// The finding about one verb on the sample cluster.
pub(super) struct Purity {
    verb: Verb,
    result: Result<Finding, Fault>,
}

struct Finding {
    /// Nodes whose answers depend on earlier calls of the instance.
    differences: Vec<String>,
    /// Reads that keep an answer from being cached.
    uncacheable: BTreeSet<String>,
}

// === impl Purity ===

impl Purity {
    /// Asks about the nodes forwards, backwards, each in a new instance, and after `validate`.
    pub(super) fn of(callee: &Callee) -> Vec<Self> {
        let (pod, cluster) = (Arc::new(sample::pod()), Arc::new(sample::cluster()));
        let verbs = [Verb::Filter, Verb::Score, Verb::Rank].into_iter().filter(|verb| callee.policy.verbs().has(*verb));
        let find = |verb| find(callee, verb, &pod, &cluster);
        verbs.map(|verb| Self { verb, result: find(verb) }).collect()
    }

    /// Whether an answer depends on earlier calls of the instance.
    pub(super) fn differs(&self) -> bool {
        self.result.as_ref().is_ok_and(|found| !found.differences.is_empty())
    }

    pub(super) fn as_text(&self) -> String {
        match &self.result {
            Err(fault) => format!("{}: FAULT {fault}", self.verb),
            Ok(found) if !found.differences.is_empty() => {
                format!("{}: DIFFERS {}", self.verb, shown(&found.differences))
            }
            Ok(_) if self.verb == Verb::Rank => {
                format!("rank: the same when asked again about {}; ranks are not cached", scope())
            }
            Ok(found) if !found.uncacheable.is_empty() => {
                let reads: Vec<&str> = found.uncacheable.iter().map(String::as_str).collect();
                let (verb, reads) = (self.verb, reads.join(", "));
                format!("{verb}: the same in any order of {}; not cached, since it reads {reads}", scope())
            }
            Ok(_) => format!("{}: the same in any order of {}; its answers are cached", self.verb, scope()),
        }
    }

    pub(super) fn as_json(&self) -> Value {
        match &self.result {
            Err(fault) => json!({"verb": self.verb.as_str(), "pure": false, "fault": fault.to_string()}),
            Ok(Finding { differences, uncacheable }) => json!({
                "verb": self.verb.as_str(),
                "pure": differences.is_empty(),
                "differences": differences,
                "cached": self.verb != Verb::Rank && uncacheable.is_empty(),
                "uncacheableReads": uncacheable,
            }),
        }
    }
}

/// The calls that are compared: other pods and nodes may show more.
fn scope() -> String {
    format!("the {} sample nodes for one sample pod", sample::NODES)
}

/// The first differences: a policy that always differs has one for each node of the sample.
fn shown(differences: &[String]) -> String {
    let (first, rest) = differences.split_at(differences.len().min(SHOWN_DIFFERENCES));
    let rest = if rest.is_empty() { String::new() } else { format!("; and {} more (all: --output json)", rest.len()) };
    first.join("; ") + &rest
}

fn find(callee: &Callee, verb: Verb, pod: &Arc<Pod>, cluster: &Arc<Cluster>) -> Result<Finding, Fault> {
    let nodes: Vec<u32> = (0..sample::NODES).collect();
    let first = callee.answers(pod, cluster, verb, &nodes)?;
    let mut others = vec![("after `validate`", callee.answers_after_validate(pod, cluster, verb, &nodes)?)];
    let mut uncacheable = BTreeSet::new();
    if verb == Verb::Rank {
        others.push(("asked again", callee.answers(pod, cluster, verb, &nodes)?));
    } else {
        let backwards: Vec<u32> = nodes.iter().rev().copied().collect();
        let mut turned = callee.answers(pod, cluster, verb, &backwards)?;
        turned.reverse();
        let alone = nodes.iter().map(|node| Ok(callee.answers(pod, cluster, verb, &[*node])?.swap_remove(0)));
        others.extend([("asked backwards", turned), ("asked alone", alone.collect::<Result<_, Fault>>()?)]);
        for node in nodes {
            let reads = read_for(callee.policy.as_ref(), &callee.ask(pod, cluster, sample::NODES), verb, node)?;
            uncacheable.extend(reads.into_iter().filter(|line| line.is_of_others).map(|line| line.read));
        }
    }
    let mut differences = vec![];
    for (at, slot) in cluster.slots().iter().enumerate() {
        for (how, other) in others.iter().filter(|(_, other)| other[at] != first[at]) {
            differences.push(format!("{} is {} first, {} {how}", slot.node.name(), first[at], other[at]));
        }
    }
    Ok(Finding { differences, uncacheable })
}

#[cfg(test)]
mod tests {
    use plimsoll_core::{Ask, NodeSource, Policy, Verbs, Verdict};

    use super::*;

    /// Keeps something of `validate` that changes its answers.
    struct Impure;

    impl Policy for Impure {
        fn verbs(&self) -> Verbs {
            [Verb::Filter, Verb::Rank].into_iter().collect()
        }

        fn filter_each(&self, ask: &Ask, nodes: &mut dyn NodeSource<Verdict>) -> Result<(), Fault> {
            while nodes.next().is_some() {
                nodes.answer(if ask.after_validate { Verdict::Unschedulable("kept".into()) } else { Verdict::Fits });
            }
            Ok(())
        }

        fn rank(&self, ask: &Ask) -> Result<Vec<u32>, Fault> {
            Ok(vec![u32::from(ask.after_validate); ask.view.node_count()])
        }
    }

    #[test]
    fn an_answer_that_depends_on_validate_differs() {
        let found = Purity::of(&Callee::alone(Arc::new(Impure)));
        assert!(found.iter().all(Purity::differs));
        let [filter, rank] = [&found[0], &found[1]].map(Purity::as_text);
        assert!(filter.contains("after `validate`"), "{filter}");
        assert!(rank.contains("is 0 first, 1 after `validate`"), "{rank}");
    }
}
