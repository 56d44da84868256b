//! The cache of one function.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use parking_lot::Mutex;

use crate::{
    answers::RowClassAnswers, attribute::Row, decision_tree::DecisionTree, disabled::Disabled, evict::Evict,
    lookup::Lookup, paths::Paths, row_classes::RecentRowClasses, source::Source, subject_class::SubjectClass,
    subject_tree::SubjectTree, trie::Answer,
};

/// The answers of one function, by the values that it read.
///
/// A lookup waits for no insert, except for some ten microseconds where both need the row classes by the same
/// attributes. One writer inserts at a time.
pub struct AnswerCache<S: Source, A> {
    subjects: SubjectTree<S, A>,
    row_classes: RecentRowClasses<S::Attribute>,
    /// Serializes writers.
    writing: Mutex<()>,
    disabled: OnceLock<Disabled>,
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
    pub fn lookup(&self, source: &S, rows: impl ExactSizeIterator<Item = Row> + Clone) -> Lookup<S::Attribute, A> {
        if self.disabled().is_some() {
            return Lookup::uncacheable(rows.len());
        }
        match self.subjects.get(source) {
            Some(class) if class.is_uncacheable => Lookup::uncacheable(rows.len()),
            Some(class) => Lookup::of(class, &self.row_classes, source, rows),
            None => Lookup::of_new_subject(rows.len(), self.row_classes.latest()),
        }
    }

    /// The answers about a source's subject by row class; `None` if they are not cached, or not by class.
    pub fn lookup_by_row_class(&self, source: &S) -> Option<RowClassAnswers<S::Attribute, A>> {
        if self.disabled().is_some() {
            return None;
        }
        match self.subjects.get(source) {
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
        if update.has_conflict {
            return Err(Disabled::NotAFunction);
        }
        let local = &update.local;
        self.subjects.update(&update.source, &local.subject_attributes, |known, subject_attributes| {
            if known.is_some_and(|known| known.is_uncacheable) {
                return Ok(None);
            }
            if update.is_uncacheable {
                return Ok(Some(SubjectClass::uncacheable(subject_attributes)));
            }
            let empty = SubjectClass::empty(subject_attributes);
            let class = known.unwrap_or(&empty).with(local, &update.source)?;
            if let Some(attributes) = class.row_attributes() {
                self.row_classes.build_ahead(&attributes, &update.source);
            }
            Ok(Some(class))
        })
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
        self.subjects.clear();
        self.row_classes.clear();
    }

    /// All answers as a tree of reads. Values of rows are looked up in this source.
    pub fn decision_tree(&self, source: &S) -> Option<DecisionTree<S, A>> {
        self.subjects.decision_tree(source)
    }
}

impl<S: Source, A: Answer> Evict for AnswerCache<S, A> {
    fn bytes(&self) -> usize {
        self.subjects.bytes() + self.row_classes.bytes()
    }

    fn last_uses(&self) -> Vec<(u64, usize)> {
        self.subjects.last_uses()
    }

    fn evict_before(&self, since: u64) {
        let _one_at_a_time = self.writing.lock();
        self.subjects.evict_before(since);
        self.row_classes.drop_unused();
    }
}

impl<S: Source, A> Default for AnswerCache<S, A> {
    fn default() -> Self {
        Self {
            subjects: SubjectTree::default(),
            row_classes: RecentRowClasses::default(),
            writing: Mutex::default(),
            disabled: OnceLock::new(),
        }
    }
}

impl<S: Source, A: Answer> fmt::Debug for AnswerCache<S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = self.subjects.count();
        f.debug_struct("AnswerCache").field("edges", &edges).field("disabled", &self.disabled).finish_non_exhaustive()
    }
}
