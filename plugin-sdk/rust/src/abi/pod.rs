//! The functions of the interface `pod`. What they say is kept: an instance is asked about one pod, and mostly about
//! many nodes.

use std::cell::{RefCell, UnsafeCell};

use super::{Single, door::Door, imports};

/// The most reads that are kept: a policy may make up a key for each node.
const MOST: usize = 32;

static READS: Single<RefCell<PodReads>> =
    Single(UnsafeCell::new(RefCell::new(PodReads { texts: Vec::new(), numbers: Vec::new(), images: None })));

/// What the host has said of the pod so far.
struct PodReads {
    texts: Vec<Known<Option<&'static str>>>,
    numbers: Vec<Known<i64>>,
    images: Option<Vec<&'static str>>,
}

struct Known<V> {
    what: What,
    key: &'static str,
    value: V,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Name,
    Namespace,
    Uid,
    Label,
    Annotation,
    Priority,
    Request,
    Field,
}

// === impl Door ===

// `door.rs` says what makes each `unsafe` sound.
impl<'a> Door<'a> {
    pub(crate) fn pod_name(self) -> &'a str {
        let read = || self.text(|out| unsafe { imports::pod_name(out) });
        text(What::Name, "", || Some(read())).unwrap_or_default()
    }

    pub(crate) fn pod_namespace(self) -> &'a str {
        let read = || self.text(|out| unsafe { imports::pod_namespace(out) });
        text(What::Namespace, "", || Some(read())).unwrap_or_default()
    }

    pub(crate) fn pod_uid(self) -> &'a str {
        let read = || self.text(|out| unsafe { imports::pod_uid(out) });
        text(What::Uid, "", || Some(read())).unwrap_or_default()
    }

    pub(crate) fn pod_label(self, key: &str) -> Option<&'a str> {
        let read = || self.optional(|out| unsafe { imports::pod_label(key.as_ptr(), key.len(), out) });
        text(What::Label, key, read)
    }

    pub(crate) fn pod_annotation(self, key: &str) -> Option<&'a str> {
        let read = || self.optional(|out| unsafe { imports::pod_annotation(key.as_ptr(), key.len(), out) });
        text(What::Annotation, key, read)
    }

    pub(crate) fn pod_priority(self) -> i32 {
        number(What::Priority, "", || i64::from(imports::pod_priority())) as i32
    }

    pub(crate) fn pod_request(self, name: &str) -> i64 {
        number(What::Request, name, || unsafe { imports::pod_request(name.as_ptr(), name.len()) })
    }

    pub(crate) fn pod_images(self) -> Vec<&'a str> {
        if let Some(images) = &reads().borrow().images {
            return images.clone();
        }
        let images = self.items(|out| unsafe { imports::pod_images(out) });
        let images: Vec<&str> = images.iter().map(|image| kept(self.lift(*image))).collect();
        reads().borrow_mut().images = Some(images.clone());
        images
    }

    pub(crate) fn pod_field(self, pointer: &str) -> Option<&'a str> {
        let read = || self.optional(|out| unsafe { imports::pod_field(pointer.as_ptr(), pointer.len(), out) });
        text(What::Field, pointer, read)
    }
}

fn reads() -> &'static RefCell<PodReads> {
    // SAFETY: one thread, and what is behind the pointer is only ever shared.
    unsafe { &*READS.0.get() }
}

fn text<'a>(what: What, key: &str, read: impl FnOnce() -> Option<&'a str>) -> Option<&'a str> {
    let known = find(&reads().borrow().texts, what, key);
    known.unwrap_or_else(|| {
        let value = read();
        keep(&mut reads().borrow_mut().texts, what, key, || value.map(kept));
        value
    })
}

fn number(what: What, key: &str, read: impl FnOnce() -> i64) -> i64 {
    let known = find(&reads().borrow().numbers, what, key);
    known.unwrap_or_else(|| {
        let value = read();
        keep(&mut reads().borrow_mut().numbers, what, key, || value);
        value
    })
}

fn find<V: Copy>(all: &[Known<V>], what: What, key: &str) -> Option<V> {
    all.iter().find(|known| known.what == what && known.key == key).map(|known| known.value)
}

fn keep<V>(all: &mut Vec<Known<V>>, what: What, key: &str, value: impl FnOnce() -> V) {
    if all.len() < MOST {
        all.push(Known { what, key: kept(key), value: value() });
    }
}

/// A copy for as long as the instance lives; the arena is rewound with the next call.
fn kept(text: &str) -> &'static str {
    Box::leak(Box::from(text))
}
