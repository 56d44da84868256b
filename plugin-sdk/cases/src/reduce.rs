//! Takes out of a world the parts that a policy does not need for its answers: part by part, as long as all its reads
//! and answers stay the same.

mod part;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::Value;

use self::part::{NameAt, Part, Step, remove, visit};
use crate::{
    World,
    object::{has_label, is_one_of, labels, node_of, text},
};

/// The time of the whole search; parts that are not tried by then stay.
const TIME: Duration = Duration::from_secs(20);

/// Maximum number of labels of nodes that groups are made by.
const MAX_LABELS: usize = 50;

/// A search for a smaller world.
pub(crate) struct Reducer<F> {
    world: World,
    /// Whether the policy reads and answers the same in this world.
    is_same: F,
    end: Instant,
}

// === impl Reducer ===

impl<F: Fn(&World) -> bool> Reducer<F> {
    pub(crate) fn new(world: World, is_same: F) -> Self {
        Self { world, is_same, end: Instant::now() + TIME }
    }

    /// The smaller world.
    pub(crate) fn run(mut self) -> World {
        if !self.try_change(keep_the_nodes_in_question) {
            self.keep_groups();
        }
        self.drop_facts();
        self.try_change(|world| world.now = 0);
        self.drop_items(|world| &mut world.pods);
        self.try_change(drop_empty_nodes);
        // A node that pods are placed on, or that is asked about, stays: without it the world cannot be.
        self.drop_items(|world| &mut world.nodes);
        self.drop_items(|world| &mut world.namespaces);
        self.drop_items(|world| &mut world.device_classes);
        for part in [Part::Nodes, Part::Pods, Part::Pod, Part::Namespaces, Part::DeviceClasses] {
            self.prune(part, &mut vec![]);
        }
        self.world
    }

    fn try_change(&mut self, change: impl Fn(&mut World)) -> bool {
        if Instant::now() >= self.end {
            return false;
        }
        let mut changed = self.world.clone();
        change(&mut changed);
        let is_same = (self.is_same)(&changed);
        if is_same {
            self.world = changed;
        }
        is_same
    }

    /// Of a cluster that is read as a whole, keeps the pods and nodes that have a label in common with the pod or with a
    /// node in question: a policy counts such groups.
    fn keep_groups(&mut self) {
        let own = labels(&self.world.pod);
        let namespace = self.world.pod.pointer("/metadata/namespace").cloned();
        self.try_change(|world| world.pods.retain(|pod| pod.pointer("/metadata/namespace") == namespace.as_ref()));
        for (key, value) in own {
            self.try_change(|world| world.pods.retain(|pod| has_label(pod, &key, &value)));
        }
        let asked = in_question(&self.world);
        let asked: Vec<_> = self.world.nodes.iter().filter(|node| is_one_of(node, "/metadata/name", &asked)).collect();
        let pairs: BTreeSet<(String, String)> = asked.into_iter().flat_map(labels).collect();
        for (key, value) in pairs.into_iter().take(MAX_LABELS) {
            self.try_change(|world| {
                let asked = in_question(world);
                world.nodes.retain(|node| is_one_of(node, "/metadata/name", &asked) || has_label(node, &key, &value));
                drop_lost_pods(world);
            });
        }
        self.try_change(drop_empty_nodes);
    }

    /// Drops sources that the policy does not read, and of the others the facts that it does not read.
    fn drop_facts(&mut self) {
        let sources = self.world.facts.as_object().into_iter().flatten();
        let keys = |facts: &Value| facts.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
        let sources: Vec<(String, Vec<String>)> = sources.map(|(name, facts)| (name.clone(), keys(facts))).collect();
        for (source, keys) in sources {
            if !self.try_change(|world| drop(world.facts.as_object_mut().and_then(|all| all.remove(&source)))) {
                self.drop_keys(&source, keys);
            }
        }
        if self.world.facts.as_object().is_some_and(serde_json::Map::is_empty) {
            self.world.facts = Value::Null;
        }
    }

    /// Drops runs of keys of a source, from all of them down to single ones.
    fn drop_keys(&mut self, source: &str, mut keys: Vec<String>) {
        let mut run = keys.len();
        while run > 0 {
            let mut at = 0;
            while at < keys.len() {
                let end = (at + run).min(keys.len());
                let is_dropped = self.try_change(|world| {
                    let facts = world.facts.get_mut(source).and_then(Value::as_object_mut);
                    if let Some(facts) = facts {
                        keys[at..end].iter().for_each(|key| drop(facts.remove(key)));
                    }
                });
                if is_dropped { drop(keys.drain(at..end)) } else { at = end }
            }
            run /= 2;
        }
    }

    /// Drops runs of items, from all of them down to single ones.
    fn drop_items(&mut self, list: impl Fn(&mut World) -> &mut Vec<Value>) {
        let mut run = list(&mut self.world).len();
        while run > 0 {
            let mut at = 0;
            while at < list(&mut self.world).len() {
                let end = (at + run).min(list(&mut self.world).len());
                if !self.try_change(|world| drop(list(world).drain(at..end))) {
                    at = end;
                }
            }
            run /= 2;
        }
    }

    /// Removes fields of all objects of a part at once: a policy reads the same fields of each.
    fn prune(&mut self, part: Part, path: &mut Vec<Step>) {
        for step in self.steps(part, path) {
            path.push(step);
            let is_field = path.last() != Some(&None);
            match part.name_at(path) {
                Some(NameAt::Here) => {}
                Some(NameAt::Below) => {
                    self.prune(part, path);
                    if self.steps(part, path).is_empty() {
                        self.try_change(|world| remove(part, world, path));
                    }
                }
                None if is_field && self.try_change(|world| remove(part, world, path)) => {}
                None => self.prune(part, path),
            }
            path.pop();
        }
    }

    /// The next steps of a path, in any of the objects.
    fn steps(&mut self, part: Part, path: &[Step]) -> BTreeSet<Step> {
        let mut steps = BTreeSet::new();
        for object in part.objects(&mut self.world) {
            visit(object, path, &mut |value| match value {
                Value::Object(fields) => steps.extend(fields.keys().cloned().map(Some)),
                Value::Array(items) if items.iter().any(Value::is_object) => drop(steps.insert(None)),
                _ => {}
            });
        }
        steps
    }
}

/// Keeps the nodes that are asked about, and the pods on them.
fn keep_the_nodes_in_question(world: &mut World) {
    let asked = in_question(world);
    world.nodes.retain(|node| is_one_of(node, "/metadata/name", &asked));
    drop_lost_pods(world);
}

/// Drops nodes that are not asked about and have no pods.
fn drop_empty_nodes(world: &mut World) {
    let mut needed = in_question(world);
    needed.extend(world.pods.iter().filter_map(node_of));
    world.nodes.retain(|node| is_one_of(node, "/metadata/name", &needed));
}

/// Drops pods whose nodes are gone.
fn drop_lost_pods(world: &mut World) {
    let names: BTreeSet<String> = world.nodes.iter().filter_map(|node| text(node, "/metadata/name")).collect();
    world.pods.retain(|pod| node_of(pod).is_some_and(|node| names.contains(&node)));
}

/// The names of the nodes that the policy is asked about.
fn in_question(world: &World) -> BTreeSet<String> {
    let candidates = world.candidates.iter().map(|candidate| &candidate.node);
    world.request.iter().flatten().chain(candidates).cloned().collect()
}

#[cfg(test)]
mod tests;
