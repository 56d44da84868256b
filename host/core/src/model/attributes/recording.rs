//! The reads of one call, in order: as `View::read` records them.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use plimsoll_decision_cache::{HeapSize, ReadLog, SharedLog};

use super::attribute::{Attribute, AttributeRef};
use crate::model::{FactAccess, Read, ReadError, Shown, Value, excerpt, read::ReadScope};

/// Maximum reads with their values.
const MAX_LINES: usize = 1_000;

/// The most bytes of a line about a read: a guest may name a key of a MiB.
const MAX_READ_BYTES: usize = 500;

/// Maximum bytes of the values of all lines: a read of all nodes may have a value of each.
const MAX_VALUES_BYTES: usize = 1 << 20;

/// Stands for a value beyond that.
const NOT_SHOWN: &str = "not shown: the values of this call are more than 1 MiB";

/// Records the reads of one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    log: SharedLog<Attribute>,
    /// Every read with its value; none if only the decision cache needs them.
    lines: Option<Arc<Mutex<Lines>>>,
    /// Whether something was read of the nodes of the request together, or of another node than the one in question;
    /// `None` if that is not recorded.
    compares_nodes: Option<Arc<AtomicBool>>,
    /// Whether something was read that the sidecar does not declare: a source of facts, or a count; `None` if that is
    /// not recorded.
    reads_undeclared: Option<Arc<AtomicBool>>,
}

/// Reads with their values, and the bytes of these values.
#[derive(Debug, Default)]
struct Lines {
    lines: Vec<ReadLine>,
    bytes: usize,
}

/// One read and its result, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLine {
    /// The read, as the contract writes it; of a very long one the beginning.
    pub read: String,
    /// Its value.
    pub value: Shown,
    /// The name of the node that it is read of, where that is not the node in question.
    pub other: Option<Arc<str>>,
    /// Whether it is of something other than the pod, the time, the cluster or the node in question: such an answer is
    /// not cached.
    pub is_of_others: bool,
}

// === impl Recording ===

impl Recording {
    /// A recording for the decision cache.
    pub(crate) fn of(log: &SharedLog<Attribute>) -> Self {
        Self { log: Arc::clone(log), ..Self::default() }
    }

    /// A recording that keeps every read with its value, for people.
    pub(crate) fn with_lines() -> Self {
        Self { lines: Some(Arc::default()), ..Self::default() }
    }

    /// Whether every read is kept, for people.
    pub(crate) fn has_lines(&self) -> bool {
        self.lines.is_some()
    }

    /// A recording of a trial call.
    pub(crate) fn for_trial() -> Self {
        Self { reads_undeclared: Some(Arc::default()), ..Self::with_lines() }
    }

    /// A recording for a bind, which is about one node; its values are compared with later ones.
    pub(crate) fn for_bind() -> Self {
        let recording = Self { compares_nodes: Some(Arc::default()), ..Self::default() };
        recording.begin(0);
        recording
    }

    /// The reads of [`Self::take_lines`], with the policy's names of the sources.
    pub(crate) fn take_shown_lines(&self, facts: Option<&FactAccess>) -> Vec<ReadLine> {
        let mut lines = self.take_lines();
        for line in &mut lines {
            if let Some(Cow::Owned(own)) = facts.map(|facts| facts.in_words_of_policy(&line.read)) {
                line.read = own;
            }
        }
        lines
    }

    /// The reads in order; at most [`MAX_LINES`].
    pub(crate) fn take_lines(&self) -> Vec<ReadLine> {
        self.lines().map(|mut lines| std::mem::take(&mut *lines).lines).unwrap_or_default()
    }

    /// Makes this the node that the following reads are made for.
    pub(crate) fn begin(&self, node: u32) {
        self.log.lock().begin(node);
    }

    /// Records one read; `name` names a node of the view.
    pub(crate) fn record<'v>(
        &self,
        read: &Read<'_>,
        answer: &Result<Value<'_>, ReadError>,
        name: impl FnOnce(u32) -> Option<&'v Arc<str>>,
    ) {
        let mut log = self.log.lock();
        let position = log.position();
        let is_of_others = record_in(&mut log, *read, answer.is_ok());
        drop(log);
        if let Some(compares) = self.compares_nodes.as_ref().filter(|_| compares_nodes(read, position)) {
            compares.store(true, Ordering::Relaxed);
        }
        let is_undeclared = matches!(
            answer,
            Err(ReadError::UndeclaredSource(_) | ReadError::SourceNotInCase(_) | ReadError::Counts(_))
        );
        if let Some(undeclared) = self.reads_undeclared.as_ref().filter(|_| is_undeclared) {
            undeclared.store(true, Ordering::Relaxed);
        }
        if let Some(mut lines) = self.lines().filter(|lines| lines.lines.len() < MAX_LINES) {
            let other = match read.scope() {
                ReadScope::Node(node, _) if position != Some(node) => name(node).cloned(),
                _ => None,
            };
            let value = Shown::of_answer(*read, answer);
            let read = excerpt(&read.to_string(), MAX_READ_BYTES);
            lines.push(ReadLine { read, value, other, is_of_others });
        }
    }

    /// Whether something was read of the nodes of the request together, or of another node than the one in question.
    pub(crate) fn compares_nodes(&self) -> bool {
        self.compares_nodes.as_ref().is_some_and(|compares| compares.load(Ordering::Relaxed))
    }

    /// Whether something was read that the sidecar does not declare: a source of facts, or a count.
    pub(crate) fn reads_undeclared(&self) -> bool {
        self.reads_undeclared.as_ref().is_some_and(|undeclared| undeclared.load(Ordering::Relaxed))
    }

    /// The reads since [`Self::begin`].
    pub(crate) fn log(&self) -> MutexGuard<'_, ReadLog<Attribute>> {
        self.log.lock()
    }

    /// Whether something was read that answers cannot be cached by.
    pub(crate) fn is_uncacheable(&self) -> bool {
        self.log.lock().is_uncacheable()
    }

    fn lines(&self) -> Option<MutexGuard<'_, Lines>> {
        self.lines.as_ref().map(|lines| lines.lock())
    }
}

// === impl ReadLine ===

impl ReadLine {
    /// Its bytes in memory.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.read.len() + self.value.heap_size()
    }
}

// === impl Lines ===

impl Lines {
    /// Adds a line; its value is left out if all values together would be too large.
    fn push(&mut self, mut line: ReadLine) {
        let bytes = self.bytes.saturating_add(line.value.heap_size());
        if bytes > MAX_VALUES_BYTES {
            line.value = Shown::Note(NOT_SHOWN.into());
        } else {
            self.bytes = bytes;
        }
        self.lines.push(line);
    }
}

/// Says whether the read is of something other than the pod, the time, the cluster or the node in question.
fn record_in(log: &mut ReadLog<Attribute>, read: Read<'_>, exists: bool) -> bool {
    match read.scope() {
        ReadScope::Constant => false,
        ReadScope::Request(attribute) => {
            log.record_subject(&AttributeRef::of(attribute));
            false
        }
        ReadScope::Cluster(attribute) if exists => {
            log.record_snapshot(&AttributeRef::of(attribute));
            false
        }
        ReadScope::Node(node, attribute) if exists => !log.record_row(node, &AttributeRef::of(attribute)),
        // Something that does not exist, or all nodes at once.
        ReadScope::Node(..) | ReadScope::Cluster(_) | ReadScope::Whole => {
            log.record_other();
            true
        }
    }
}

fn compares_nodes(read: &Read<'_>, position: Option<u32>) -> bool {
    match read.scope() {
        ReadScope::Whole => true,
        ReadScope::Node(node, _) => position != Some(node),
        ReadScope::Constant | ReadScope::Request(_) | ReadScope::Cluster(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NodeRead;

    #[test]
    fn a_yes_or_no_is_shown_as_such() {
        let recording = Recording::with_lines();
        for answer in [true, false] {
            recording.record(&Read::Node(0, NodeRead::Unschedulable), &Ok(Value::flag(answer)), |_| None);
        }
        let shown: Vec<Shown> = recording.take_lines().into_iter().map(|line| line.value).collect();
        assert_eq!(shown, [Shown::Flag(true), Shown::Flag(false)]);
        assert_eq!(shown[0].to_string(), "true");
    }

    #[test]
    fn the_values_of_all_lines_are_bounded_and_each_read_is_listed() {
        let recording = Recording::with_lines();
        let (long, short) = ("v".repeat(4_000), Ok(Value::Number(7)));
        for _ in 0..500 {
            recording.record(&Read::HostNow(1), &Ok(Value::text(&long)), |_| None);
        }
        recording.record(&Read::HostNow(1), &short, |_| None);
        let lines = recording.take_lines();
        let bytes: usize = lines.iter().map(|line| line.value.heap_size()).sum();
        assert!(bytes <= MAX_VALUES_BYTES + 500 * NOT_SHOWN.len(), "{bytes}");
        assert_eq!(lines.len(), 501);
        assert_eq!(lines[0].value, Shown::of(&Value::text(&long), 4_000));
        assert_eq!(lines[499].value, Shown::Note(NOT_SHOWN.into()));
        assert_eq!(lines[500].value, Shown::Number(7), "a short value after a long one");
    }
}
