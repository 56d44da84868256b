//! The views of the SDKs: of which view each read is a method, and under which name. All names are as the WIT writes
//! names; each language spells them in its way.

use crate::{Cached, Function, Interface};

/// Reads that every SDK offers in another form, written by hand.
const BY_HAND: [&str; 6] =
    ["pod.created", "nodes.count", "placed.created", "candidates.count", "candidates.node", "candidates.victims"];

/// Reads whose method has another name.
const RENAMED: [(&str, &str); 6] = [
    ("pod.field", "field-text"),
    ("nodes.field", "field-text"),
    ("placed.known", "placed-known"),
    ("placed.count", "placed-count"),
    ("facts.node-text", "fact-text"),
    ("facts.node-number", "fact-number"),
];

/// The place of a read among the views.
pub(crate) struct Place {
    /// The view: `node`.
    pub(crate) owner: String,
    /// The number of leading parameters that are fields of the view.
    pub(crate) fields: usize,
    /// The name of the method: `placed-known`.
    pub(crate) name: String,
}

/// The place of a read; none for those of `host`, which belong to no view.
pub(crate) fn place(interface: &Interface, function: &Function) -> Option<Place> {
    let of_node = function.has_node();
    let (owner, fields) = match &interface.one {
        Some(one) if function.of_one => (one.as_str(), interface.by.len()),
        Some(_) if of_node => ("node", 1),
        Some(_) => ("nodes", 0),
        None if function.cached == Cached::Cluster => ("cluster", 0),
        None if function.cached == Cached::Facts && of_node => ("node", 1),
        None if function.cached == Cached::Facts => ("facts", 0),
        None => return None,
    };
    let full = full_name(interface, function);
    let renamed = RENAMED.iter().find(|(read, _)| *read == full);
    let name = renamed.map_or(function.name.as_str(), |(_, name)| name);
    Some(Place { owner: owner.to_owned(), fields, name: name.to_owned() })
}

/// The place of a read whose method is generated; `by_hand` names the reads that this language alone has by hand.
pub(crate) fn generated_place(interface: &Interface, function: &Function, by_hand: &[&str]) -> Option<Place> {
    let full = full_name(interface, function);
    let is_by_hand = BY_HAND.contains(&full.as_str()) || by_hand.contains(&full.as_str());
    place(interface, function).filter(|_| !is_by_hand)
}

/// The meaning of a view's index, by the parameters that choose above it.
pub(crate) fn about_index(above: &[String]) -> &'static str {
    if above.is_empty() {
        "Its number in the request, from 0."
    } else {
        "Its number among the pods of its node, from 0."
    }
}

/// `nodes.image-size`
fn full_name(interface: &Interface, function: &Function) -> String {
    format!("{}.{}", interface.name, function.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contract;

    #[test]
    fn a_read_has_its_view_and_its_name() {
        let wit = include_str!("../../../wit/v0.1.0/policy.wit");
        let contract = Contract::parse(wit, include_str!("../../../wit/v0.1.0/reads.yaml")).unwrap();
        let place_of = |full: &str| {
            let (interface, function) = full.split_once('.').unwrap();
            let interface = contract.interfaces.iter().find(|own| own.name == interface).unwrap();
            let function = interface.functions.iter().find(|own| own.name == function).unwrap();
            place(interface, function).map(|own| format!("{}.{} {}", own.owner, own.name, own.fields))
        };
        let table = [
            ("pod.priority-class", Some("pod.priority-class 0")),
            ("nodes.label", Some("node.label 1")),
            ("nodes.by-label", Some("nodes.by-label 0")),
            ("placed.known", Some("node.placed-known 1")),
            ("placed.phase", Some("placed.phase 2")),
            ("placed.counts-labelled", Some("nodes.counts-labelled 0")),
            ("cluster.at-least", Some("cluster.at-least 0")),
            ("facts.text", Some("facts.text 0")),
            ("facts.node-number", Some("node.fact-number 1")),
            ("host.now", None),
        ];
        for (read, expected) in table {
            assert_eq!(place_of(read).as_deref(), expected, "{read}");
        }
    }
}
