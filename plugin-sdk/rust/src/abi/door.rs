//! Each function of the contract as a method.
//!
//! What makes every `unsafe` here sound: a pointer and length that go in are those of a `&str` that
//! lives during the import; the pointer for the result is to a local of the layout that the contract
//! gives it; and what the host writes there is valid by the canonical ABI, which the component was
//! checked against: text is UTF-8, and text and lists lie in the arena, untouched while `'a` lasts.

use std::{marker::PhantomData, ptr::null, slice, str};

use super::{
    Call,
    imports::{self, GroupingLists, Items, Maybe, TaintText, Text},
};
use crate::{Taint, log::Level, view::Groups};

/// Answers the reads of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door<'a>(PhantomData<&'a ()>);

pub(crate) fn now(granularity: u32) -> u64 {
    imports::host_now(granularity)
}

pub(crate) fn log(level: Level, message: &str) {
    unsafe { imports::host_log(level as u32, message.as_ptr(), message.len()) }
}

pub(crate) fn panic(message: &str) {
    unsafe { imports::host_panic(message.as_ptr(), message.len()) }
}

// === impl Door ===

impl<'a> Door<'a> {
    pub(super) fn new(_: &'a Call) -> Self {
        Self(PhantomData)
    }

    pub(crate) fn node_count(self) -> u32 {
        imports::node_count()
    }

    pub(crate) fn node_name(self, node: u32) -> &'a str {
        self.text(|out| unsafe { imports::node_name(node, out) })
    }

    pub(crate) fn node_label(self, node: u32, key: &str) -> Option<&'a str> {
        self.optional(|out| unsafe { imports::node_label(node, key.as_ptr(), key.len(), out) })
    }

    pub(crate) fn node_by_label(self, key: &str) -> Groups<'a> {
        let mut out = GroupingLists {
            values: Items { pointer: null(), length: 0 },
            groups: Items { pointer: null(), length: 0 },
        };
        unsafe { imports::node_by_label(key.as_ptr(), key.len(), &raw mut out) };
        let values = self.slice(&out.values).iter().map(|value| self.lift(*value)).collect();
        Groups::new(values, self.slice(&out.groups).to_vec())
    }

    pub(crate) fn node_annotation(self, node: u32, key: &str) -> Option<&'a str> {
        self.optional(|out| unsafe { imports::node_annotation(node, key.as_ptr(), key.len(), out) })
    }

    pub(crate) fn node_taints(self, node: u32) -> Vec<Taint<'a>> {
        let taints: &[TaintText] = self.items(|out| unsafe { imports::node_taints(node, out) });
        let lift = |taint: &TaintText| Taint {
            key: self.lift(taint.key),
            value: self.lift(taint.value),
            effect: self.lift(taint.effect),
        };
        taints.iter().map(lift).collect()
    }

    pub(crate) fn node_allocatable(self, node: u32, name: &str) -> i64 {
        unsafe { imports::node_allocatable(node, name.as_ptr(), name.len()) }
    }

    pub(crate) fn node_requested(self, node: u32, name: &str) -> Option<i64> {
        let mut out = Maybe { tag: 0, some: 0 };
        unsafe { imports::node_requested(node, name.as_ptr(), name.len(), &raw mut out) };
        (out.tag != 0).then_some(out.some)
    }

    pub(crate) fn node_image_size(self, node: u32, image: &str) -> Option<u64> {
        let mut out = Maybe { tag: 0, some: 0 };
        unsafe { imports::node_image_size(node, image.as_ptr(), image.len(), &raw mut out) };
        (out.tag != 0).then_some(out.some)
    }

    pub(crate) fn node_field(self, node: u32, pointer: &str) -> Option<&'a str> {
        self.optional(|out| unsafe { imports::node_field(node, pointer.as_ptr(), pointer.len(), out) })
    }

    pub(crate) fn placed_count(self, node: u32) -> u32 {
        imports::placed_count(node)
    }

    pub(crate) fn placed_name(self, node: u32, pod: u32) -> &'a str {
        self.text(|out| unsafe { imports::placed_name(node, pod, out) })
    }

    pub(crate) fn placed_namespace(self, node: u32, pod: u32) -> &'a str {
        self.text(|out| unsafe { imports::placed_namespace(node, pod, out) })
    }

    pub(crate) fn placed_label(self, node: u32, pod: u32, key: &str) -> Option<&'a str> {
        self.optional(|out| unsafe { imports::placed_label(node, pod, key.as_ptr(), key.len(), out) })
    }

    pub(crate) fn placed_annotation(self, node: u32, pod: u32, key: &str) -> Option<&'a str> {
        self.optional(|out| unsafe { imports::placed_annotation(node, pod, key.as_ptr(), key.len(), out) })
    }

    pub(crate) fn placed_priority(self, node: u32, pod: u32) -> i32 {
        imports::placed_priority(node, pod)
    }

    pub(crate) fn placed_request(self, node: u32, pod: u32, name: &str) -> i64 {
        unsafe { imports::placed_request(node, pod, name.as_ptr(), name.len()) }
    }

    pub(crate) fn placed_created(self, node: u32, pod: u32) -> u64 {
        imports::placed_created(node, pod)
    }

    pub(crate) fn placed_count_labelled(self, node: u32, namespace: &str, key: &str, value: &str) -> u32 {
        unsafe {
            imports::placed_count_labelled(
                node,
                namespace.as_ptr(),
                namespace.len(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
            )
        }
    }

    pub(crate) fn placed_counts_labelled(self, namespace: &str, key: &str, value: &str) -> Vec<u32> {
        let counts = self.items(|out| unsafe {
            imports::placed_counts_labelled(
                namespace.as_ptr(),
                namespace.len(),
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                out,
            )
        });
        counts.to_vec()
    }

    pub(crate) fn candidate_count(self) -> u32 {
        imports::candidate_count()
    }

    pub(crate) fn candidate_node(self, candidate: u32) -> u32 {
        imports::candidate_node(candidate)
    }

    pub(crate) fn candidate_victims(self, candidate: u32) -> &'a [u32] {
        self.items(|out| unsafe { imports::candidate_victims(candidate, out) })
    }

    pub(crate) fn candidate_pdb_violations(self, candidate: u32) -> u32 {
        imports::candidate_pdb_violations(candidate)
    }

    pub(crate) fn settings(self) -> &'a str {
        self.text(|out| unsafe { imports::host_settings(out) })
    }

    pub(super) fn text(self, import: impl FnOnce(*mut Text)) -> &'a str {
        let mut out = Text { pointer: null(), length: 0 };
        import(&raw mut out);
        self.lift(out)
    }

    pub(super) fn optional(self, import: impl FnOnce(*mut Maybe<Text>)) -> Option<&'a str> {
        let mut out = Maybe { tag: 0, some: Text { pointer: null(), length: 0 } };
        import(&raw mut out);
        (out.tag != 0).then(|| self.lift(out.some))
    }

    pub(super) fn items<T>(self, import: impl FnOnce(*mut Items<T>)) -> &'a [T] {
        let mut out = Items { pointer: null(), length: 0 };
        import(&raw mut out);
        self.slice(&out)
    }

    fn slice<T>(self, items: &Items<T>) -> &'a [T] {
        // An empty list may come with any pointer.
        if items.length == 0 { &[] } else { unsafe { slice::from_raw_parts(items.pointer, items.length) } }
    }

    pub(super) fn lift(self, text: Text) -> &'a str {
        if text.length == 0 {
            return "";
        }
        unsafe { str::from_utf8_unchecked(slice::from_raw_parts(text.pointer, text.length)) }
    }
}
