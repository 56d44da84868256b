//! Answers about many rows, of which each distinct one is kept once.

use std::sync::Arc;

use crate::{
    class::{Answer, Class},
    trie::Trie,
};

/// One answer for each row that was asked for: a number, and what the numbers stand for.
#[derive(Debug)]
pub struct Answers<T, A> {
    pub(crate) class: Option<Arc<Class<T, A>>>,
    /// The answers of this call; their numbers come after those of the class.
    pub(crate) new: Arc<Trie<A>>,
    pub(crate) which: Vec<u32>,
}

impl<T, A: Answer> Answers<T, A> {
    /// These answers, one for each row.
    pub fn plain(answers: Vec<A>) -> Self {
        Self { class: None, which: (0..answers.len() as u32).collect(), new: Arc::new(Trie::of_answers(answers)) }
    }

    /// The answer at a position.
    pub fn get(&self, position: usize) -> Option<&A> {
        let number = *self.which.get(position)? as usize;
        let known = self.class.as_ref().map_or(&[][..], |class| class.trie.answers());
        known.get(number).or_else(|| self.new.answers().get(number - known.len()))
    }

    /// The number of the answer at each position.
    pub fn numbers(&self) -> &[u32] {
        &self.which
    }

    /// What the numbers stand for, in their order. Some may be no row's answer.
    pub fn distinct(&self) -> impl Iterator<Item = &A> {
        self.class.iter().flat_map(|class| class.trie.answers()).chain(self.new.answers())
    }

    /// How many rows have an answer that `counts`.
    pub fn count(&self, counts: impl Fn(&A) -> bool) -> usize {
        let counted: Vec<bool> = self.distinct().map(counts).collect();
        if counted.iter().all(|counts| !counts) {
            return 0;
        }
        // A call that failed leaves rows without an answer.
        self.which.iter().filter(|which| counted.get(**which as usize).copied().unwrap_or_default()).count()
    }
}
