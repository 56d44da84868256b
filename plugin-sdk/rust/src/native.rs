//! The world of a native test: the host's own model answers each read.

use std::{borrow::Cow, cell::Cell};

use plimsoll_core::{Grouping, NodeRead, PlacedRead, PodRead, Read, Value, View};

use crate::{Taint, log::Level, view::Groups};

thread_local! {
    /// The time of the call under way; `now` has no view at hand.
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Answers the reads of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Door<'a> {
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
        let now = match view.read(Read::Now(1)) {
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

// === impl Door ===

impl<'a> Door<'a> {
    pub(crate) fn new(view: &'a View) -> Self {
        Self { view }
    }

    pub(crate) fn pod_name(self) -> &'a str {
        self.text(Read::Pod(PodRead::Name))
    }

    pub(crate) fn pod_namespace(self) -> &'a str {
        self.text(Read::Pod(PodRead::Namespace))
    }

    pub(crate) fn pod_uid(self) -> &'a str {
        self.text(Read::Pod(PodRead::Uid))
    }

    pub(crate) fn pod_label(self, key: &str) -> Option<&'a str> {
        self.optional(Read::Pod(PodRead::Label(key)))
    }

    pub(crate) fn pod_annotation(self, key: &str) -> Option<&'a str> {
        self.optional(Read::Pod(PodRead::Annotation(key)))
    }

    pub(crate) fn pod_priority(self) -> i32 {
        self.number(Read::Pod(PodRead::Priority)) as i32
    }

    pub(crate) fn pod_request(self, name: &str) -> i64 {
        self.number(Read::Pod(PodRead::Request(name)))
    }

    pub(crate) fn pod_images(self) -> Vec<&'a str> {
        let Value::Texts(images) = self.read(Read::Pod(PodRead::Images)) else { return vec![] };
        images.iter().map(AsRef::as_ref).collect()
    }

    pub(crate) fn pod_field(self, pointer: &str) -> Option<&'a str> {
        self.optional(Read::Pod(PodRead::Field(pointer)))
    }

    pub(crate) fn node_count(self) -> u32 {
        self.number(Read::NodeCount) as u32
    }

    pub(crate) fn node_name(self, node: u32) -> &'a str {
        self.text(Read::Node(node, NodeRead::Name))
    }

    pub(crate) fn node_label(self, node: u32, key: &str) -> Option<&'a str> {
        self.optional(Read::Node(node, NodeRead::Label(key)))
    }

    pub(crate) fn node_by_label(self, key: &str) -> Groups<'a> {
        match self.read(Read::NodesByLabel(key)) {
            Value::Grouping(Grouping { values, groups }) => Groups::new(values, groups),
            _ => Groups::default(),
        }
    }

    pub(crate) fn node_annotation(self, node: u32, key: &str) -> Option<&'a str> {
        self.optional(Read::Node(node, NodeRead::Annotation(key)))
    }

    pub(crate) fn node_taints(self, node: u32) -> Vec<Taint<'a>> {
        let Value::Taints(taints) = self.read(Read::Node(node, NodeRead::Taints)) else { return vec![] };
        taints.iter().map(|taint| Taint { key: &taint.key, value: &taint.value, effect: &taint.effect }).collect()
    }

    pub(crate) fn node_allocatable(self, node: u32, name: &str) -> i64 {
        self.number(Read::Node(node, NodeRead::Allocatable(name)))
    }

    pub(crate) fn node_requested(self, node: u32, name: &str) -> Option<i64> {
        self.optional_number(Read::Node(node, NodeRead::Requested(name)))
    }

    pub(crate) fn node_image_size(self, node: u32, image: &str) -> Option<u64> {
        self.optional_number(Read::Node(node, NodeRead::ImageSize(image))).map(|size| size as u64)
    }

    pub(crate) fn node_field(self, node: u32, pointer: &str) -> Option<&'a str> {
        self.optional(Read::Node(node, NodeRead::Field(pointer)))
    }

    pub(crate) fn placed_count(self, node: u32) -> u32 {
        self.number(Read::PlacedCount(node)) as u32
    }

    pub(crate) fn placed_name(self, node: u32, pod: u32) -> &'a str {
        self.text(Read::Placed(node, pod, PlacedRead::Name))
    }

    pub(crate) fn placed_namespace(self, node: u32, pod: u32) -> &'a str {
        self.text(Read::Placed(node, pod, PlacedRead::Namespace))
    }

    pub(crate) fn placed_label(self, node: u32, pod: u32, key: &str) -> Option<&'a str> {
        self.optional(Read::Placed(node, pod, PlacedRead::Label(key)))
    }

    pub(crate) fn placed_annotation(self, node: u32, pod: u32, key: &str) -> Option<&'a str> {
        self.optional(Read::Placed(node, pod, PlacedRead::Annotation(key)))
    }

    pub(crate) fn placed_priority(self, node: u32, pod: u32) -> i32 {
        self.number(Read::Placed(node, pod, PlacedRead::Priority)) as i32
    }

    pub(crate) fn placed_request(self, node: u32, pod: u32, name: &str) -> i64 {
        self.number(Read::Placed(node, pod, PlacedRead::Request(name)))
    }

    pub(crate) fn placed_created(self, node: u32, pod: u32) -> u64 {
        u64::try_from(self.number(Read::Placed(node, pod, PlacedRead::Created))).unwrap_or(0)
    }

    pub(crate) fn placed_count_labelled(self, node: u32, namespace: &str, key: &str, value: &str) -> u32 {
        self.number(Read::PlacedLabelled { node, namespace, key, value }) as u32
    }

    pub(crate) fn placed_counts_labelled(self, namespace: &str, key: &str, value: &str) -> Vec<u32> {
        match self.read(Read::NodesLabelled { namespace, key, value }) {
            Value::Counts(counts) => counts,
            _ => vec![],
        }
    }

    pub(crate) fn candidate_count(self) -> u32 {
        self.number(Read::CandidateCount) as u32
    }

    pub(crate) fn candidate_node(self, candidate: u32) -> u32 {
        self.number(Read::CandidateNode(candidate)) as u32
    }

    pub(crate) fn candidate_victims(self, candidate: u32) -> &'a [u32] {
        let Value::Indices(victims) = self.read(Read::CandidateVictims(candidate)) else { return &[] };
        victims
    }

    pub(crate) fn candidate_pdb_violations(self, candidate: u32) -> u32 {
        self.number(Read::CandidatePdbViolations(candidate)) as u32
    }

    pub(crate) fn settings(self) -> &'a str {
        self.text(Read::Settings)
    }

    fn read(self, read: Read<'_>) -> Value<'a> {
        // In WebAssembly the host ends the call with this text.
        self.view.read(read).unwrap_or_else(|error| panic!("{error}"))
    }

    fn text(self, read: Read<'_>) -> &'a str {
        self.optional(read).unwrap_or_default()
    }

    fn optional(self, read: Read<'_>) -> Option<&'a str> {
        match self.read(read) {
            Value::Text(Cow::Borrowed(text)) => Some(text),
            // The model owns nearly all its text; what it makes up is worth a leak in a test.
            Value::Text(Cow::Owned(text)) => Some(text.leak()),
            _ => None,
        }
    }

    fn number(self, read: Read<'_>) -> i64 {
        self.optional_number(read).unwrap_or(0)
    }

    fn optional_number(self, read: Read<'_>) -> Option<i64> {
        match self.read(read) {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }
}
