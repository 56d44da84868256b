//! The reads of one call, in order: what `View::read` writes down.

use std::sync::Arc;

use super::path::{Path, PathRef, Scope};
use crate::{Read, ReadError, Shown, Value, shown_settings};

/// Reads of one evaluation that are kept one by one; what follows is kept as a read of all of the node.
pub(super) const MAX_STEPS: usize = 16;

/// Different reads of the pod and the time that a policy may make and still be remembered.
pub(super) const MAX_REQUEST_PATHS: usize = 64;

/// Different reads of nodes in one call, and bytes of all keys; a policy beyond it is asked each time.
const MAX_NODE_PATHS: usize = 256;
const MAX_TEXT: usize = 32 << 10;

/// The most lines of a story.
const MAX_LINES: usize = 1_000;

/// What one call of a policy has read so far.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    /// The node of the evaluation under way.
    node: Option<u32>,
    /// Every path that was read of a node, once.
    paths: Vec<Path>,
    /// The evaluation under way: paths by index, each once, in the order of their first read.
    steps: Vec<u32>,
    /// The evaluation before: the next is likely to read the same.
    before: Vec<u32>,
    /// Whether the evaluation under way has read more than is kept one by one.
    long: bool,
    /// What was read of the pod and the time, once each.
    request: Vec<Path>,
    /// Where in `request` the last read was found.
    cursor: usize,
    text: usize,
    whole: bool,
    /// Every read with its value, where somebody wants to be told.
    story: Option<Vec<ReadLine>>,
}

/// One read and what it came to, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLine {
    /// The read, as the contract writes it.
    pub read: String,
    /// Its value.
    pub value: Shown,
    /// The name of the node that it is read of, where that is not the node in question.
    pub other: Option<Arc<str>>,
    /// Whether it is not of the pod, the time or the node in question alone: such an answer is not remembered.
    pub is_of_others: bool,
}

// === impl Recording ===

impl Recording {
    /// A recording that tells every read with its value.
    pub(crate) fn of_story() -> Self {
        Self { story: Some(Vec::new()), ..Self::default() }
    }

    /// What was read, in order; of a very long story the beginning.
    pub(crate) fn take_story(&mut self) -> Vec<ReadLine> {
        self.story.take().unwrap_or_default()
    }

    /// What follows is read to answer about this node.
    pub(crate) fn begin(&mut self, node: u32) {
        self.node = Some(node);
        std::mem::swap(&mut self.before, &mut self.steps);
        self.steps.clear();
        self.long = false;
    }

    /// What was read for the node since [`Recording::begin`]; none if the answer cannot be remembered.
    pub(super) fn finish(&mut self) -> Option<&[u32]> {
        self.node = None;
        if self.whole { None } else { Some(&self.steps) }
    }

    /// Writes down one read; `name` names a node of the view.
    pub(crate) fn note<'v>(
        &mut self,
        read: &Read<'_>,
        answer: &Result<Value<'_>, ReadError>,
        name: impl FnOnce(u32) -> Option<&'v Arc<str>>,
    ) {
        let mut other = None;
        let is_of_others = match Scope::of(read) {
            Scope::Constant => false,
            Scope::Request(path) => {
                self.of_request(&path);
                false
            }
            Scope::Node(node, path) if answer.is_ok() && self.node == Some(node) => {
                self.of_node(&path);
                false
            }
            // Of another node, or of what is not there, or between two evaluations.
            Scope::Node(node, _) => {
                other = (self.node != Some(node)).then_some(node);
                true
            }
            Scope::Whole => true,
        };
        self.whole |= is_of_others;
        if let Some(story) = self.story.as_mut().filter(|story| story.len() < MAX_LINES) {
            let (value, other) = (Shown::of_answer(&for_people(read, answer)), other.and_then(name).cloned());
            story.push(ReadLine { read: read.to_string(), value, other, is_of_others });
        }
    }

    /// Whether something was read that answers cannot be remembered by.
    ///
    /// It holds to the end of the call: what an instance has read once it may go on using.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// What was read of nodes, by the indices of the steps.
    pub(super) fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// What was read of the pod and the time.
    pub(super) fn request(&self) -> &[Path] {
        &self.request
    }

    fn of_request(&mut self, path: &PathRef<'_>) {
        // A guest that reads the pod anew for each node reads it in the same order.
        let next = if self.cursor + 1 < self.request.len() { self.cursor + 1 } else { 0 };
        if self.request.get(next).is_some_and(|own| path.is(own)) {
            self.cursor = next;
        } else if let Some(at) = self.request.iter().position(|own| path.is(own)) {
            self.cursor = at;
        } else if self.has_room(path, self.request.len() <= MAX_REQUEST_PATHS) {
            self.cursor = self.request.len();
            self.request.push(path.to_path());
        }
    }

    fn of_node(&mut self, path: &PathRef<'_>) {
        if self.long {
            return;
        }
        let Some(step) = self.step(path) else { return };
        if self.steps.contains(&step) {
            return;
        }
        if self.steps.len() < MAX_STEPS {
            self.steps.push(step);
            return;
        }
        self.long = true;
        for record in [PathRef::NODE_RECORD, PathRef::PLACED_RECORD] {
            let Some(step) = self.step(&record) else { return };
            if !self.steps.contains(&step) {
                self.steps.push(step);
            }
        }
    }

    /// The index of a path.
    fn step(&mut self, path: &PathRef<'_>) -> Option<u32> {
        let likely = self.before.get(self.steps.len()).copied();
        if let Some(step) = likely.filter(|step| path.is(&self.paths[*step as usize])) {
            return Some(step);
        }
        if let Some(at) = self.paths.iter().position(|own| path.is(own)) {
            return Some(at as u32);
        }
        if !self.has_room(path, self.paths.len() < MAX_NODE_PATHS) {
            return None;
        }
        self.paths.push(path.to_path());
        Some(self.paths.len() as u32 - 1)
    }

    fn has_room(&mut self, path: &PathRef<'_>, room: bool) -> bool {
        self.text += path.len();
        let fits = room && self.text <= MAX_TEXT;
        self.whole |= !fits;
        fits
    }
}

/// The answer as it may be shown: settings may hold what only the policy should know.
fn for_people<'v>(read: &Read<'_>, answer: &Result<Value<'v>, ReadError>) -> Result<Value<'v>, ReadError> {
    match (read, answer) {
        (Read::Settings, Ok(Value::Text(settings))) => Ok(Value::Text(shown_settings(settings).into())),
        _ => answer.clone(),
    }
}
