//! The places of reads among the views, of TypeScript and AssemblyScript.

use super::syntax::{camel, pascal};
use crate::{Cached, Function, Interface};

/// Reads that the SDK offers in another form, written by hand.
const BY_HAND: [&str; 9] = [
    "pod.created",
    "nodes.count",
    "nodes.by-label",
    "placed.created",
    "candidates.count",
    "candidates.node",
    "candidates.victims",
    "host.now",
    "host.settings",
];

/// Reads whose method has another name.
const RENAMED: [(&str, &str); 6] = [
    ("pod.field", "fieldText"),
    ("nodes.field", "fieldText"),
    ("placed.known", "placedKnown"),
    ("placed.count", "placedCount"),
    ("facts.node-text", "factText"),
    ("facts.node-number", "factNumber"),
];

/// The place of a read among the views.
pub(crate) struct Place {
    /// The view: `Node`.
    pub(crate) owner: String,
    /// The number of leading parameters that are fields of the view.
    pub(crate) fields: usize,
    /// The name of the method.
    pub(crate) name: String,
}

/// The place of a read; none for those that are written by hand.
pub(crate) fn place(interface: &Interface, function: &Function) -> Option<Place> {
    let full = format!("{}.{}", interface.name, function.name);
    if BY_HAND.contains(&full.as_str()) {
        return None;
    }
    let of_node = function.has_node();
    let (owner, fields) = match &interface.one {
        Some(one) if function.of_one => (pascal(one), interface.by.len()),
        Some(_) if of_node => ("Node".to_owned(), 1),
        Some(_) => ("Nodes".to_owned(), 0),
        None if function.cached == Cached::Cluster => ("Cluster".to_owned(), 0),
        None if function.cached == Cached::Facts && of_node => ("Node".to_owned(), 1),
        None if function.cached == Cached::Facts => ("Facts".to_owned(), 0),
        None => return None,
    };
    let renamed = RENAMED.iter().find(|(read, _)| *read == full);
    let name = renamed.map_or_else(|| camel(&function.name), |(_, name)| (*name).to_owned());
    Some(Place { owner, fields, name })
}

/// The field for a parameter that chooses: `ofNode`, since a view may have a `node` of its own.
pub(crate) fn field(param: &str) -> String {
    format!("of{}", pascal(param))
}
