//! The world of a native test: the host's model answers each read.

mod generated;

use std::{borrow::Cow, cell::Cell};

use plimsoll_core::{Grouping, Read, Selector as CoreSelector, Value, View};

use crate::{
    level::Level,
    values::{Groups, LabelCount, Owner, Selector, Taint},
};

thread_local! {
    /// The time of the call under way; `now` has no view at hand.
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Answers the reads of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostCalls<'a> {
    view: &'a View,
}

/// While it lives, [`now`] answers with the time of a view.
pub(crate) struct Clock(Option<u64>);

pub(crate) fn now(granularity: u32) -> u64 {
    let now = NOW.get();
    assert!(now.is_some(), "now() is a read of a call: let plimsoll_policy::testing::World make it");
    let granularity = u64::from(granularity.max(1));
    now.map_or(0, |now| now - now % granularity)
}

#[expect(clippy::print_stderr, reason = "a test's log lines belong to the test's captured output")]
pub(crate) fn log(level: Level, message: &str) {
    eprintln!("{level:?}: {message}");
}

// === impl Clock ===

impl Clock {
    pub(crate) fn of(view: &View) -> Self {
        let now = match view.read(Read::HostNow(1)) {
            Ok(Value::Number(now)) => u64::try_from(now).ok(),
            _ => None,
        };
        Self(NOW.replace(now))
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        NOW.set(self.0);
    }
}

// === impl HostCalls ===

impl<'a> HostCalls<'a> {
    pub(crate) fn new(view: &'a View) -> Self {
        Self { view }
    }

    fn read(self, read: Read<'_>) -> Value<'a> {
        // In WebAssembly the host ends the call with this text.
        self.view.read(read).unwrap_or_else(|error| panic!("{error}"))
    }

    fn text(self, read: Read<'_>) -> &'a str {
        self.optional_text(read).unwrap_or_default()
    }

    fn optional_text(self, read: Read<'_>) -> Option<&'a str> {
        match self.read(read) {
            Value::Text(Cow::Borrowed(text)) => Some(text),
            // The model owns nearly all its text; the text that it makes up is worth a leak in a test.
            Value::Text(Cow::Owned(text)) => Some(text.leak()),
            _ => None,
        }
    }

    fn texts(self, read: Read<'_>) -> Vec<&'a str> {
        let Value::Texts(texts) = self.read(read) else { return vec![] };
        texts.iter().map(AsRef::as_ref).collect()
    }

    fn number<T: TryFrom<i64> + Default>(self, read: Read<'_>) -> T {
        self.optional_number(read).unwrap_or_default()
    }

    /// As the host does, a number that is out of range becomes 0.
    fn optional_number<T: TryFrom<i64> + Default>(self, read: Read<'_>) -> Option<T> {
        let Value::Number(number) = self.read(read) else { return None };
        Some(T::try_from(number).unwrap_or_default())
    }

    fn optional_real(self, read: Read<'_>) -> Option<f64> {
        let Value::Real(number) = self.read(read) else { return None };
        Some(number.get())
    }

    fn flag(self, read: Read<'_>) -> bool {
        self.optional_flag(read).unwrap_or_default()
    }

    fn optional_flag(self, read: Read<'_>) -> Option<bool> {
        self.optional_number::<i64>(read).map(|number| number != 0)
    }

    fn optional_label_counts(self, read: Read<'_>) -> Option<Vec<LabelCount<'a>>> {
        let Value::LabelValues(values) = self.read(read) else { return None };
        // The texts are leaked, so that their type is as in a guest; a test reads few of them.
        let lift = |(value, nodes): (&str, u32)| LabelCount { value: value.to_owned().leak(), nodes };
        Some(values.iter().map(lift).collect())
    }

    fn optional_owner(self, read: Read<'_>) -> Option<Owner<'a>> {
        let Value::Owner(owner) = self.read(read) else { return None };
        Some(Owner { api_version: &owner.api_version, kind: &owner.kind, name: &owner.name, uid: &owner.uid })
    }

    fn numbers(self, read: Read<'_>) -> Vec<u32> {
        match self.read(read) {
            Value::Indices(indices) => indices.to_vec(),
            Value::Counts(counts) => counts,
            _ => vec![],
        }
    }

    fn taints(self, read: Read<'_>) -> Vec<Taint<'a>> {
        let Value::Taints(taints) = self.read(read) else { return vec![] };
        taints.iter().map(|taint| Taint { key: &taint.key, value: &taint.value, effect: &taint.effect }).collect()
    }

    fn grouping(self, read: Read<'_>) -> Groups<'a> {
        match self.read(read) {
            Value::Grouping(Grouping { values, groups }) => Groups::new(values, groups),
            _ => Groups::default(),
        }
    }
}

impl<'s> From<Selector<'s>> for CoreSelector<&'s str> {
    fn from(selector: Selector<'s>) -> Self {
        let Selector { namespace, label, annotation, node_label } = selector;
        Self { namespace, label, annotation, node_label }
    }
}
