//! Image names as kube-scheduler compares them, and the images of a node.

use std::{
    borrow::Cow,
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        OnceLock,
        atomic::{
            AtomicU64, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

use serde::Deserialize;

use super::members::Text;

const LATEST: &str = ":latest";

/// The name of an image, to be looked for on many nodes. Two names that mean the same image are equal.
///
/// It is a hash with a secret of this process: see `docs/decisions/0016-values-by-keyed-hash.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageName(u64);

/// Bytes by image, sorted: 16 bytes for each name.
#[derive(Debug, Clone, Default)]
pub(super) struct Images(Box<[(ImageName, u64)]>);

/// Two bits for each image that any node has had: one that is new to the whole cluster is on no node, and need not
/// be looked for on each. Enough for 100,000 images; with more, it says `perhaps` more often.
#[derive(Debug)]
struct Seen {
    bits: [AtomicU64; 1 << 14],
    /// The nodes that exist whose images were not read yet, so that the bits lack them.
    unread: AtomicUsize,
}

static SEEN: Seen = Seen::new();

/// The images of a node, read when they are first asked for.
#[derive(Debug)]
pub(super) struct LazyImages(OnceLock<Images>);

/// One entry of `status.images`.
#[derive(Deserialize)]
struct ImageJson<'a> {
    #[serde(borrow, default)]
    names: Option<Vec<Text<'a>>>,
    #[serde(rename = "sizeBytes", default)]
    size: u64,
}

/// Adds `:latest` to a name that has neither tag nor digest.
///
/// Source: `normalizedImageName` in `pkg/scheduler/framework/plugins/imagelocality`.
pub(super) fn normalized(name: &str) -> Cow<'_, str> {
    if has_tag(name) { Cow::Borrowed(name) } else { Cow::Owned(format!("{name}{LATEST}")) }
}

fn has_tag(name: &str) -> bool {
    name.rfind(':') > name.rfind('/') && name.contains(':')
}

// === impl ImageName ===

impl ImageName {
    /// The image that a name means.
    pub fn of(name: &str) -> Self {
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let mut state = SECRET.get_or_init(RandomState::new).build_hasher();
        state.write(name.as_bytes());
        if !has_tag(name) {
            state.write(LATEST.as_bytes());
        }
        Self(state.finish())
    }

    /// Whether no node of this process has the image. It looks at no node: `false` may be wrong, `true` never is.
    pub(crate) fn is_nowhere(self) -> bool {
        SEEN.has_on_no_node(self)
    }
}

// === impl Seen ===

impl Seen {
    #[expect(clippy::large_stack_arrays, reason = "only the static is made by it, at compile time")]
    const fn new() -> Self {
        Self { bits: [const { AtomicU64::new(0) }; 1 << 14], unread: AtomicUsize::new(0) }
    }

    fn add_unread(&self) {
        self.unread.fetch_add(1, Relaxed);
    }

    /// The images of a node were read and added, or the node is gone.
    fn remove_unread(&self) {
        // A thread that sees the lower count also sees the bits that were added before.
        self.unread.fetch_sub(1, Release);
    }

    fn has_on_no_node(&self, image: ImageName) -> bool {
        self.unread.load(Acquire) == 0 && !self.may_have(image)
    }

    fn add(&self, image: ImageName) {
        for (word, bit) in Self::places(image) {
            self.bits[word].fetch_or(bit, Relaxed);
        }
    }

    fn may_have(&self, image: ImageName) -> bool {
        Self::places(image).iter().all(|(word, bit)| self.bits[*word].load(Relaxed) & bit != 0)
    }

    /// Each of the 64 bits of a name is as good as any.
    fn places(ImageName(hash): ImageName) -> [(usize, u64); 2] {
        [hash, hash >> 32].map(|hash| ((hash >> 6) as usize % (1 << 14), 1 << (hash % 64)))
    }
}

// === impl LazyImages ===

impl LazyImages {
    pub(super) fn unread() -> Self {
        SEEN.add_unread();
        Self(OnceLock::new())
    }

    pub(super) fn get(&self, read: impl FnOnce() -> Images) -> &Images {
        self.0.get_or_init(|| {
            let images = read();
            SEEN.remove_unread();
            images
        })
    }
}

impl Drop for LazyImages {
    fn drop(&mut self) {
        if self.0.get().is_none() {
            SEEN.remove_unread();
        }
    }
}

// === impl Images ===

impl Images {
    /// Reads `status.images`; none where its form is not the API's.
    pub(super) fn of(json: &str) -> Self {
        let listed: Vec<ImageJson<'_>> = serde_json::from_str(json).unwrap_or_default();
        let of_image = |ImageJson { names, size }| {
            let names = names.into_iter().flatten();
            names.map(move |Text(name): Text<'_>| (ImageName::of(&name), size))
        };
        let mut images: Vec<(ImageName, u64)> = listed.into_iter().flat_map(of_image).collect();
        for (name, _) in &images {
            SEEN.add(*name);
        }
        // Of a name that is listed twice the first counts, as for kube-scheduler.
        images.sort_by_key(|(name, _)| *name);
        images.dedup_by_key(|(name, _)| *name);
        Self(images.into())
    }

    pub(super) fn size(&self, image: ImageName) -> Option<u64> {
        if !SEEN.may_have(image) {
            return None;
        }
        let at = self.0.binary_search_by_key(&image, |(name, _)| *name).ok()?;
        Some(self.0[at].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_tag_means_latest() {
        let names = [
            ("nginx", "nginx:latest"),
            ("localhost:5000/nginx", "localhost:5000/nginx:latest"),
            ("localhost:5000/nginx:1.2", "localhost:5000/nginx:1.2"),
            ("nginx@sha256:ab", "nginx@sha256:ab"),
        ];
        for (name, meant) in names {
            assert_eq!(normalized(name), meant);
            assert_eq!(ImageName::of(name), ImageName::of(meant));
        }
        assert_ne!(ImageName::of("nginx"), ImageName::of("nginx:1"));
    }

    #[test]
    fn an_image_is_on_no_node_only_if_the_images_of_every_node_are_known() {
        // One of its own: other tests make nodes at the same time.
        static SEEN: Seen = Seen::new();
        let (known, other) = (ImageName::of("known"), ImageName::of("other"));
        assert!(SEEN.has_on_no_node(known) && SEEN.has_on_no_node(other));
        SEEN.add_unread();
        assert!(!SEEN.has_on_no_node(known) && !SEEN.has_on_no_node(other), "the node may have either");
        SEEN.add(known);
        SEEN.remove_unread();
        assert!(!SEEN.has_on_no_node(known) && SEEN.has_on_no_node(other));
    }

    #[test]
    fn images_are_found_by_each_of_their_names() {
        let images = Images::of(
            r#"[{"names":["a@sha256:1","a:1"],"sizeBytes":7},{"names":null},{"names":["b\u002fc"],"sizeBytes":8},{"names":["a:1"],"sizeBytes":9}]"#,
        );
        let size = |name| images.size(ImageName::of(name));
        assert_eq!(["a@sha256:1", "a:1", "b/c:latest", "b/c"].map(size), [Some(7), Some(7), Some(8), Some(8)]);
        assert_eq!(["a", "a:2", ""].map(size), [None; 3]);
    }

    #[test]
    fn an_image_that_no_node_ever_had_is_mostly_told_at_once() {
        let names: Vec<String> = (0..1_000).map(|at| format!("registry.example.com/only-here/app:{at}")).collect();
        let told = |name: &&String| !SEEN.may_have(ImageName::of(name));
        assert!(names.iter().filter(told).count() > 900);
        let json = format!(r#"[{{"names":["{}"]}}]"#, names.join(r#"",""#));
        let images = Images::of(&json);
        assert!(names.iter().all(|name| images.size(ImageName::of(name)) == Some(0)));
    }

    #[test]
    fn what_is_no_list_of_images_holds_none() {
        for json in ["null", "7", r#"{"names":["a"]}"#, r#"[{"names":[1]}]"#, "[", ""] {
            assert!(Images::of(json).0.is_empty(), "{json}");
        }
    }
}
