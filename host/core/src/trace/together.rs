//! One read of every node of a view, answered by its column.

use super::{class::key, key::Key, path::Scope};
use crate::{Read, View};

/// What a read of a node comes to, for each node of the view; none for a read that is not of a node.
pub(crate) fn keys_of_nodes(view: &View, read: &Read<'_>) -> Option<Vec<Key>> {
    let Scope::Node(_, path) = Scope::of(read) else { return None };
    let path = path.to_path();
    let column = view.column(&path);
    let nodes = view.slots().iter().enumerate();
    Some(nodes.map(|(node, slot)| key(&column, &path, view, node as u32, *slot)).collect())
}
