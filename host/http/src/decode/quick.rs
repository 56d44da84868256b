//! `ExtenderArgs` as schedulers write them, read without serde.
//!
//! It reads nothing in another way than serde does, but less: for all that is unusual or wrong it returns none.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use plimsoll_core::{Elements, Names};

use super::{ExtenderArgs, WireNodes, args::FIELDS, cursor::Cursor, guess};

/// The parts of the wrapper, as far as they have come.
#[derive(Default)]
struct Parts {
    pod: Option<Range<usize>>,
    /// The names, and where their list begins.
    names: (Arc<Elements>, usize),
}

/// Reads a request that names its nodes.
pub(super) fn args(body: &Bytes, known: &Names) -> Option<ExtenderArgs> {
    let (mut cursor, mut parts) = (Cursor::new(body), Parts::default());
    cursor.eat(b'{')?;
    parts.read_field(&mut cursor, known)?;
    while cursor.eat(b',').is_some() {
        parts.read_field(&mut cursor, known)?;
    }
    cursor.eat(b'}')?;
    if cursor.peek().is_some() {
        return None;
    }
    let nodes = WireNodes::by_name(body, parts.names);
    Some(ExtenderArgs { pod: body.slice(parts.pod?), nodes })
}

// === impl Parts ===

impl Parts {
    fn read_field(&mut self, cursor: &mut Cursor<'_>, known: &Names) -> Option<()> {
        let key = cursor.text()?;
        cursor.eat(b':')?;
        // Of a field that comes twice the last one counts.
        match FIELDS.iter().position(|field| field.eq_ignore_ascii_case(key)) {
            Some(0) if cursor.null().is_some() => return None,
            Some(0) => self.pod = Some(cursor.value()?),
            Some(1) => cursor.null()?,
            Some(_) if cursor.null().is_some() => self.names = <_>::default(),
            Some(_) => self.names = names(cursor, known)?,
            None => {
                cursor.value()?;
            }
        }
        Some(())
    }
}

/// Reads a list of names; one that came before is only compared.
fn names(cursor: &mut Cursor<'_>, known: &Names) -> Option<(Arc<Elements>, usize)> {
    cursor.peek()?;
    let (list, text) = (cursor.at(), cursor.rest());
    if let Some((elements, bytes)) = known.lists().again(text) {
        cursor.skip(bytes);
        return Some((elements, list));
    }
    let elements = Arc::new(guess::list(cursor, known)?);
    known.lists().keep(&text[..cursor.at() - list], &elements);
    Some((elements, list))
}
