//! Each function of the contract as a method: those in `generated`, by what this file has.
//!
//! Every `unsafe` in both files is sound for these reasons. A pointer and length that go in are those of a `&str` that
//! lives during the import, and so does a record that goes in. The pointer for the result is to a local of the layout
//! that the contract gives it. The host writes what is valid by the canonical ABI, which the component was checked
//! against: text is UTF-8, and text and lists lie in the arena, untouched while `'a` lasts.

use std::{marker::PhantomData, slice, str};

use super::{
    call::Call,
    imports::{
        self, GroupingRecord, Items, LabelCountRecord, Maybe, OwnerRecord, PairRecord, SelectorRecord, TaintRecord,
        Text,
    },
};
use crate::{
    level::Level,
    values::{Groups, LabelCount, Owner, Selector, Taint},
};

/// Answers the reads of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostCalls<'a>(PhantomData<&'a ()>);

pub(crate) fn now(granularity: u32) -> u64 {
    imports::host_now(granularity)
}

pub(crate) fn log(level: Level, message: &str) {
    unsafe { imports::host_log(level as u32, message.as_ptr(), message.len()) }
}

/// Ends the call as a fault with this text.
pub fn panic(message: &str) {
    unsafe { imports::host_panic(message.as_ptr(), message.len()) }
}

// === impl Call, HostCalls ===

impl Call {
    /// The way to the world for as long as the call lasts.
    pub(crate) fn host(&self) -> HostCalls<'_> {
        HostCalls(PhantomData)
    }
}

// Each helper makes room for a result of one shape, calls the import and lifts what it wrote.
impl<'a> HostCalls<'a> {
    pub(super) fn text(self, import: impl FnOnce(*mut Text)) -> &'a str {
        let mut out = Text::EMPTY;
        import(&raw mut out);
        self.lift(out)
    }

    pub(super) fn optional_text(self, import: impl FnOnce(*mut Maybe<Text>)) -> Option<&'a str> {
        let mut out = Maybe { tag: 0, some: Text::EMPTY };
        import(&raw mut out);
        (out.tag != 0).then(|| self.lift(out.some))
    }

    pub(super) fn optional_number<T: Default>(self, import: impl FnOnce(*mut Maybe<T>)) -> Option<T> {
        let mut out = Maybe { tag: 0, some: T::default() };
        import(&raw mut out);
        (out.tag != 0).then_some(out.some)
    }

    pub(super) fn optional_real(self, import: impl FnOnce(*mut Maybe<f64>)) -> Option<f64> {
        self.optional_number(import)
    }

    pub(super) fn optional_flag(self, import: impl FnOnce(*mut Maybe<bool>)) -> Option<bool> {
        self.optional_number(import)
    }

    pub(super) fn optional_label_counts(
        self,
        import: impl FnOnce(*mut Maybe<Items<LabelCountRecord>>),
    ) -> Option<Vec<LabelCount<'a>>> {
        let mut out = Maybe { tag: 0, some: Items::EMPTY };
        import(&raw mut out);
        let lift = |count: &LabelCountRecord| LabelCount { value: self.lift(count.value), nodes: count.nodes };
        (out.tag != 0).then(|| self.slice(&out.some).iter().map(lift).collect())
    }

    pub(super) fn optional_owner(self, import: impl FnOnce(*mut Maybe<OwnerRecord>)) -> Option<Owner<'a>> {
        let empty = Text::EMPTY;
        let record = OwnerRecord { api_version: empty, kind: empty, name: empty, uid: empty };
        let mut out = Maybe { tag: 0, some: record };
        import(&raw mut out);
        let Maybe { tag, some: OwnerRecord { api_version, kind, name, uid } } = out;
        let lift = |text| self.lift(text);
        (tag != 0).then(|| Owner { api_version: lift(api_version), kind: lift(kind), name: lift(name), uid: lift(uid) })
    }

    pub(super) fn texts(self, import: impl FnOnce(*mut Items<Text>)) -> Vec<&'a str> {
        self.items(import).iter().map(|text| self.lift(*text)).collect()
    }

    pub(super) fn numbers(self, import: impl FnOnce(*mut Items<u32>)) -> Vec<u32> {
        self.items(import).to_vec()
    }

    pub(super) fn taints(self, import: impl FnOnce(*mut Items<TaintRecord>)) -> Vec<Taint<'a>> {
        let lift = |taint: &TaintRecord| Taint {
            key: self.lift(taint.key),
            value: self.lift(taint.value),
            effect: self.lift(taint.effect),
        };
        self.items(import).iter().map(lift).collect()
    }

    pub(super) fn grouping(self, import: impl FnOnce(*mut GroupingRecord)) -> Groups<'a> {
        let mut out = GroupingRecord { values: Items::EMPTY, groups: Items::EMPTY };
        import(&raw mut out);
        let values = self.slice(&out.values).iter().map(|value| self.lift(*value)).collect();
        Groups::new(values, self.slice(&out.groups).to_vec())
    }

    fn items<T>(self, import: impl FnOnce(*mut Items<T>)) -> &'a [T] {
        let mut out = Items::EMPTY;
        import(&raw mut out);
        self.slice(&out)
    }

    fn slice<T>(self, items: &Items<T>) -> &'a [T] {
        // An empty list may come with any pointer.
        if items.length == 0 { &[] } else { unsafe { slice::from_raw_parts(items.pointer, items.length) } }
    }

    fn lift(self, text: Text) -> &'a str {
        if text.length == 0 {
            return "";
        }
        unsafe { str::from_utf8_unchecked(slice::from_raw_parts(text.pointer, text.length)) }
    }
}

// === impl SelectorRecord ===

impl From<Selector<'_>> for SelectorRecord {
    fn from(selector: Selector<'_>) -> Self {
        let Selector { namespace, label, annotation, node_label } = selector;
        Self {
            namespace: Maybe::of(namespace.map(Text::of), Text::EMPTY),
            label: pair(label),
            annotation: pair(annotation),
            node_label: pair(node_label),
        }
    }
}

fn pair(pair: Option<(&str, &str)>) -> Maybe<PairRecord> {
    let record = |(key, value)| PairRecord { key: Text::of(key), value: Text::of(value) };
    Maybe::of(pair.map(record), PairRecord { key: Text::EMPTY, value: Text::EMPTY })
}
