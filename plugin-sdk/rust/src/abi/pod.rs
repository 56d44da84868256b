//! Keeps the values that were read of the pod: an instance is asked about one pod, and usually about many nodes.

use std::cell::{RefCell, UnsafeCell};

use super::{imports::PodFunction, single::Single};

/// The most reads of each shape that are kept: a policy may make up a key for each node.
const MAX_FIELDS: usize = 32;

static READS: Single<RefCell<PodReads>> =
    Single(UnsafeCell::new(RefCell::new(PodReads { texts: Vec::new(), numbers: Vec::new(), lists: Vec::new() })));

/// The values that the host has returned so far.
struct PodReads {
    texts: Vec<Known<Option<&'static str>>>,
    numbers: Vec<Known<i64>>,
    lists: Vec<Known<Vec<&'static str>>>,
}

struct Known<V> {
    function: PodFunction,
    key: &'static str,
    value: V,
}

pub(super) fn text<'a>(function: PodFunction, key: &str, read: impl FnOnce() -> Option<&'a str>) -> Option<&'a str> {
    let known = find(&reads().borrow().texts, function, key);
    known.unwrap_or_else(|| {
        let value = read();
        keep(&mut reads().borrow_mut().texts, function, key, || value.map(kept));
        value
    })
}

pub(super) fn texts<'a>(function: PodFunction, key: &str, read: impl FnOnce() -> Vec<&'a str>) -> Vec<&'a str> {
    let known = find(&reads().borrow().lists, function, key);
    known.unwrap_or_else(|| {
        let value = read();
        keep(&mut reads().borrow_mut().lists, function, key, || value.iter().copied().map(kept).collect());
        value
    })
}

pub(super) fn number(function: PodFunction, key: &str, read: impl FnOnce() -> i64) -> i64 {
    let known = find(&reads().borrow().numbers, function, key);
    known.unwrap_or_else(|| {
        let value = read();
        keep(&mut reads().borrow_mut().numbers, function, key, || value);
        value
    })
}

fn reads() -> &'static RefCell<PodReads> {
    // SAFETY: one thread, and what is behind the pointer is only ever shared.
    unsafe { &*READS.0.get() }
}

fn find<V: Clone>(all: &[Known<V>], function: PodFunction, key: &str) -> Option<V> {
    all.iter().find(|known| known.function == function && known.key == key).map(|known| known.value.clone())
}

fn keep<V>(all: &mut Vec<Known<V>>, function: PodFunction, key: &str, value: impl FnOnce() -> V) {
    if all.len() < MAX_FIELDS {
        all.push(Known { function, key: kept(key), value: value() });
    }
}

/// A copy for as long as the instance lives; the arena is rewound with the next call.
fn kept(text: &str) -> &'static str {
    Box::leak(Box::from(text))
}
