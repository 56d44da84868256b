//! Answers about many rows, of which each distinct one is kept once.

use std::sync::Arc;

use crate::{
    attribute::{Attribute, AttributeList, Row},
    class::{Answer, Class},
    source::Source,
    trie::Trie,
    witness::{self, KnownPaths, Witness},
};

/// One answer per row: its number, and the answers that the numbers stand for.
#[derive(Debug, Clone)]
pub struct Answers<T, A> {
    pub(crate) class: Option<Arc<Class<T, A>>>,
    /// The answers of this call; their numbers come after those of the class.
    pub(crate) new: Arc<NewAnswers<T, A>>,
    pub(crate) numbers: Vec<u32>,
}

/// The answers of one call, and their reads.
#[derive(Debug)]
pub(crate) struct NewAnswers<T, A> {
    pub(crate) trie: Trie<A>,
    /// The attributes that the trie's numbers stand for.
    pub(crate) attributes: AttributeList<T>,
    /// The attributes that were read of the subject.
    pub(crate) subject: Vec<T>,
}

// === impl Answers ===

impl<T, A: Answer> Answers<T, A> {
    /// These answers, one for each row.
    pub fn plain(answers: Vec<A>) -> Self {
        let numbers = (0..answers.len() as u32).collect();
        let new = NewAnswers { trie: Trie::of_answers(answers), ..NewAnswers::default() };
        Self { class: None, new: Arc::new(new), numbers }
    }

    /// The answer at a position.
    pub fn get(&self, position: usize) -> Option<&A> {
        self.numbered(*self.numbers.get(position)?)
    }

    /// The answer with a number.
    #[inline]
    pub(crate) fn numbered(&self, number: u32) -> Option<&A> {
        let known = self.class.as_ref().map_or(&[][..], |class| class.trie.answers());
        known.get(number as usize).or_else(|| self.new.trie.answers().get(number as usize - known.len()))
    }

    /// The number of the answer at each position.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The answers that the numbers stand for, in their order. Some may be no row's answer.
    pub fn distinct(&self) -> impl Iterator<Item = &A> {
        self.class.iter().flat_map(|class| class.trie.answers()).chain(self.new.trie.answers())
    }

    /// The number of rows with an answer for which `counts` is true.
    pub fn count(&self, counts: impl Fn(&A) -> bool) -> usize {
        let counted: Vec<bool> = self.distinct().map(counts).collect();
        if counted.iter().all(|counts| !counts) {
            return 0;
        }
        // A call that failed leaves rows without an answer.
        self.numbers.iter().filter(|number| counted.get(**number as usize).copied().unwrap_or_default()).count()
    }
}

impl<T: Attribute, A: Answer> Answers<T, A> {
    /// The distinct paths that lead to the answers about these rows, each with a row that has its values.
    ///
    /// Rows that nothing is known about are left out. It goes over each row: call it when nobody waits for a reply.
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        let class = self.class.as_deref().map(|Class { subject, attributes, trie, .. }| KnownPaths {
            subject,
            attributes,
            trie,
        });
        let NewAnswers { trie, attributes, subject } = &*self.new;
        let paths: Vec<_> = class.into_iter().chain([KnownPaths { subject, attributes, trie }]).collect();
        witness::witnesses(&paths, source, rows)
    }
}

impl<T, A> Default for NewAnswers<T, A> {
    fn default() -> Self {
        Self { trie: Trie::default(), attributes: AttributeList::default(), subject: Vec::new() }
    }
}
