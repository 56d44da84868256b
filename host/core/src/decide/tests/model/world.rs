//! A cluster that changes, and the questions about it: every fact has few values, so that they recur.

use std::sync::Arc;

use plimsoll_random::Random;
use serde_json::{Value as Json, json};

use super::super::fixture::bytes;
use crate::model::{Cluster, DeviceClass, DeviceClasses, Node, Placed, Pod, Slot};

/// Names that nodes may have.
pub(super) const NAMES: [&str; 12] = ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11"];

/// The nodes as they are now; the place of each is its slot.
#[derive(Debug, Clone, Default)]
pub(super) struct World {
    slots: Vec<Slot>,
    /// Whether a DeviceClass provides `x/gpu`.
    has_class: bool,
}

// === impl World ===

impl World {
    pub(super) fn any(rng: &mut Random) -> Self {
        let nodes = rng.below(NAMES.len() as u64 + 1) as usize;
        let slots = NAMES[..nodes].iter().map(|name| Slot { node: node(rng, name), placed: placed(rng) }).collect();
        Self { slots, has_class: rng.below(2) == 0 }
    }

    /// Changes one thing.
    pub(super) fn change(&mut self, rng: &mut Random) {
        let slots = self.slots.len() as u64;
        match rng.below(9) {
            8 => self.has_class = !self.has_class,
            0 if slots > 0 => drop(self.slots.swap_remove(rng.below(slots) as usize)),
            1 => {
                let unused =
                    NAMES.iter().find(|name| self.slots.iter().all(|slot| slot.node.name().as_ref() != **name));
                if let Some(name) = unused {
                    self.slots.push(Slot { node: node(rng, name), placed: placed(rng) });
                }
            }
            2..=4 if slots > 0 => {
                let slot = &mut self.slots[rng.below(slots) as usize];
                slot.node = node(rng, &Arc::clone(slot.node.name()));
            }
            _ if slots > 0 => self.slots[rng.below(slots) as usize].placed = placed(rng),
            _ => {}
        }
    }

    pub(super) fn cluster(&self) -> Arc<Cluster> {
        let class = br#"{"metadata":{"name":"gpu"},"spec":{"extendedResourceName":"x/gpu"}}"#;
        let class = self.has_class.then(|| DeviceClass::from_json(class).unwrap());
        Arc::new(Cluster::new(self.slots.clone()).with_device_classes(Arc::new(DeviceClasses::new(&class))))
    }

    /// Some nodes, in some order.
    pub(super) fn request(&self, rng: &mut Random) -> Vec<&'static str> {
        let mut names: Vec<&str> =
            NAMES.into_iter().filter(|name| self.slots.iter().any(|slot| slot.node.name().as_ref() == *name)).collect();
        for at in (1..names.len()).rev() {
            names.swap(at, rng.below(at as u64 + 1) as usize);
        }
        names.truncate(1 + rng.below(NAMES.len() as u64) as usize);
        names
    }
}

fn node(rng: &mut Random, name: &str) -> Arc<Node> {
    let mut labels = serde_json::Map::new();
    for key in ["zone", "l0", "l1", "l2", "l3", "x", "y"] {
        if rng.below(3) > 0 {
            labels.insert(key.to_owned(), rng.pick(&["1", "2"]).into());
        }
    }
    let taints = [json!([]), json!([{"key": "k", "effect": "NoSchedule"}])];
    let node = json!({
        "metadata": {"name": name, "labels": labels, "annotations": {"note": rng.pick(&["1", "2"])}},
        "spec": {"taints": taints[rng.below(2) as usize], "unschedulable": rng.below(2) == 0},
        "status": {"allocatable": {"cpu": rng.pick(&["2", "4"]), "x/gpu": rng.pick(&["0", "1"])}, "capacity": {"cpu": rng.pick(&["4", "8"])},
                   "conditions": [{"type": "Ready", "status": rng.pick(&["True", "Unknown"])}],
                   "images": [{"names": [rng.pick(&["app", "other"])], "sizeBytes": rng.pick(&[1, 2])}]},
    });
    Arc::new(Node::from_json(bytes(&node)).unwrap())
}

/// Now and then none: the host has no view of pods; or a part of them.
fn placed(rng: &mut Random) -> Option<Arc<Placed>> {
    let pods = (0..rng.below(4)).map(|_| Arc::new(Pod::placed_from_json(&bytes(&placed_pod(rng))).unwrap())).collect();
    match rng.below(8) {
        0 => None,
        1 => Some(Arc::new(Placed::partial(pods))),
        _ => Some(Arc::new(Placed::new(pods))),
    }
}

fn placed_pod(rng: &mut Random) -> Json {
    json!({
        "metadata": {"name": "p", "uid": "p", "namespace": rng.pick(&["web", "db"]),
                     "labels": {"app": rng.pick(&["web", "db"])}, "ownerReferences": owners(rng),
                     "deletionTimestamp": rng.pick(&[None, Some("2026-01-31T12:00:00Z")])},
        "status": {"phase": rng.pick(&["Pending", "Running"])},
        "spec": {"priority": rng.below(2), "priorityClassName": rng.pick(&["", "high"]), "containers": [{"resources": {"requests": {"cpu": rng.pick(&["1", "2"])}}}]},
    })
}

fn owners(rng: &mut Random) -> Json {
    json!([{"kind": "Job", "name": rng.pick(&["a", "b"]), "uid": rng.pick(&["1", "2"]), "controller": rng.below(3) > 0}])
}

/// A pod to schedule.
pub(super) fn pod(rng: &mut Random) -> Arc<Pod> {
    let mut labels = serde_json::Map::new();
    for key in ["a", "b"] {
        if rng.below(3) > 0 {
            labels.insert(key.to_owned(), rng.pick(&["x", "y"]).into());
        }
    }
    let pod = json!({
        "metadata": {"name": format!("pod-{}", rng.below(3)), "uid": "new", "namespace": rng.pick(&["ml", "web"]),
                     "labels": labels, "annotations": {"note": rng.pick(&["1", "2"])}, "ownerReferences": owners(rng),
                     "creationTimestamp": rng.pick(&["2026-01-31T12:00:00Z", "2026-01-31T12:00:01Z"])},
        "spec": {"priority": rng.below(2), "priorityClassName": rng.pick(&["", "high"]),
                 "containers": [{"image": rng.pick(&["app", "other"]),
                                 "resources": {"requests": {"cpu": rng.pick(&["1", "2"])}}}]},
    });
    Arc::new(Pod::from_json(bytes(&pod)).unwrap())
}
