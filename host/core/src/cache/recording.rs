//! The reads of one call, in order: what `View::read` writes down.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use plimsoll_decision_cache::{ReadLog, SharedLog};

use super::attribute::{Attribute, AttributeRef};
use crate::{Read, ReadError, Secrets, Shown, Value, excerpt, read::ReadScope, shown_settings};

/// The most lines of a story.
const MAX_LINES: usize = 1_000;

/// The most bytes of a line that say what was read: a guest may name a key of a MiB.
const MAX_READ_BYTES: usize = 500;

/// Where the reads of one call are written down.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    log: SharedLog<Attribute>,
    /// Every read with its value, where somebody wants to be told.
    story: Option<Arc<Mutex<Vec<ReadLine>>>>,
}

/// One read and what it came to, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadLine {
    /// The read, as the contract writes it; of a very long one the beginning.
    pub read: String,
    /// Its value.
    pub value: Shown,
    /// The name of the node that it is read of, where that is not the node in question.
    pub other: Option<Arc<str>>,
    /// Whether it is not of the pod, the time or the node in question alone: such an answer is not cached.
    pub is_of_others: bool,
}

// === impl Recording ===

impl Recording {
    /// A recording for the decision cache.
    pub(crate) fn of(log: &SharedLog<Attribute>) -> Self {
        Self { log: log.clone(), story: None }
    }

    /// A recording that tells every read with its value.
    pub(crate) fn of_story() -> Self {
        Self { log: SharedLog::default(), story: Some(Arc::default()) }
    }

    /// The same, without secrets of these settings (JSON), which a policy may use as keys.
    pub(crate) fn take_shown_story(&self, settings: &str) -> Vec<ReadLine> {
        let secrets = Secrets::of(settings);
        let mut story = self.take_story();
        for line in &mut story {
            if let Cow::Owned(hidden) = secrets.hide(&line.read) {
                line.read = hidden;
            }
        }
        story
    }

    /// What was read, in order; of a very long story the beginning.
    pub(crate) fn take_story(&self) -> Vec<ReadLine> {
        self.story().map(|mut story| std::mem::take(&mut *story)).unwrap_or_default()
    }

    /// What follows is read to answer about this node.
    pub(crate) fn begin(&self, node: u32) {
        self.log.lock().begin(node);
    }

    /// Writes down one read; `name` names a node of the view.
    pub(crate) fn note<'v>(
        &self,
        read: &Read<'_>,
        answer: &Result<Value<'_>, ReadError>,
        name: impl FnOnce(u32) -> Option<&'v Arc<str>>,
    ) {
        let mut log = self.log.lock();
        let position = log.position();
        let is_of_others = note(&mut log, *read, answer.is_ok());
        drop(log);
        if let Some(mut story) = self.story().filter(|story| story.len() < MAX_LINES) {
            let other = match read.scope() {
                ReadScope::Node(node, _) if position != Some(node) => name(node).cloned(),
                _ => None,
            };
            let value = Shown::of_answer(&for_people(read, answer));
            let read = excerpt(&read.to_string(), MAX_READ_BYTES);
            story.push(ReadLine { read, value, other, is_of_others });
        }
    }

    /// Whether something was read that answers cannot be cached by.
    pub(crate) fn is_uncacheable(&self) -> bool {
        self.log.lock().is_uncacheable()
    }

    fn story(&self) -> Option<MutexGuard<'_, Vec<ReadLine>>> {
        self.story.as_ref().map(|story| story.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Says whether the read is not of the pod, the time or the node in question alone.
fn note(log: &mut ReadLog<Attribute>, read: Read<'_>, exists: bool) -> bool {
    match read.scope() {
        ReadScope::Constant => false,
        ReadScope::Request(attribute) => {
            log.subject(&AttributeRef::of(attribute));
            false
        }
        ReadScope::Node(node, attribute) if exists => !log.row(node, &AttributeRef::of(attribute)),
        // What is not there, or all nodes at once.
        ReadScope::Node(..) | ReadScope::Whole => {
            log.other();
            true
        }
    }
}

/// The answer as it may be shown: settings may hold what only the policy should know.
fn for_people<'v>(read: &Read<'_>, answer: &Result<Value<'v>, ReadError>) -> Result<Value<'v>, ReadError> {
    match (read, answer) {
        (Read::HostSettings, Ok(Value::Text(settings))) => Ok(Value::Text(shown_settings(settings).into())),
        _ => answer.clone(),
    }
}
