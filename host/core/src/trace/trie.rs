//! The trie: what to read next, where each value leads, and the answers at the ends.

use hashbrown::{HashMap, HashSet};

use super::key::Key;

/// So many edges are searched one after another before they are looked up.
const FEW: usize = 6;

/// How many of the last answers a new one is compared with, so that equal ones are kept once.
const LAST_ANSWERS: usize = 8;

/// Answers by what was read on the way to them; paths are numbers that the owner gives.
#[derive(Debug, Clone)]
pub(super) struct Trie<A> {
    /// From the root on; empty as long as there is no answer.
    steps: Vec<Step>,
    answers: Vec<A>,
}

#[derive(Debug, Clone)]
enum Step {
    /// Nothing is known from here on.
    Open,
    /// The answer's index.
    Leaf(u32),
    /// The path that is read next.
    Read(u32, Edges),
}

/// Where each value leads.
#[derive(Debug, Clone)]
enum Edges {
    Few(Vec<(Key, u32)>),
    Many(HashMap<Key, u32, foldhash::fast::RandomState>),
}

/// One way through a trie.
pub(super) type Trace = Vec<(u32, Key)>;

/// The same values led to another read or another answer than before: the policy is no function of its reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conflict;

// === impl Trie ===

impl<A: Clone + PartialEq> Trie<A> {
    /// The index of the answer at the end of the way that `read` leads; none if the way is new.
    #[inline]
    pub(super) fn walk(&self, read: impl Fn(u32) -> Key) -> Option<u32> {
        let mut at = 0;
        loop {
            match self.steps.get(at as usize)? {
                Step::Read(path, edges) => at = edges.get(read(*path))?,
                Step::Leaf(answer) => return Some(*answer),
                Step::Open => return None,
            }
        }
    }

    /// Adds a way with its answer, whose index it returns.
    pub(super) fn insert(&mut self, trace: &[(u32, Key)], answer: A) -> Result<u32, Conflict> {
        if self.steps.is_empty() {
            self.steps.push(Step::Open);
        }
        let mut at = 0;
        for (path, key) in trace {
            at = self.follow(at, *path, *key)?;
        }
        match self.steps[at as usize] {
            Step::Open => {
                let answer = self.push_answer(answer);
                self.steps[at as usize] = Step::Leaf(answer);
                Ok(answer)
            }
            Step::Leaf(known) if self.answers[known as usize] == answer => Ok(known),
            Step::Leaf(_) | Step::Read(..) => Err(Conflict),
        }
    }

    fn follow(&mut self, at: u32, path: u32, key: Key) -> Result<u32, Conflict> {
        let new = self.steps.len() as u32;
        let step = &mut self.steps[at as usize];
        if let Step::Open = step {
            *step = Step::Read(path, Edges::Few(Vec::new()));
        }
        match step {
            Step::Read(own, edges) if *own == path => {
                if let Some(next) = edges.get(key) {
                    return Ok(next);
                }
                edges.insert(key, new);
                self.steps.push(Step::Open);
                Ok(new)
            }
            _ => Err(Conflict),
        }
    }

    /// Keeps an answer that no way leads to.
    pub(super) fn push_answer(&mut self, answer: A) -> u32 {
        let from = self.answers.len().saturating_sub(LAST_ANSWERS);
        if let Some(at) = self.answers[from..].iter().position(|known| *known == answer) {
            return (from + at) as u32;
        }
        self.answers.push(answer);
        self.answers.len() as u32 - 1
    }

    pub(super) fn answers(&self) -> &[A] {
        &self.answers
    }

    /// Answers that no way leads to.
    pub(super) fn of_answers(answers: Vec<A>) -> Self {
        Self { steps: Vec::new(), answers }
    }

    /// What the whole comes to, from the answers up; none if there is no answer.
    pub(super) fn fold<T>(&self, answer: &impl Fn(&A) -> T, read: &impl Fn(u32, Vec<(Key, T)>) -> T) -> Option<T> {
        self.fold_from(0, answer, read)
    }

    fn fold_from<T>(&self, at: u32, answer: &impl Fn(&A) -> T, read: &impl Fn(u32, Vec<(Key, T)>) -> T) -> Option<T> {
        match self.steps.get(at as usize)? {
            Step::Open => None,
            Step::Leaf(own) => Some(answer(&self.answers[*own as usize])),
            Step::Read(path, edges) => {
                let mut branches = Vec::with_capacity(edges.len());
                // A way has at most some twenty steps.
                edges.for_each(|key, next| branches.extend(self.fold_from(next, answer, read).map(|tree| (key, tree))));
                Some(read(*path, branches))
            }
        }
    }

    /// Every way with its answer.
    pub(super) fn traces(&self) -> Vec<(Trace, &A)> {
        let mut traces = Vec::new();
        let mut open: Vec<(u32, Trace)> = if self.steps.is_empty() { vec![] } else { vec![(0, vec![])] };
        while let Some((at, trace)) = open.pop() {
            match &self.steps[at as usize] {
                Step::Open => {}
                Step::Leaf(answer) => traces.push((trace, &self.answers[*answer as usize])),
                Step::Read(path, edges) => edges.for_each(|key, next| {
                    let mut longer = trace.clone();
                    longer.push((*path, key));
                    open.push((next, longer));
                }),
            }
        }
        traces
    }

    /// The paths of reads that lead to more than so many values.
    pub(super) fn wide_paths(&self, edges: usize) -> HashSet<u32> {
        let wide = |step: &Step| match step {
            Step::Read(path, own) if own.len() > edges => Some(*path),
            _ => None,
        };
        self.steps.iter().filter_map(wide).collect()
    }

    /// The ways whose every value is to be kept.
    pub(super) fn retained(&self, keep: impl Fn(u32, Key) -> bool) -> Self {
        let mut kept = Self::default();
        for (trace, answer) in self.traces() {
            if trace.iter().all(|(path, key)| keep(*path, *key)) {
                // The ways of a trie do not contradict each other.
                let _ = kept.insert(&trace, answer.clone());
            }
        }
        kept
    }

    /// Bytes that it holds, but for what each answer holds.
    pub(super) fn bytes(&self) -> usize {
        let edges = |step: &Step| if let Step::Read(_, edges) = step { edges.bytes() } else { 0 };
        self.steps.capacity() * size_of::<Step>()
            + self.steps.iter().map(edges).sum::<usize>()
            + self.answers.capacity() * size_of::<A>()
    }
}

impl<A> Default for Trie<A> {
    fn default() -> Self {
        Self { steps: Vec::new(), answers: Vec::new() }
    }
}

// === impl Edges ===

impl Edges {
    #[inline]
    fn get(&self, key: Key) -> Option<u32> {
        match self {
            Self::Few(edges) => edges.iter().find(|(own, _)| *own == key).map(|(_, next)| *next),
            Self::Many(edges) => edges.get(&key).copied(),
        }
    }

    fn insert(&mut self, key: Key, next: u32) {
        match self {
            Self::Few(edges) if edges.len() < FEW => edges.push((key, next)),
            Self::Few(edges) => {
                *self = Self::Many(edges.drain(..).chain([(key, next)]).collect());
            }
            Self::Many(edges) => {
                edges.insert(key, next);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Few(edges) => edges.len(),
            Self::Many(edges) => edges.len(),
        }
    }

    fn for_each(&self, mut each: impl FnMut(Key, u32)) {
        match self {
            Self::Few(edges) => edges.iter().for_each(|(key, next)| each(*key, *next)),
            Self::Many(edges) => edges.iter().for_each(|(key, next)| each(*key, *next)),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Few(edges) => edges.capacity() * size_of::<(Key, u32)>(),
            Self::Many(edges) => edges.allocation_size(),
        }
    }
}
