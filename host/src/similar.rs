//! Names like one that does not exist, for its error message.

use anyhow::{Error, anyhow};
use plimsoll_core::Cluster;

use crate::text::one_line;

/// Maximum names in a message.
const NAMED: usize = 3;

/// Maximum letters by which a similar name differs.
const MAX_DISTANCE: usize = 2;

/// The error about a node that a cluster does not have; it names similar ones.
pub(crate) fn no_such_node(cluster: &Cluster, node: &str) -> Error {
    let names: Vec<&str> = cluster.slots().iter().map(|slot| &**slot.node.name()).collect();
    anyhow!("the cluster has no node '{}'{}", one_line(node), hint(node, &names))
}

/// The end of an error about a name: the names that are similar to it, or else the first ones.
pub(crate) fn hint(typed: &str, names: &[&str]) -> String {
    let mut similar: Vec<(usize, &str)> =
        names.iter().filter_map(|name| Some((distance(typed, name)?, *name))).collect();
    similar.sort_by_key(|(distance, _)| *distance);
    let list = |names: &mut dyn Iterator<Item = &str>| names.map(one_line).collect::<Vec<_>>().join(", ");
    if !similar.is_empty() {
        return format!("; similar names: {}", list(&mut similar.into_iter().take(NAMED).map(|(_, name)| name)));
    }
    match names.len().saturating_sub(NAMED) {
        _ if names.is_empty() => String::new(),
        0 => format!("; it has {}", list(&mut names.iter().copied())),
        more => format!("; it has {} and {more} more", list(&mut names.iter().copied().take(NAMED))),
    }
}

/// The number of letters by which two names differ, in any case, if it is small; 0 also where one contains the other.
fn distance(typed: &str, name: &str) -> Option<usize> {
    let at_most = MAX_DISTANCE.min(typed.len() / 2);
    if at_most == MAX_DISTANCE && (name.contains(typed) || typed.contains(name)) {
        return Some(0);
    }
    // A node's name is short, and what was typed may be long: its distance is not computed.
    if typed.len().abs_diff(name.len()) > at_most {
        return None;
    }
    let distance = strsim::levenshtein(&typed.to_ascii_lowercase(), name);
    (distance <= at_most).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [&str; 5] = ["node-000", "node-001", "node-003", "node-013", "ip-10-0-0-1.ec2.internal"];

    #[test]
    fn similar_names_come_first_and_else_the_first_ones() {
        let cases = [
            ("node-03", "; similar names: node-003, node-013, node-000"),
            ("Node-013", "; similar names: node-013, node-003, node-000"),
            ("ip-10-0-0-1", "; similar names: ip-10-0-0-1.ec2.internal"),
            ("worker", "; it has node-000, node-001, node-003 and 2 more"),
            ("", "; it has node-000, node-001, node-003 and 2 more"),
        ];
        for (typed, expected) in cases {
            assert_eq!(hint(typed, &NODES), expected, "{typed}");
        }
        assert_eq!(hint("nope", &["n0", "n1"]), "; it has n0, n1");
        assert_eq!(hint("n9", &["n0", "n10"]), "; similar names: n0");
        assert_eq!(hint("nope", &[]), "");
    }
}
