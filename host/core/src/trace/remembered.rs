//! What one version of a policy has answered: a trie for each class of pods.

use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use arc_swap::ArcSwap;

use super::{
    answers::Remember, class::Class, classes::Classes, kinds::RecentKinds, path::Path, recording::MAX_REQUEST_PATHS,
    table::DecisionTable, trie::Trie,
};
use crate::{Cluster, Verb, Verdict, View, pace::Pace};

/// The remembered answers of one version of a policy.
#[derive(Debug, Default)]
pub struct Traces {
    pub(super) filter: Remembered<Verdict>,
    pub(super) score: Remembered<u32>,
    /// How long it takes to answer.
    pub(crate) pace: Pace,
}

/// The remembered answers to one verb.
pub(crate) struct Remembered<A> {
    /// Readers take what is published; [`Remembered::learn`] publishes more.
    classes: ArcSwap<Classes<A>>,
    pub(super) kinds: RecentKinds,
    /// Held by writers alone, so that two of them do not lose each other's answers.
    learning: Mutex<()>,
    off: OnceLock<Off>,
}

/// Why nothing is remembered of a policy any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// It reads too many different things of pods, or of nodes for pods of one class.
    TooManyReads,
    /// The same values led it to another read or another answer.
    NotAFunction,
    /// An answer that was remembered was another when it was asked again.
    Differed,
}

/// What one call has taught.
pub(crate) struct Lesson<A> {
    /// The pod, the time and the cluster of the call.
    pub(super) view: Arc<View>,
    pub(super) request: Vec<Path>,
    pub(super) paths: Vec<Path>,
    pub(super) trie: Arc<Trie<A>>,
    pub(super) each_time: bool,
    pub(super) conflict: bool,
}

// === impl Off ===

impl Off {
    /// The name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooManyReads => "too-many-reads",
            Self::NotAFunction => "not-a-function",
            Self::Differed => "differed",
        }
    }
}

impl fmt::Display for Off {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyReads => "it reads too many different things of pods or nodes",
            Self::NotAFunction => "the same values led it to another read or another answer",
            Self::Differed => "a remembered answer was another when it was asked again",
        })
    }
}

// === impl Traces ===

impl Traces {
    /// Bytes of all that is remembered.
    pub fn bytes(&self) -> usize {
        self.filter.bytes() + self.score.bytes()
    }

    /// Why nothing is remembered of the answers to a verb, if that is so; other verbs are never remembered.
    pub fn off(&self, verb: Verb) -> Option<Off> {
        match verb {
            Verb::Filter => self.filter.off(),
            Verb::Score => self.score.off(),
            _ => None,
        }
    }

    /// The decision table that the policy has shown so far; none for a verb that is never remembered.
    pub fn decision_table(&self, verb: Verb, cluster: &Arc<Cluster>) -> Option<DecisionTable> {
        match verb {
            Verb::Filter => Some(self.filter.decision_table(cluster)),
            Verb::Score => Some(self.score.decision_table(cluster)),
            _ => None,
        }
    }

    /// When each class was last used, and its bytes.
    pub(super) fn ages(&self) -> Vec<(u64, usize)> {
        self.filter.ages().into_iter().chain(self.score.ages()).collect()
    }

    /// Forgets the classes that were not used since.
    pub(super) fn forget_before(&self, since: u64) {
        self.filter.forget_before(since);
        self.score.forget_before(since);
    }
}

// === impl Remembered ===

impl<A: Remember> Remembered<A> {
    /// What is known of pods such as the view's.
    pub(super) fn class(&self, view: &View) -> Option<Arc<Class<A>>> {
        let classes = self.classes.load();
        if classes.count() == 0 {
            return None;
        }
        let class = classes.get(&classes.keys(view))?;
        class.touch();
        Some(class)
    }

    /// Why nothing is remembered, if that is so.
    pub(crate) fn off(&self) -> Option<Off> {
        self.off.get().copied()
    }

    /// Forgets everything, for good.
    pub(crate) fn turn_off(&self, why: Off) {
        // The first reason stands.
        let _ = self.off.set(why);
        self.classes.store(Arc::default());
        self.kinds.forget();
    }

    /// Publishes what a call has taught, beside what others published meanwhile.
    ///
    /// # Errors
    /// If it was the last lesson: from now on nothing is remembered.
    pub(crate) fn learn(&self, lesson: &Lesson<A>) -> Result<(), Off> {
        let _one_at_a_time = self.learning.lock().unwrap_or_else(PoisonError::into_inner);
        if self.off().is_some() {
            return Ok(());
        }
        self.take_in(lesson).inspect_err(|why| self.turn_off(*why))
    }

    fn take_in(&self, lesson: &Lesson<A>) -> Result<(), Off> {
        if lesson.conflict {
            return Err(Off::NotAFunction);
        }
        let mut classes = self.classes.load_full();
        let is_new = |path: &&Path| !classes.request.contains(path);
        if lesson.request.iter().any(|path| is_new(&path)) {
            let request: Vec<Path> =
                classes.request.iter().chain(lesson.request.iter().filter(is_new)).cloned().collect();
            if request.len() > MAX_REQUEST_PATHS {
                return Err(Off::TooManyReads);
            }
            // Classes are told apart by one more value now: those that are known were made without it.
            classes = Arc::new(Classes::new(request));
            self.classes.store(Arc::clone(&classes));
        }
        let keys = classes.keys(&lesson.view);
        let class = match classes.get(&keys) {
            Some(class) if class.each_time => return Ok(()),
            _ if lesson.each_time => Class::of(&classes.request, &lesson.view, true),
            Some(class) => class.with(lesson)?,
            None => Class::of(&classes.request, &lesson.view, false).with(lesson)?,
        };
        if !class.each_time {
            self.kinds.expect(&class.paths, &lesson.view);
        }
        classes.put(keys, Arc::new(class));
        Ok(())
    }

    /// What was read of the pod and the time, and every class by the values of that.
    pub(super) fn classes(&self) -> (Vec<Path>, Vec<Arc<Class<A>>>) {
        let classes = self.classes.load();
        (classes.request.clone(), classes.all())
    }

    fn bytes(&self) -> usize {
        self.classes.load().bytes() + self.kinds.bytes()
    }

    fn ages(&self) -> Vec<(u64, usize)> {
        self.classes.load().all().iter().map(|class| (class.used(), class.weight())).collect()
    }

    fn forget_before(&self, since: u64) {
        let _one_at_a_time = self.learning.lock().unwrap_or_else(PoisonError::into_inner);
        self.classes.load().forget_before(since);
    }
}

impl<A: Remember> Default for Remembered<A> {
    fn default() -> Self {
        let (learning, off) = (Mutex::default(), OnceLock::new());
        Self { classes: ArcSwap::default(), kinds: RecentKinds::default(), learning, off }
    }
}

impl<A: Remember> fmt::Debug for Remembered<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = self.classes.load().count();
        f.debug_struct("Remembered").field("classes", &classes).field("off", &self.off).finish_non_exhaustive()
    }
}
