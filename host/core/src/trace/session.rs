//! One call: nodes are answered by walking as far as that goes, and the guest is asked about the rest.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    answers::{Answers, Remember},
    class::{Class, MISS, Walk, key},
    column::Column,
    key::Key,
    kinds::{KindColumn, Kinds},
    path::Path,
    recording::Recording,
    remembered::{Lesson, Remembered},
    trie::Trie,
};
use crate::{Turns, View, answer::Answer};

/// Answers about nodes, as far as they are known without asking.
pub(crate) struct Walked<A> {
    class: Option<Arc<Class<A>>>,
    walk: Walk,
    /// By which the nodes that are left are most likely told apart.
    kinds: Option<Arc<Kinds>>,
    /// Whether what the guest says is remembered.
    is_remembered: bool,
}

/// A call that asks about what is left.
pub(crate) struct Session<A> {
    view: Arc<View>,
    recording: Arc<Mutex<Recording>>,
    class: Option<Arc<Class<A>>>,
    which: Vec<u32>,
    /// The nodes that are still to be looked at.
    misses: Vec<u32>,
    /// The node that the guest is asked about.
    current: u32,
    learned: Learned<A>,
    breach: Option<String>,
    evaluated: usize,
}

/// What the guest has said in this call.
struct Learned<A> {
    trie: Trie<A>,
    /// Those of the recording, each with its column.
    paths: Vec<Path>,
    columns: Vec<Arc<Column>>,
    guess: Option<Guess>,
    conflict: bool,
    /// Whether answers cannot be told from what was read.
    is_blind: bool,
}

/// That the guest reads nothing but what these kinds are told apart by.
struct Guess {
    kinds: Arc<Kinds>,
    column: Arc<KindColumn>,
    /// By kind the number of the answer.
    answers: Vec<u32>,
}

// === impl Walked ===

impl<A: Remember> Walked<A> {
    /// Walks what is remembered for some of a view's nodes.
    pub(crate) fn of(remembered: &Remembered<A>, view: &View, nodes: &[u32]) -> Self {
        let class = if remembered.off().is_some() { None } else { remembered.class(view) };
        let asked_each_time = class.as_ref().is_some_and(|class| class.each_time);
        let walk = match &class {
            Some(class) if !asked_each_time => {
                let slots = view.slots();
                if nodes.len() == slots.len() {
                    class.walk(&remembered.kinds, view, slots.iter().copied())
                } else {
                    class.walk(&remembered.kinds, view, nodes.iter().map(|node| slots[*node as usize]))
                }
            }
            _ => Walk::blank(nodes.len()),
        };
        let is_remembered = remembered.off().is_none() && !asked_each_time;
        let kinds = if walk.misses.is_empty() || !is_remembered {
            None
        } else {
            class.as_ref().and_then(|class| class.kinds()).or_else(|| remembered.kinds.latest())
        };
        Self { class, walk, kinds, is_remembered }
    }

    /// Whether what the guest says is remembered; otherwise it is asked each time.
    pub(crate) fn is_remembered(&self) -> bool {
        self.is_remembered
    }

    /// Whether no node is left to ask about.
    pub(crate) fn is_complete(&self) -> bool {
        self.walk.misses.is_empty()
    }

    /// The answers; a node that the walk did not reach has none.
    pub(crate) fn into_answers(self) -> Answers<A> {
        Answers { class: self.class, new: Arc::default(), which: self.walk.which }
    }
}

// === impl Session ===

impl<A: Remember + Answer> Session<A> {
    /// Asks about what is left of the nodes of a view, which are those that were walked.
    pub(crate) fn new(walked: Walked<A>, view: View) -> Self {
        let Walked { class, walk: Walk { which, misses }, kinds, .. } = walked;
        let recording = Arc::default();
        let view = Arc::new(view.recorded(Arc::clone(&recording)));
        let guess = kinds.and_then(|kinds| {
            let column = kinds.likely_column(&view)?;
            Some(Guess { answers: vec![MISS; column.kinds], kinds, column })
        });
        let learned = Learned {
            trie: Trie::default(),
            paths: Vec::new(),
            columns: Vec::new(),
            guess,
            conflict: false,
            is_blind: false,
        };
        Self { view, recording, class, which, misses, current: 0, learned, breach: None, evaluated: 0 }
    }

    pub(crate) fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Why the last answer breaks the contract, if it does.
    pub(crate) fn breach(&mut self) -> Option<String> {
        self.breach.take()
    }

    /// How many nodes have an answer.
    pub(crate) fn answered(&self) -> usize {
        self.which.iter().filter(|answer| **answer != MISS).count()
    }

    /// How many nodes the guest itself has answered.
    pub(crate) fn evaluated(&self) -> usize {
        self.evaluated
    }

    /// The answers, and what they teach; a node that was not answered has none.
    pub(crate) fn finish(self) -> (Answers<A>, Option<Lesson<A>>) {
        let new = Arc::new(self.learned.trie);
        let lesson = (self.evaluated > 0).then(|| {
            let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
            Lesson {
                view: self.view,
                request: recording.request().to_vec(),
                paths: recording.paths().to_vec(),
                trie: Arc::clone(&new),
                each_time: recording.is_whole(),
                conflict: self.learned.conflict,
            }
        });
        (Answers { class: self.class, new, which: self.which }, lesson)
    }

    /// Keeps an answer by what was read for it, where that is known.
    fn learn(&mut self, answer: A) -> u32 {
        let mut recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(steps) = recording.finish().map(<[u32]>::to_vec) else {
            self.learned.is_blind = true;
            return self.learned.trie.push_answer(answer);
        };
        self.learned.read_more(recording.paths(), &self.view);
        self.learned.keep(&steps, &self.view, self.current, answer)
    }

    /// The number of an answer of this call among all.
    fn number(&self, own: u32) -> u32 {
        self.class.as_ref().map_or(0, |class| class.answers().len() as u32) + own
    }
}

impl<A: Remember + Answer> Turns<A> for Session<A> {
    fn next(&mut self) -> Option<u32> {
        while self.breach.is_none() {
            // From the last on: who reads the first node as one of others is told from who reads its own.
            let node = self.misses.pop()?;
            if let Some(own) = self.learned.recall(&self.view, node) {
                self.which[node as usize] = self.number(own);
                continue;
            }
            self.current = node;
            self.recording.lock().unwrap_or_else(PoisonError::into_inner).begin(node);
            return Some(node);
        }
        None
    }

    fn answer(&mut self, answer: A) {
        self.evaluated += 1;
        self.breach = answer.breach();
        if self.breach.is_none() {
            let own = self.learn(answer);
            self.which[self.current as usize] = self.number(own);
        }
    }
}

// === impl Learned ===

impl<A: Remember> Learned<A> {
    /// The answer about a node by what was learned in this call.
    fn recall(&mut self, view: &View, node: u32) -> Option<u32> {
        if self.is_blind {
            return None;
        }
        let slot = view.slots()[node as usize];
        let cell = self.guess.as_mut().map(|guess| &mut guess.answers[guess.column.by_slot[slot as usize] as usize]);
        if let Some(own) = cell.as_ref().map(|own| **own).filter(|own| *own != MISS) {
            return Some(own);
        }
        let (columns, paths) = (&self.columns, &self.paths);
        let own = self.trie.walk(|path| key(&columns[path as usize], &paths[path as usize], view, node, slot))?;
        if let Some(cell) = cell {
            *cell = own;
        }
        Some(own)
    }

    /// Takes in what the guest has come to read.
    fn read_more(&mut self, paths: &[Path], view: &View) {
        for path in &paths[self.paths.len()..] {
            if self.guess.as_ref().is_some_and(|guess| guess.kinds.position(path).is_none()) {
                self.guess = None;
            }
            self.columns.push(view.column(path));
            self.paths.push(path.clone());
        }
    }

    fn keep(&mut self, steps: &[u32], view: &View, node: u32, answer: A) -> u32 {
        let slot = view.slots()[node as usize];
        let read = |step: u32| key(&self.columns[step as usize], &self.paths[step as usize], view, node, slot);
        let trace: Vec<(u32, Key)> = steps.iter().map(|step| (*step, read(*step))).collect();
        let Ok(own) = self.trie.insert(&trace, answer.clone()) else {
            (self.conflict, self.is_blind) = (true, true);
            return self.trie.push_answer(answer);
        };
        if let Some(guess) = &mut self.guess {
            guess.answers[guess.column.by_slot[slot as usize] as usize] = own;
        }
        own
    }
}
