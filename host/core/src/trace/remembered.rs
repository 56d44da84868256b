//! What one version of a policy has answered: a trie for each class of pods.

use std::{
    fmt,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use hashbrown::{HashMap, HashSet};

use super::{
    answers::Remember,
    key::Key,
    path::Path,
    recording::MAX_REQUEST_PATHS,
    table::DecisionTable,
    tick,
    trie::{Conflict, Trie},
};
use crate::{Cluster, Verb, Verdict, View};

/// A read may have led to twice as many values as there are slots, and some, before those that no slot has go.
const SPARE_EDGES: usize = 64;

/// The most classes of one policy and verb.
const MAX_CLASSES: usize = 4_096;

/// The remembered answers of one version of a policy.
#[derive(Debug, Default)]
pub struct Traces {
    pub(super) filter: Remembered<Verdict>,
    pub(super) score: Remembered<u32>,
}

/// The remembered answers to one verb.
pub(crate) struct Remembered<A> {
    /// Readers take what is published; [`Remembered::learn`] publishes anew.
    table: ArcSwap<Table<A>>,
    /// Held by writers alone, so that two of them do not lose each other's answers.
    learning: Mutex<()>,
    off: OnceLock<Off>,
}

/// Why nothing is remembered of a policy any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// It reads too many different things of pods.
    TooManyReads,
    /// The same values led it to another read or another answer.
    NotAFunction,
    /// An answer that was remembered was another when it was asked again.
    Differed,
}

struct Table<A> {
    /// Everything that an evaluation has ever read of the pod and the time.
    request: Vec<Path>,
    /// By the values of `request`.
    classes: HashMap<Box<[Key]>, Arc<Class<A>>, foldhash::fast::RandomState>,
}

/// Pods that the policy cannot tell apart.
#[derive(Debug)]
pub(crate) struct Class<A> {
    pub(super) paths: Vec<Path>,
    pub(super) trie: Trie<A>,
    /// The values of what was read of the pod and the time, for people.
    pub(super) of: Box<[Box<str>]>,
    /// For these pods it read more than one node: it is asked each time.
    pub(super) each_time: bool,
    used: AtomicU64,
    bytes: usize,
}

/// What one call has taught.
pub(crate) struct Lesson<A> {
    /// The pod, the time and the cluster of the call.
    pub(super) view: Arc<View>,
    pub(super) request: Vec<Path>,
    pub(super) paths: Vec<Path>,
    pub(super) trie: Trie<A>,
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
            Self::TooManyReads => "it reads too many different things of pods",
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
        let table = self.table.load();
        if table.classes.is_empty() {
            return None;
        }
        let class = Arc::clone(table.classes.get(&*keys(&table.request, view))?);
        class.used.store(tick(), Ordering::Relaxed);
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
        self.table.store(Arc::default());
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
        match self.table.load().taught(lesson) {
            Ok(Some(table)) => self.table.store(Arc::new(table)),
            Ok(None) => {}
            Err(why) => {
                self.turn_off(why);
                return Err(why);
            }
        }
        Ok(())
    }

    /// What was read of the pod and the time, and every class by the values of that.
    pub(super) fn classes(&self) -> (Vec<Path>, Vec<Arc<Class<A>>>) {
        let table = self.table.load();
        (table.request.clone(), table.classes.values().cloned().collect())
    }

    fn bytes(&self) -> usize {
        self.table.load().classes.values().map(|class| class.bytes).sum()
    }

    fn ages(&self) -> Vec<(u64, usize)> {
        let age = |class: &Arc<Class<A>>| (class.used.load(Ordering::Relaxed), class.bytes);
        self.table.load().classes.values().map(age).collect()
    }

    fn forget_before(&self, since: u64) {
        let _one_at_a_time = self.learning.lock().unwrap_or_else(PoisonError::into_inner);
        let table = self.table.load();
        if table.classes.values().any(|class| class.used.load(Ordering::Relaxed) < since) {
            let mut classes = table.classes.clone();
            classes.retain(|_, class| class.used.load(Ordering::Relaxed) >= since);
            self.table.store(Arc::new(Table { request: table.request.clone(), classes }));
        }
    }
}

impl<A> Default for Remembered<A> {
    fn default() -> Self {
        Self { table: ArcSwap::default(), learning: Mutex::default(), off: OnceLock::new() }
    }
}

impl<A> fmt::Debug for Remembered<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = self.table.load().classes.len();
        f.debug_struct("Remembered").field("classes", &classes).field("off", &self.off).finish_non_exhaustive()
    }
}

// === impl Table ===

impl<A: Remember> Table<A> {
    /// The table with a lesson; none if it says nothing new.
    fn taught(&self, lesson: &Lesson<A>) -> Result<Option<Self>, Off> {
        if lesson.conflict {
            return Err(Off::NotAFunction);
        }
        let mut request = self.request.clone();
        request.extend(lesson.request.iter().filter(|path| !self.request.contains(path)).cloned());
        if request.len() > MAX_REQUEST_PATHS {
            return Err(Off::TooManyReads);
        }
        // Classes are told apart by one more value now: those that are known were made without it.
        let mut classes = if request.len() == self.request.len() { self.classes.clone() } else { HashMap::default() };
        let keys = keys(&request, &lesson.view);
        let current = classes.get(&keys);
        if current.is_some_and(|class| class.each_time) {
            return Ok(None);
        }
        let class = match current {
            _ if lesson.each_time => Class::of(&request, &lesson.view, true),
            Some(class) => class.with(lesson)?,
            None => Class::of(&request, &lesson.view, false).with(lesson)?,
        };
        classes.insert(keys, Arc::new(class));
        let mut table = Self { request, classes };
        table.keep_newest(MAX_CLASSES);
        Ok(Some(table))
    }

    fn keep_newest(&mut self, most: usize) {
        if self.classes.len() <= most {
            return;
        }
        let mut used: Vec<u64> = self.classes.values().map(|class| class.used.load(Ordering::Relaxed)).collect();
        // Half of them at once, so that this is rare.
        let (_, middle, _) = used.select_nth_unstable(most / 2);
        let middle = *middle;
        self.classes.retain(|_, class| class.used.load(Ordering::Relaxed) >= middle);
    }
}

impl<A> Default for Table<A> {
    fn default() -> Self {
        Self { request: Vec::new(), classes: HashMap::default() }
    }
}

fn keys(request: &[Path], view: &View) -> Box<[Key]> {
    request.iter().map(|path| path.key(view, 0)).collect()
}

// === impl Class ===

impl<A: Clone + PartialEq> Class<A> {
    pub(super) fn answers(&self) -> &[A] {
        self.trie.answers()
    }
}

impl<A: Remember> Class<A> {
    fn of(request: &[Path], view: &View, each_time: bool) -> Self {
        let of: Box<[Box<str>]> = request.iter().map(|path| path.text(view, 0).into()).collect();
        let bytes = size_of::<Self>();
        Self { paths: Vec::new(), trie: Trie::default(), of, each_time, used: AtomicU64::new(tick()), bytes }
    }

    fn with(&self, lesson: &Lesson<A>) -> Result<Self, Off> {
        let (mut paths, mut trie) = (self.paths.clone(), self.trie.clone());
        let numbers: Vec<u32> = lesson.paths.iter().map(|path| number(&mut paths, path)).collect();
        for (mut trace, answer) in lesson.trie.traces() {
            for (path, _) in &mut trace {
                *path = numbers[*path as usize];
            }
            trie.insert(&trace, answer.clone()).map_err(|Conflict| Off::NotAFunction)?;
        }
        let trie = without_stale(trie, &paths, &lesson.view);
        let answers: usize = trie.answers().iter().map(Remember::heap).sum();
        let texts: usize = paths.iter().map(|path| size_of::<Path>() + path.heap()).sum();
        let of: usize = self.of.iter().map(|value| size_of::<Box<str>>() + value.len()).sum();
        let bytes = size_of::<Self>() + trie.bytes() + answers + texts + of;
        Ok(Self { paths, trie, of: self.of.clone(), each_time: false, used: AtomicU64::new(tick()), bytes })
    }
}

/// The number of a path in the list, where it is put if it is new.
fn number(paths: &mut Vec<Path>, path: &Path) -> u32 {
    let known = paths.iter().position(|own| own == path);
    known.unwrap_or_else(|| {
        paths.push(path.clone());
        paths.len() - 1
    }) as u32
}

/// Drops values that no slot has any more, once there are many of them.
fn without_stale<A: Remember>(trie: Trie<A>, paths: &[Path], view: &View) -> Trie<A> {
    let wide = trie.wide_paths(2 * view.slot_count() + SPARE_EDGES);
    if wide.is_empty() {
        return trie;
    }
    let present = |path: &u32| (*path, view.column(&paths[*path as usize]).keys().collect());
    let present: HashMap<u32, HashSet<Key>> = wide.iter().map(present).collect();
    trie.retained(|path, key| present.get(&path).is_none_or(|keys| keys.contains(&key)))
}
