//! The cache of one function.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use parking_lot::{Mutex, RwLock};

use crate::{
    answers::Lookup,
    decision_tree::DecisionTree,
    read_log::MAX_SUBJECT_ATTRIBUTES,
    row_classes::RecentRowClasses,
    source::Source,
    subject_class::{RowClassTable, SubjectClass},
    subject_tree::SubjectTree,
    trie::{Answer, Conflict, Paths},
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
    /// Looks up what is known about a source's subject.
    pub fn lookup(&self, source: &S) -> Lookup<S::Attribute, A> {
        let class = self.subjects.read().walk(source, |_| {});
        if self.disabled().is_some() || class.as_ref().is_some_and(|class| class.is_uncacheable) {
            return Lookup { class: None, by_class: None, is_cacheable: false };
        }
        let by_class = match &class {
            Some(class) => class.table(&self.row_classes, source),
            None => self.row_classes.latest().and_then(|classes| RowClassTable::without_answers(classes, source)),
        };
        Lookup { class, by_class, is_cacheable: true }
    }

    /// Inserts the results of a call, beside those that others have inserted meanwhile.
    ///
    /// # Errors
    /// If this disables the cache.
    pub fn insert(&self, update: &Update<S, A>) -> Result<(), Disabled> {
        let one_at_a_time = self.writing.lock();
        if self.disabled().is_some() {
            return Ok(());
        }
        let inserted = self.try_insert(update);
        if let Err(why) = inserted {
            let _ = self.disabled.set(why);
            drop(one_at_a_time);
            self.clear();
        }
        inserted
    }

    fn try_insert(&self, update: &Update<S, A>) -> Result<(), Disabled> {
        let Update { source, local, is_uncacheable, has_conflict } = update;
        if *has_conflict {
            return Err(Disabled::NotAFunction);
        }
        let mut path = Vec::new();
        let class = self.subjects.read().walk(source, |attribute| path.push(attribute.clone()));
        let is_new = |attribute: &&S::Attribute| !path.contains(attribute);
        let new: Vec<S::Attribute> = local.subject_attributes.iter().filter(is_new).cloned().collect();
        let attributes = [path.as_slice(), &new].concat();
        if attributes.len() > MAX_SUBJECT_ATTRIBUTES {
            return Err(Disabled::TooManyReads);
        }
        let known = class.filter(|_| new.is_empty());
        if known.as_ref().is_some_and(|known| known.is_uncacheable) {
            return Ok(());
        }
        let class = if *is_uncacheable {
            SubjectClass::empty(attributes, true)
        } else {
            let known = known.unwrap_or_else(|| Arc::new(SubjectClass::empty(attributes, false)));
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
        // The first reason stays.
        let _ = self.disabled.set(why);
        self.clear();
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

    fn clear(&self) {
        let _one_at_a_time = self.writing.lock();
        *self.subjects.write() = SubjectTree::default();
        self.row_classes.drop_unused();
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
        f.debug_struct("AnswerCache").field("disabled", &self.disabled).finish_non_exhaustive()
    }
}

// === impl Disabled ===

impl fmt::Display for Disabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooManyReads => "it reads too many different attributes of one subject",
            Self::NotAFunction => "the same values led it to another read or another answer",
            Self::ReadsEverything => "it reads everything for each answer",
        })
    }
}
