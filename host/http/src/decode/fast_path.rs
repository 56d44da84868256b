//! `ExtenderArgs` as schedulers write them, read without serde.
//!
//! It accepts a subset of serde's input with the same result; it returns `None` for unusual and for wrong requests.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use plimsoll_core::KnownNodes;

use super::{
    args::{ExtenderArgs, FIELDS, ITEMS},
    bounds::within_bounds,
    cursor::Cursor,
    nodes::WireNodes,
    predict,
};
use crate::request_cache::{Elements, KnownNodeOrder, NameIndex};

/// The fields of the wrapper that were read so far.
#[derive(Default)]
struct PartialArgs {
    pod: Option<Range<usize>>,
    /// The whole nodes, where their list begins, and those that were known.
    whole: Option<(Elements, usize, KnownNodes)>,
    /// The names, and where their list begins.
    names: (Arc<Elements>, usize),
}

/// Reads a request: names are looked up among those of a cluster, whole nodes among those that are known. `known` is
/// called only if there are whole nodes.
pub(super) fn args(body: &Bytes, names: &NameIndex, known: &impl Fn() -> KnownNodeOrder) -> Option<ExtenderArgs> {
    let (mut cursor, mut parts) = (Cursor::new(body), PartialArgs::default());
    cursor.fields(|cursor, key| parts.read(key, cursor, names, known))?;
    if cursor.peek().is_some() {
        return None;
    }
    let nodes = match parts.whole {
        Some((nodes, list, known)) => WireNodes::by_prediction(body, (nodes, list), &known),
        None => WireNodes::by_name(body, parts.names),
    };
    Some(ExtenderArgs { pod: within_bounds(body.slice(parts.pod?))?, nodes })
}

// === impl PartialArgs ===

impl PartialArgs {
    fn read(
        &mut self,
        key: &str,
        cursor: &mut Cursor<'_>,
        names: &NameIndex,
        known: &impl Fn() -> KnownNodeOrder,
    ) -> Option<()> {
        // The last of several equal fields wins.
        match FIELDS.iter().position(|field| field.eq_ignore_ascii_case(key)) {
            Some(0) if cursor.null().is_some() => return None,
            Some(0) => self.pod = Some(cursor.value()?),
            Some(1) if cursor.null().is_some() => self.whole = None,
            Some(1) => self.whole = Some(node_list(cursor, known())?),
            Some(_) if cursor.null().is_some() => self.names = <_>::default(),
            Some(_) => self.names = name_list(cursor, names)?,
            None => {
                cursor.value()?;
            }
        }
        Some(())
    }
}

/// Reads a list of names and its offset. A list that came before is only compared (a memcmp).
fn name_list(cursor: &mut Cursor<'_>, known: &NameIndex) -> Option<(Arc<Elements>, usize)> {
    cursor.peek()?;
    let (list, text) = (cursor.at(), cursor.rest());
    if let Some((elements, bytes)) = known.lists().again(text) {
        cursor.skip(bytes);
        return Some((elements, list));
    }
    let elements = Arc::new(predict::list(cursor, known)?);
    known.lists().keep(&text[..cursor.at() - list], &elements);
    Some((elements, list))
}

/// Reads a `NodeList`: its items, where they begin, and the nodes that they were compared with.
fn node_list(cursor: &mut Cursor<'_>, known: KnownNodeOrder) -> Option<(Elements, usize, KnownNodes)> {
    let (mut items, mut list) = (Elements::default(), 0);
    cursor.fields(|cursor, key| {
        if ITEMS.eq_ignore_ascii_case(key) {
            cursor.peek()?;
            list = cursor.at();
            items = predict::list(cursor, &known)?;
        } else {
            cursor.value()?;
        }
        Some(())
    })?;
    Some((items, list, known.nodes))
}
