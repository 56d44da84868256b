//! The policy `conformance` in Rust: it reads all that a policy can read, answers all that it can answer, and fails in
//! every way. `plugin-sdk/conformance/spec.md` says what each topic is, and `plimsoll conformance` compares.

mod misbehave;
mod tell;
mod topic;

use plimsoll_policy::{parse_quantity, prelude::*};

use topic::Topic;

/// The part of the contract that the policy tells about, or its way to fail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Conformance {
    topic: Topic,
}

impl Conformance {
    fn verdict(&self, pod: Pod, node: &Node) -> Verdict {
        Verdict::unschedulable(match self.topic {
            Topic::Pod => tell::pod(pod),
            Topic::Node => tell::node(node),
            Topic::Placed => tell::placed(node),
            Topic::Cluster => tell::cluster(node.cluster()),
            Topic::Namespace => tell::namespace(pod),
            Topic::Facts => tell::facts(node),
            Topic::Field => tell::field(pod, node),
            Topic::Large => tell::large(node),
            Topic::Time => tell::time(),
            Topic::Pool if node.label("pool") == pod.label("pool") => return Verdict::Fits,
            Topic::Pool => "another pool".to_owned(),
            topic => misbehave::filter(topic, node),
        })
    }
}

impl Filter for Conformance {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        match node.annotation("verdict") {
            Some("fits") => Verdict::Fits,
            Some("unresolvable") => Verdict::unresolvable("eviction does not help"),
            _ => self.verdict(*pod, node),
        }
    }
}

impl Score for Conformance {
    fn score(&self, _: &Pod, node: &Node) -> u32 {
        if self.topic == Topic::HighScore {
            return 101;
        }
        node.annotation("score").and_then(parse_quantity).map_or(0, |score| score as u32)
    }
}

impl Rank for Conformance {
    fn rank(&self, pod: &Pod, nodes: &Nodes) -> Vec<u32> {
        // The nodes of the best group get one more for each pod that is counted, and another if it does not terminate.
        let (groups, labelled) = (nodes.by_label("group"), nodes.counts_labelled("web", "app", "web"));
        let active = nodes.counts_active("web", "app", "web");
        let counts = labelled.into_iter().zip(active).map(|(labelled, active)| labelled + active);
        let best = groups.values().iter().position(|value| *value == "best");
        let all = nodes.iter().zip(groups.of_nodes().zip(counts));
        all.map(|(node, (group, count))| {
            let more = if group.is_some() && group == best { count } else { 0 };
            self.score(pod, &node) + more
        })
        .collect()
    }
}

impl Preempt for Conformance {
    fn preempt(&self, _: &Pod, candidate: &Candidate) -> Preemption {
        match self.topic {
            Topic::NoVictims => return Preemption::replace([]),
            // The types of this SDK have no candidate that does not exist.
            Topic::MissingCandidate => return Preemption::reject("impossible"),
            _ => {}
        }
        let victims = candidate.victims();
        match candidate.pdb_violations() {
            0 => Preemption::Keep,
            1 => Preemption::replace(victims.into_iter().rev().take(1)),
            _ => Preemption::reject(tell::eviction(candidate)),
        }
    }
}

impl Bind for Conformance {
    fn bind(&self, pod: &Pod, node: &Node) -> Result<BindMetadata, NotBound> {
        match node.annotation("bind") {
            Some("later") => Err(NotBound::retry("not yet")),
            Some("nothing") => Ok(BindMetadata::new()),
            Some(value) => {
                let given = BindMetadata::new().annotation("node", node.name()).annotation("value", value);
                Ok(given.label("rack", "r1"))
            }
            None => Err(format!("{} cannot be bound", pod.name()).into()),
        }
    }
}

impl Validate for Conformance {
    fn validate(&self) -> Result<(), String> {
        if self.topic == Topic::Refused { Err("topic: é is refused".to_owned()) } else { Ok(()) }
    }
}

export!(Conformance: filter, score, rank, preempt, bind, validate);
