//! Answers about many rows, of which each distinct one is kept once.

use std::sync::Arc;

use crate::{
    attribute::{Attribute, AttributeList, Row},
    class::{Answer, Class},
    source::Source,
    trie::Trie,
    witness::{Witness, Witnesses},
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

    /// How many rows have an answer that `counts`.
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
    /// The distinct paths that lead to these answers, each with a row that has its values.
    ///
    /// `rows` are the rows that were looked up. Answers that nothing is known about are left out. It goes over each row:
    /// call it when nobody waits for a reply.
    pub fn witnesses(&self, source: &impl Source<Attribute = T>, rows: &[Row]) -> Vec<Witness<T, A>> {
        let known = self.class.as_ref().map_or(0, |class| class.trie.answers().len());
        let is_known = |position: usize| (self.numbers[position] as usize) < known;
        let positions = || (0..rows.len()).filter(|position| *position < self.numbers.len());
        let (of_class, of_call) = positions().partition::<Vec<_>, _>(|position| is_known(*position));
        let rows = |positions: Vec<usize>| positions.into_iter().map(|position| rows[position]).collect::<Vec<_>>();
        self.witnesses_of(source, &rows(of_class), &rows(of_call))
    }

    /// The same of rows whose answers were known, and of those that this call has answered.
    pub(crate) fn witnesses_of(
        &self,
        source: &impl Source<Attribute = T>,
        of_class: &[Row],
        of_call: &[Row],
    ) -> Vec<Witness<T, A>> {
        let mut witnesses = Vec::new();
        if let Some(class) = &self.class {
            Witnesses::new(&class.subject, &class.attributes, &class.trie).add(&mut witnesses, source, of_class);
        }
        let NewAnswers { trie, attributes, subject } = &*self.new;
        Witnesses::new(subject, attributes, trie).add(&mut witnesses, source, of_call);
        witnesses
    }
}

impl<T, A> Default for NewAnswers<T, A> {
    fn default() -> Self {
        Self { trie: Trie::default(), attributes: AttributeList::default(), subject: Vec::new() }
    }
}
