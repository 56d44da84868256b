//! Reads all that a policy can read and answers all that it can answer, so that a native test and the
//! compiled module can be compared.

use plimsoll_policy::{parse_quantity, prelude::*};

/// The part of the contract that the policy tells about.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Everything {
    topic: Topic,
}

/// One for each part of the contract.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are those of the contract, and an example is no library")]
pub enum Topic {
    Pod,
    Node,
    Placed,
    Cluster,
    Field,
    Large,
    Time,
    Panic,
    Refused,
}

impl Everything {
    fn tell(&self, pod: Pod, node: &Node) -> String {
        match self.topic {
            Topic::Pod => {
                let texts = (pod.name(), pod.namespace(), pod.uid(), pod.label("a"), pod.label("none"));
                let annotations = (pod.annotation("empty"), pod.annotation("none"));
                let numbers = (pod.priority(), pod.request("cpu"), pod.request("memory"), pod.request("none"));
                let owners = (pod.priority_class(), pod.controller(), pod.created());
                format!("{texts:?} {annotations:?} {numbers:?} {owners:?} {:?}", pod.images())
            }
            Topic::Node => {
                let texts = (node.name(), node.label("é"), node.label("none"), node.annotation("a"));
                let numbers = (node.allocatable("cpu"), node.requested("memory"), node.requested("none"));
                let images = (node.image_size("web:1"), node.image_size("none"));
                let status = (node.condition("Ready"), node.condition("none"), node.unschedulable());
                let capacity = (node.capacity("cpu"), node.capacity("none"));
                format!("{texts:?} {:?} {numbers:?} {images:?} {status:?} {capacity:?}", node.taints())
            }
            Topic::Placed => {
                let one = |placed: Placed| {
                    let texts = (placed.name(), placed.namespace(), placed.label("app"), placed.annotation("a"));
                    let numbers = (placed.priority(), placed.request("memory"), placed.created());
                    format!(
                        "{texts:?} {numbers:?} {:?}",
                        (placed.priority_class(), placed.controller(), placed.phase())
                    )
                };
                let all: Vec<String> = node.placed().map(one).collect();
                format!("{all:?} {} {}", node.placed_known(), node.count_labelled("web", "app", "web"))
            }
            Topic::Cluster => {
                let (cluster, all) = (node.cluster(), Selector::all());
                let (web, smiling) = (all.namespace("web").label("app", "web"), all.node_label("é", "😀"));
                let counts = (cluster.count(all), cluster.count(web), cluster.count(web.annotation("a", "x")));
                let capped = (cluster.count_up_to(all, 1), cluster.count_up_to(smiling, 9), cluster.at_least(web, 3));
                let sums = (cluster.requested(all, "memory"), cluster.requested(smiling, "memory"));
                let nodes = (cluster.nodes_with_label("é", "😀"), cluster.label_values("é"));
                format!("{counts:?} {capped:?} {sums:?} {nodes:?} {:?}", cluster.at_least(all, 2))
            }
            Topic::Field => {
                let number = pod.field::<i64>("/spec/priority").map_err(|error| error.to_string());
                let text = node.field::<&str>("/metadata/name").map_err(|error| error.to_string());
                let wrong = node.field::<u8>("/metadata/name").map_err(|error| error.to_string());
                format!("{number:?} {text:?} {wrong:?} {:?} {:?}", pod.field_text("/none"), node.field_text("/spec"))
            }
            Topic::Large => {
                let large: Vec<&str> = (0..20).filter_map(|_| node.annotation("large")).collect();
                let sum: usize = large.iter().flat_map(|text| text.bytes()).map(usize::from).sum();
                format!("{} {sum} {:?}", large.len(), node.label("é"))
            }
            Topic::Time => format!("{} {} {}", now(0), now(60), now(3600)),
            Topic::Panic | Topic::Refused => panic!("no {} here", node.name()),
        }
    }
}

impl Filter for Everything {
    fn filter(&self, pod: &Pod, node: &Node) -> Verdict {
        log::debug!("asked about {}", node.name());
        match node.annotation("verdict") {
            Some("fits") => Verdict::Fits,
            Some("unresolvable") => Verdict::unresolvable("a text that is not allocated"),
            _ => Verdict::unschedulable(self.tell(*pod, node)),
        }
    }
}

impl Score for Everything {
    fn score(&self, _: &Pod, node: &Node) -> u32 {
        node.annotation("score").and_then(parse_quantity).map_or(0, |score| score as u32)
    }
}

impl Rank for Everything {
    fn rank(&self, pod: &Pod, nodes: &Nodes) -> Vec<u32> {
        // Those of the best group get one more for each pod that is counted.
        let (groups, counts) = (nodes.by_label("group"), nodes.count_labelled("web", "app", "web"));
        let best = groups.values().iter().position(|value| *value == "best");
        let all = nodes.iter().zip(groups.of_nodes().zip(counts));
        all.map(|(node, (group, count))| {
            let more = if group.is_some() && group == best { count } else { 0 };
            self.score(pod, &node) + more
        })
        .collect()
    }
}

impl Preempt for Everything {
    fn preempt(&self, _: &Pod, candidate: &Candidate) -> Preemption {
        let victims = candidate.victims();
        match candidate.pdb_violations() {
            0 => Preemption::Keep,
            1 => Preemption::replace(victims.into_iter().rev().take(1)),
            _ => {
                let names: Vec<&str> = victims.iter().map(Placed::name).collect();
                let nodes: Vec<&str> = candidate.all().iter().map(|other| other.node().name()).collect();
                Preemption::reject(format!("{names:?} of {nodes:?}"))
            }
        }
    }
}

impl Bind for Everything {
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

impl Validate for Everything {
    fn validate(&self) -> Result<(), String> {
        if matches!(self.topic, Topic::Refused) { Err("topic: é is refused".to_owned()) } else { Ok(()) }
    }
}

export!(Everything: filter, score, rank, preempt, bind, validate);
