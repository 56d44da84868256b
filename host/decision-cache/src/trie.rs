//! The trie: which attribute is read next, where each value leads, and the answers at the ends.

use hashbrown::HashMap;

use crate::{
    attribute::{AttributeList, HeapSize},
    fingerprint::Fingerprint,
};

/// A new answer is compared with this many of the last ones, so that equal ones are kept once.
const LAST_ANSWERS: usize = 8;

/// An answer that can be cached.
pub trait Answer: HeapSize + Clone + PartialEq + Send + Sync + 'static {}

impl<A: HeapSize + Clone + PartialEq + Send + Sync + 'static> Answer for A {}

/// Answers by the reads on the path to them. Attributes are numbers that the owner gives.
#[derive(Debug, Clone)]
pub(crate) struct Trie<A> {
    /// The first is the root; empty as long as there is no answer.
    steps: Vec<Step>,
    answers: Vec<A>,
    path_count: usize,
}

/// A trie, with the attributes that its numbers stand for and those of its subjects: of a subject class, or of one
/// call.
#[derive(Debug)]
pub(crate) struct Paths<T, A> {
    /// The attributes that were read of the subjects.
    pub(crate) subject_attributes: Vec<T>,
    /// The attributes that the trie's numbers stand for.
    pub(crate) attributes: AttributeList<T>,
    pub(crate) trie: Trie<A>,
}

#[derive(Debug, Clone)]
enum Step {
    /// Nothing is known from here on.
    Open,
    /// The index of the answer.
    Leaf(u32),
    /// The attribute that is read next, and the step that each of its values leads to.
    Read(u32, HashMap<Fingerprint, u32, foldhash::fast::RandomState>),
}

/// The reads of one evaluation: attributes with their values, in order.
pub(crate) type Path = Vec<(u32, Fingerprint)>;

/// The end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Leaf {
    /// Two rows have one path if they have one step.
    pub(crate) step: u32,
    /// The index of the answer.
    pub(crate) answer: u32,
}

/// The same values led to another read or another answer: it is not a function of its reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Conflict;

// === impl Trie ===

impl<A> Trie<A> {
    /// The first step.
    pub(crate) const ROOT: u32 = 0;

    /// The end of the path that `read` follows; `None` if the path is new.
    #[inline]
    pub(crate) fn find(&self, mut read: impl FnMut(u32) -> Fingerprint) -> Option<Leaf> {
        let mut at = Self::ROOT;
        loop {
            match self.steps.get(at as usize)? {
                Step::Read(attribute, edges) => at = *edges.get(&read(*attribute))?,
                Step::Leaf(answer) => return Some(Leaf { step: at, answer: *answer }),
                Step::Open => return None,
            }
        }
    }

    pub(crate) fn answers(&self) -> &[A] {
        &self.answers
    }

    /// Answers without paths.
    pub(crate) fn of_answers(answers: Vec<A>) -> Self {
        Self { answers, ..Self::default() }
    }

    /// Folds the trie from the answers up, beginning at a step; `None` if there is no answer.
    pub(crate) fn fold<T>(
        &self,
        at: u32,
        answer: &impl Fn(&A) -> T,
        read: &impl Fn(u32, Vec<(Fingerprint, T)>) -> T,
    ) -> Option<T> {
        match self.steps.get(at as usize)? {
            Step::Open => None,
            Step::Leaf(leaf) => Some(answer(&self.answers[*leaf as usize])),
            Step::Read(attribute, edges) => {
                let mut branches = Vec::with_capacity(edges.len());
                // The read log bounds how long a path is, and so how deep this goes.
                for (value, next) in edges {
                    branches.extend(self.fold(*next, answer, read).map(|tree| (*value, tree)));
                }
                Some(read(*attribute, branches))
            }
        }
    }

    /// Every path with its answer.
    pub(crate) fn paths(&self) -> Vec<(Path, &A)> {
        let mut paths = Vec::new();
        let mut open: Vec<(u32, Path)> = if self.steps.is_empty() { vec![] } else { vec![(Self::ROOT, vec![])] };
        while let Some((at, path)) = open.pop() {
            match &self.steps[at as usize] {
                Step::Open => {}
                Step::Leaf(answer) => paths.push((path, &self.answers[*answer as usize])),
                Step::Read(attribute, edges) => open.extend(edges.iter().map(|(value, next)| {
                    let step = [(*attribute, *value)];
                    (*next, [path.as_slice(), &step].concat())
                })),
            }
        }
        paths
    }

    /// The number of paths.
    pub(crate) fn path_count(&self) -> usize {
        self.path_count
    }

    /// Bytes that it holds, without those that each answer holds.
    pub(crate) fn bytes(&self) -> usize {
        let edges = |step: &Step| if let Step::Read(_, edges) = step { edges.allocation_size() } else { 0 };
        self.steps.capacity() * size_of::<Step>()
            + self.steps.iter().map(edges).sum::<usize>()
            + self.answers.capacity() * size_of::<A>()
    }
}

impl<A: Clone + PartialEq> Trie<A> {
    /// Adds a path with its answer, whose index it returns.
    pub(crate) fn insert(&mut self, path: &[(u32, Fingerprint)], answer: A) -> Result<u32, Conflict> {
        if self.steps.is_empty() {
            self.steps.push(Step::Open);
        }
        let mut at = Self::ROOT;
        for (attribute, value) in path {
            at = self.step_into(at, *attribute, *value)?;
        }
        match self.steps[at as usize] {
            Step::Open => {
                let answer = self.push_answer(answer);
                self.steps[at as usize] = Step::Leaf(answer);
                self.path_count += 1;
                Ok(answer)
            }
            Step::Leaf(known) if self.answers[known as usize] == answer => Ok(known),
            Step::Leaf(_) | Step::Read(..) => Err(Conflict),
        }
    }

    /// The step that a value leads to, which is added if it is new.
    fn step_into(&mut self, at: u32, attribute: u32, value: Fingerprint) -> Result<u32, Conflict> {
        let new = self.steps.len() as u32;
        let step = &mut self.steps[at as usize];
        if let Step::Open = step {
            *step = Step::Read(attribute, HashMap::default());
        }
        match step {
            Step::Read(known, edges) if *known == attribute => {
                let next = *edges.entry(value).or_insert(new);
                if next == new {
                    self.steps.push(Step::Open);
                }
                Ok(next)
            }
            _ => Err(Conflict),
        }
    }

    /// Adds an answer without a path.
    pub(crate) fn push_answer(&mut self, answer: A) -> u32 {
        let from = self.answers.len().saturating_sub(LAST_ANSWERS);
        if let Some(at) = self.answers[from..].iter().position(|known| *known == answer) {
            return (from + at) as u32;
        }
        self.answers.push(answer);
        self.answers.len() as u32 - 1
    }
}

impl<A> Default for Trie<A> {
    fn default() -> Self {
        Self { steps: Vec::new(), answers: Vec::new(), path_count: 0 }
    }
}

impl<T, A> Default for Paths<T, A> {
    fn default() -> Self {
        Self { subject_attributes: Vec::new(), attributes: AttributeList::default(), trie: Trie::default() }
    }
}
