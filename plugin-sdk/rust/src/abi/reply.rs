//! The result of an export: a pointer to words that stay until the next call.

use std::{borrow::Cow, cell::UnsafeCell, ptr::null};

use super::single::Single;
use crate::{BindMetadata, MetadataEntry, NotBound, Preemption, Verdict};

/// `verdict`, `preemption` and the result of `validate` have one layout: a tag, and text or a list.
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

/// The answer of `bind`: a tag, and two lists of pairs, or the tag of a refusal with its text.
#[repr(C)]
pub struct BindReply {
    tag: u32,
    words: [usize; 4],
}

/// The memory that the words point to.
pub(crate) enum Kept {
    Nothing,
    Text(Cow<'static, str>),
    Numbers(Vec<u32>),
}

/// The same of the answer of `bind`.
#[expect(dead_code, reason = "kept alive for the host, which reads it after the call")]
enum KeptBind {
    Nothing,
    Text(Cow<'static, str>),
    Metadata([Vec<[List; 2]>; 2], BindMetadata),
}

#[expect(dead_code, reason = "read by the host, through pointers")]
struct LastBind {
    reply: BindReply,
    kept: KeptBind,
}

static LAST_BIND: Single<LastBind> =
    Single(UnsafeCell::new(LastBind { reply: BindReply { tag: 0, words: [0; 4] }, kept: KeptBind::Nothing }));

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
    /// The tag and the payload.
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

/// The words of the answer of `bind`.
pub(crate) fn bind_reply(answer: Result<BindMetadata, NotBound>) -> *const BindReply {
    let (reply, kept) = match answer {
        Ok(metadata) => {
            let pair = |own: &MetadataEntry| [List::of(own.key.as_bytes()), List::of(own.value.as_bytes())];
            let all = |own: &[MetadataEntry]| own.iter().map(pair).collect::<Vec<_>>();
            let lists = [all(&metadata.annotations), all(&metadata.labels)];
            let [annotations, labels] = lists.each_ref().map(|pairs| List::of(pairs).words());
            let words = [annotations[0], annotations[1], labels[0], labels[1]];
            (BindReply { tag: 0, words }, KeptBind::Metadata(lists, metadata))
        }
        Err(not_bound) => {
            let (tag, reason) = match not_bound {
                NotBound::Refused(reason) => (0, reason),
                NotBound::Retry(reason) => (1, reason),
            };
            let [pointer, length] = List::of(reason.as_bytes()).words();
            (BindReply { tag: 1, words: [tag, pointer, length, 0] }, KeptBind::Text(reason))
        }
    };
    // SAFETY: one thread, and the host has read the last reply when it makes another call.
    unsafe { *LAST_BIND.0.get() = LastBind { reply, kept } };
    // SAFETY: the pointer is to a static; its `reply` need not be its first field.
    unsafe { &raw const (*LAST_BIND.0.get()).reply }
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
        }
    }
}

// === impl List ===

impl List {
    fn of<T>(items: &[T]) -> Self {
        Self { pointer: items.as_ptr().cast(), length: items.len() }
    }

    /// Its pointer and length, where they share their place with other numbers.
    fn words(&self) -> [usize; 2] {
        [self.pointer.expose_provenance(), self.length]
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
