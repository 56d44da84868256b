//! The result of an export: a pointer to words that stay until the next call.

use std::{borrow::Cow, cell::UnsafeCell, ptr::null};

use super::Single;
use crate::{Annotation, Preemption, Verdict};

/// `verdict`, `preemption` and both results have one layout: a tag, and text or a list.
#[repr(C)]
pub struct Reply {
    tag: u32,
    list: List,
}

/// A list or text.
#[repr(C)]
pub struct List {
    pointer: *const u8,
    length: usize,
}

/// The memory that the words point to.
#[expect(dead_code, reason = "kept alive for the host, which reads it after the call")]
pub(crate) enum Kept {
    Nothing,
    Text(Cow<'static, str>),
    Numbers(Vec<u32>),
    Annotations(Vec<[List; 2]>, Vec<Annotation>),
}

#[expect(dead_code, reason = "read by the host, through pointers")]
struct Last {
    reply: Reply,
    kept: Kept,
}

static LAST: Single<Last> = Single(UnsafeCell::new(Last {
    reply: Reply { tag: 0, list: List { pointer: null(), length: 0 } },
    kept: Kept::Nothing,
}));

/// Something that an export answers with.
pub(crate) trait EncodeAnswer {
    /// The tag and what follows it.
    fn into_reply(self) -> (u32, Kept);
}

/// The words of a tagged answer.
pub(crate) fn reply(answer: impl EncodeAnswer) -> *const Reply {
    let (tag, kept) = answer.into_reply();
    let list = kept.list();
    // SAFETY: one thread, and the host has read the last reply when it makes another call.
    unsafe { *LAST.0.get() = Last { reply: Reply { tag, list }, kept } };
    // SAFETY: the pointer is to a static; its `reply` need not be its first field.
    unsafe { &raw const (*LAST.0.get()).reply }
}

/// The words of a list of numbers.
pub(crate) fn numbers(numbers: Vec<u32>) -> *const List {
    let reply = reply(numbers);
    // SAFETY: `reply` is a pointer to the static, which is never moved.
    unsafe { &raw const (*reply).list }
}

// === impl Kept ===

impl Kept {
    /// Where it is; moving `self` moves none of it.
    fn list(&self) -> List {
        match self {
            Self::Nothing => List { pointer: null(), length: 0 },
            Self::Text(text) => List::of(text.as_bytes()),
            Self::Numbers(numbers) => List::of(numbers),
            Self::Annotations(pairs, _) => List::of(pairs),
        }
    }
}

// === impl List ===

impl List {
    fn of<T>(items: &[T]) -> Self {
        Self { pointer: items.as_ptr().cast(), length: items.len() }
    }
}

impl EncodeAnswer for Verdict {
    fn into_reply(self) -> (u32, Kept) {
        match self {
            Self::Fits => (0, Kept::Nothing),
            Self::Unschedulable(reason) => (1, Kept::Text(reason)),
            Self::Unresolvable(reason) => (2, Kept::Text(reason)),
        }
    }
}

impl EncodeAnswer for Preemption {
    fn into_reply(self) -> (u32, Kept) {
        match self {
            Self::Keep => (0, Kept::Nothing),
            Self::Reject(reason) => (1, Kept::Text(reason)),
            Self::Replace(victims) => (2, Kept::Numbers(victims)),
        }
    }
}

impl EncodeAnswer for Vec<u32> {
    fn into_reply(self) -> (u32, Kept) {
        (0, Kept::Numbers(self))
    }
}

impl EncodeAnswer for Result<(), String> {
    fn into_reply(self) -> (u32, Kept) {
        match self {
            Ok(()) => (0, Kept::Nothing),
            Err(error) => (1, Kept::Text(error.into())),
        }
    }
}

impl EncodeAnswer for Result<Vec<Annotation>, String> {
    fn into_reply(self) -> (u32, Kept) {
        match self {
            Ok(annotations) => {
                let pair = |own: &Annotation| [List::of(own.key.as_bytes()), List::of(own.value.as_bytes())];
                (0, Kept::Annotations(annotations.iter().map(pair).collect(), annotations))
            }
            Err(error) => (1, Kept::Text(error.into())),
        }
    }
}
