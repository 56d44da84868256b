//! The lines of a file, for messages.

use std::collections::BTreeMap;

use plimsoll_core::Verb;
use serde_saphyr::Spanned;

/// The lines of a file on which answers are expected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    expectations: BTreeMap<(Verb, String), u64>,
    /// By the field, such as `nodes[2]`.
    objects: BTreeMap<String, u64>,
}

// === impl Lines ===

impl Lines {
    /// The line of an expectation.
    pub(crate) fn of(&self, verb: Verb, node: &str) -> Option<u64> {
        self.expectations.get(&(verb, node.to_owned())).copied()
    }

    /// The line of a part of the world, such as `nodes[2]`.
    pub(crate) fn of_object(&self, field: &str) -> Option<u64> {
        self.objects.get(field).copied()
    }

    /// The values of a list, whose lines are kept.
    pub(crate) fn take_all<T>(&mut self, list: &str, values: Vec<Spanned<T>>) -> Vec<T> {
        let values = values.into_iter().enumerate();
        values.map(|(at, value)| self.take_one(format!("{list}[{at}]"), value)).collect()
    }

    /// A value, whose line is kept.
    pub(crate) fn take_one<T>(&mut self, field: String, value: Spanned<T>) -> T {
        if value.referenced.line() > 0 {
            self.objects.insert(field, value.referenced.line());
        }
        value.value
    }

    /// The expectations of a verb, whose lines are kept.
    pub(super) fn take<T>(
        &mut self,
        verb: Verb,
        by_node: Option<BTreeMap<String, Spanned<T>>>,
    ) -> Option<BTreeMap<String, T>> {
        let by_node = by_node?.into_iter();
        let unwrap = |(node, value): (String, Spanned<T>)| {
            self.note(verb, node.clone(), &value);
            (node, value.value)
        };
        Some(by_node.map(unwrap).collect())
    }

    /// Keeps the line of an expectation.
    pub(super) fn note<T>(&mut self, verb: Verb, node: String, value: &Spanned<T>) {
        if value.referenced.line() > 0 {
            self.expectations.insert((verb, node), value.referenced.line());
        }
    }
}
