//! The parts of a world, and the paths in their objects.

use serde_json::Value;

use crate::World;

/// Objects of a world that are reduced together.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Pod,
    Nodes,
    Pods,
    Namespaces,
    DeviceClasses,
}

/// Where a name is, seen from a path.
pub(super) enum NameAt {
    Here,
    Below,
}

/// A step into an object; `None` is every element of a list.
pub(super) type Step = Option<String>;

// === impl Part ===

impl Part {
    /// Whether a path leads to the name of an object: that stays, so that a reader knows which object is which.
    pub(super) fn name_at(self, path: &[Step]) -> Option<NameAt> {
        const NAME: &[&str] = &["metadata", "name"];
        const NAMESPACE: &[&str] = &["metadata", "namespace"];
        const NODE: &[&str] = &["spec", "nodeName"];
        const NOMINATED: &[&str] = &["status", "nominatedNodeName"];
        let names: &[&[&str]] = match self {
            Self::Nodes | Self::Namespaces | Self::DeviceClasses => &[NAME],
            Self::Pod => &[NAME, NAMESPACE],
            Self::Pods => &[NAME, NAMESPACE, NODE, NOMINATED],
        };
        let leads = |name: &&&[&str]| path.iter().zip(**name).all(|(step, name)| step.as_deref() == Some(*name));
        let name = names.iter().filter(|name| path.len() <= name.len()).find(leads)?;
        Some(if name.len() == path.len() { NameAt::Here } else { NameAt::Below })
    }

    pub(super) fn objects(self, world: &mut World) -> &mut [Value] {
        match self {
            Self::Pod => std::slice::from_mut(&mut world.pod),
            Self::Nodes => &mut world.nodes,
            Self::Pods => &mut world.pods,
            Self::Namespaces => &mut world.namespaces,
            Self::DeviceClasses => &mut world.device_classes,
        }
    }
}

/// Removes the field at a path from all objects of a part.
pub(super) fn remove(part: Part, world: &mut World, path: &[Step]) {
    let Some((Some(key), parent)) = path.split_last() else { return };
    for object in part.objects(world) {
        visit(object, parent, &mut |value| {
            if let Value::Object(fields) = value {
                fields.remove(key);
            }
        });
    }
}

/// Visits each value at a path.
pub(super) fn visit(value: &mut Value, path: &[Step], found: &mut impl FnMut(&mut Value)) {
    match (path.split_first(), value) {
        (None, value) => found(value),
        (Some((None, rest)), Value::Array(items)) => items.iter_mut().for_each(|item| visit(item, rest, found)),
        (Some((Some(key), rest)), Value::Object(fields)) => {
            if let Some(value) = fields.get_mut(key) {
                visit(value, rest, found);
            }
        }
        _ => {}
    }
}
