//! The cache of one function.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, RwLock};

use crate::{
    answers::{Lookup, RowClassAnswers},
    attribute::Row,
    decision_tree::DecisionTree,
    paths::Paths,
    read_log::MAX_SUBJECT_ATTRIBUTES,
    row_classes::RecentRowClasses,
    source::Source,
    subject_class::SubjectClass,
    subject_tree::SubjectTree,
    trie::{Answer, Conflict},
    usage::Evict,
};

/// The answers of one function, by the values that it read.
///
/// A lookup waits for an insert only while edges are added to the tree of subjects, and while rows are numbered by the
/// same attributes: some ten microseconds. One writer inserts at a time.
pub struct AnswerCache<S: Source, A> {
    subjects: RwLock<SubjectTree<S, A>>,
    row_classes: RecentRowClasses<S::Attribute>,
    /// Serializes writers.
    writing: Mutex<()>,
    disabled: OnceLock<Disabled>,
}

/// Why a function's answers are not cached any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disabled {
    /// It reads too many attributes of one subject.
    TooManyReads,
    /// The same values led it to another read or another answer.
    NotAFunction,
    /// It reads all that there is, so its values are never the same twice.
    ReadsEverything,
}

/// The results of one call, to be inserted after the reply.
pub struct Update<S: Source, A> {
    pub(crate) source: S,
    pub(crate) local: Arc<Paths<S::Attribute, A>>,
    pub(crate) is_uncacheable: bool,
    pub(crate) has_conflict: bool,
}

// === impl AnswerCache ===

impl<S: Source, A: Answer> AnswerCache<S, A> {
    /// Looks up the answers about these rows.
    pub fn lookup(&self, source: &S, rows: impl ExactSizeIterator<Item = Row>) -> Lookup<S::Attribute, A> {
        if self.disabled().is_some() {
            return Lookup::uncacheable(rows.len());
        }
        let class = self.subjects.read().get(source);
        match class {
            Some(class) if class.is_uncacheable => Lookup::uncacheable(rows.len()),
            Some(class) => Lookup::of(class, &self.row_classes, source, rows),
            None => Lookup::of_new_subject(rows.len()),
        }
    }

    /// The answers about a source's subject by row class; `None` if they are not cached, or not by class.
    pub fn lookup_by_row_class(&self, source: &S) -> Option<RowClassAnswers<S::Attribute, A>> {
        if self.disabled().is_some() {
            return None;
        }
        let class = self.subjects.read().get(source);
        match class {
            Some(class) if class.is_uncacheable => None,
            Some(class) => RowClassAnswers::known(class, &self.row_classes, source),
            None => RowClassAnswers::likely(&self.row_classes, source),
        }
    }

    /// Inserts the results of a call, beside those that others have inserted meanwhile.
    ///
    /// # Errors
    /// If this disables the cache.
    pub fn insert(&self, update: &Update<S, A>) -> Result<(), Disabled> {
        let _one_at_a_time = self.writing.lock();
        if self.disabled().is_some() {
            return Ok(());
        }
        self.try_insert(update).inspect_err(|why| self.disable_now(*why))
    }

    fn try_insert(&self, update: &Update<S, A>) -> Result<(), Disabled> {
        let Update { source, local, is_uncacheable, has_conflict } = update;
        if *has_conflict {
            return Err(Disabled::NotAFunction);
        }
        let path = self.subjects.read().path(source);
        let is_new = |attribute: &&S::Attribute| !path.attributes.contains(attribute);
        let new: Vec<S::Attribute> = local.subject_attributes.iter().filter(is_new).cloned().collect();
        let attributes = [path.attributes.as_slice(), &new].concat();
        if attributes.len() > MAX_SUBJECT_ATTRIBUTES {
            return Err(Disabled::TooManyReads);
        }
        let known = path.class.filter(|_| new.is_empty());
        if known.as_ref().is_some_and(|known| known.is_uncacheable) {
            return Ok(());
        }
        let class = if *is_uncacheable {
            SubjectClass::uncacheable(attributes)
        } else {
            let known = known.unwrap_or_else(|| Arc::new(SubjectClass::empty(attributes)));
            let class = known.with(local, source).map_err(|Conflict| Disabled::NotAFunction)?;
            if let Some(of_rows) = class.row_attributes() {
                self.row_classes.build_ahead(&of_rows, source);
            }
            class
        };
        self.subjects.write().put(source, new, class);
        Ok(())
    }

    /// Why nothing is cached any more; `None` if the cache works.
    #[inline]
    pub fn disabled(&self) -> Option<Disabled> {
        self.disabled.get().copied()
    }

    /// Drops everything, and caches nothing from now on.
    pub fn disable(&self, why: Disabled) {
        let _one_at_a_time = self.writing.lock();
        self.disable_now(why);
    }

    fn disable_now(&self, why: Disabled) {
        // The first reason stays.
        let _ = self.disabled.set(why);
        *self.subjects.write() = SubjectTree::default();
        self.row_classes.drop_unused();
    }

    /// All answers as a tree of reads. Values of rows are looked up in this source.
    pub fn decision_tree(&self, source: &S) -> Option<DecisionTree<S, A>> {
        DecisionTree::of(&self.subjects.read(), source)
    }
}

impl<S: Source, A: Answer> Evict for AnswerCache<S, A> {
    fn bytes(&self) -> usize {
        self.subjects.read().bytes() + self.row_classes.bytes()
    }

    fn evict_older_half(&self) -> bool {
        let _one_at_a_time = self.writing.lock();
        let has_evicted = self.subjects.write().evict_older_half();
        self.row_classes.drop_unused();
        has_evicted
    }
}

impl<S: Source, A> Default for AnswerCache<S, A> {
    fn default() -> Self {
        Self {
            subjects: RwLock::default(),
            row_classes: RecentRowClasses::default(),
            writing: Mutex::default(),
            disabled: OnceLock::new(),
        }
    }
}

impl<S: Source, A: Answer> fmt::Debug for AnswerCache<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = self.subjects.read().count();
        f.debug_struct("AnswerCache").field("edges", &edges).field("disabled", &self.disabled).finish_non_exhaustive()
    }
}

// === impl Disabled ===

impl Disabled {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::TooManyReads, Self::NotAFunction, Self::ReadsEverything];

    /// The name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TooManyReads => "too-many-reads",
            Self::NotAFunction => "not-a-function",
            Self::ReadsEverything => "reads-everything",
        }
    }
}

impl fmt::Display for Disabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyReads => "it reads too many different attributes of one subject",
            Self::NotAFunction => "the same values led it to another read or another answer",
            Self::ReadsEverything => "it reads everything for each answer",
        })
    }
}
