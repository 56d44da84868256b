//! One call: nodes are answered by walking as far as that goes, and the guest is asked about the rest.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    answers::{Answers, Remember},
    column::Column,
    key::Key,
    path::Path,
    recording::Recording,
    remembered::{Class, Lesson, Remembered},
    trie::{Conflict, Trie},
};
use crate::{Turns, View, answer::Answer};

/// The number of no answer.
const MISS: u32 = u32::MAX;

/// Answers about the nodes of a view, as far as they are known.
pub(crate) struct Session<A> {
    view: Arc<View>,
    /// None where nothing is remembered.
    recording: Option<Arc<Mutex<Recording>>>,
    class: Option<Arc<Class<A>>>,
    which: Vec<u32>,
    /// The nodes that are still to be looked at.
    misses: Vec<u32>,
    /// The node that the guest is asked about.
    current: u32,
    /// What the guest has said in this call; its paths are those of the recording, as are the columns.
    learned: Trie<A>,
    columns: Vec<Arc<Column>>,
    conflict: bool,
    breach: Option<String>,
    evaluated: usize,
}

// === impl Session ===

impl<A: Remember + Answer> Session<A> {
    /// Walks what is remembered.
    pub(crate) fn walk(remembered: &Remembered<A>, view: View) -> Self {
        let class = if remembered.off().is_some() { None } else { remembered.class(&view) };
        let asked_each_time = class.as_ref().is_some_and(|class| class.each_time);
        let records = remembered.off().is_none() && !asked_each_time;
        let recording = records.then(Arc::default);
        let view = Arc::new(match &recording {
            Some(recording) => view.recorded(Arc::clone(recording)),
            None => view,
        });
        let (which, misses) = match &class {
            Some(class) if !asked_each_time => class.walk(&view),
            _ => (vec![MISS; view.node_count()], (0..view.node_count() as u32).collect()),
        };
        Self {
            view,
            recording,
            class,
            which,
            misses,
            current: 0,
            learned: Trie::default(),
            columns: Vec::new(),
            conflict: false,
            breach: None,
            evaluated: 0,
        }
    }

    /// Whether no node is left to ask about.
    pub(crate) fn is_complete(&self) -> bool {
        self.misses.is_empty()
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
        let lesson = self.recording.filter(|_| self.evaluated > 0).map(|recording| {
            let recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            Lesson {
                view: self.view,
                request: recording.request().to_vec(),
                paths: recording.paths().to_vec(),
                trie: self.learned.clone(),
                each_time: recording.is_whole(),
                conflict: self.conflict,
            }
        });
        let new = self.learned.into_answers();
        (Answers { class: self.class, new, which: self.which }, lesson)
    }

    /// The answer about a node by what was learned in this call.
    fn recall(&self, node: u32) -> Option<u32> {
        let recording = self.recording.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        if recording.is_whole() || self.conflict {
            return None;
        }
        let slot = self.view.slots()[node as usize];
        self.learned
            .walk(|path| key(&self.columns[path as usize], &recording.paths()[path as usize], &self.view, node, slot))
    }

    /// Keeps an answer by what was read for it, where that is known.
    fn learn(&mut self, answer: A) -> u32 {
        let Some(recording) = &self.recording else { return self.learned.push_answer(answer) };
        let mut recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(steps) = recording.finish().map(<[u32]>::to_vec) else { return self.learned.push_answer(answer) };
        for path in &recording.paths()[self.columns.len()..] {
            self.columns.push(self.view.column(path));
        }
        let (node, slot) = (self.current, self.view.slots()[self.current as usize]);
        let read =
            |step: u32| key(&self.columns[step as usize], &recording.paths()[step as usize], &self.view, node, slot);
        let trace: Vec<(u32, Key)> = steps.into_iter().map(|step| (step, read(step))).collect();
        self.learned.insert(&trace, answer.clone()).unwrap_or_else(|Conflict| {
            self.conflict = true;
            self.learned.push_answer(answer)
        })
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
            if let Some(own) = self.recall(node) {
                self.which[node as usize] = self.number(own);
                continue;
            }
            self.current = node;
            if let Some(recording) = &self.recording {
                recording.lock().unwrap_or_else(PoisonError::into_inner).begin(node);
            }
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

impl<A: Remember> Class<A> {
    /// By node of the view the number of its answer, and the nodes that have none.
    fn walk(&self, view: &View) -> (Vec<u32>, Vec<u32>) {
        let columns: Vec<Arc<Column>> = self.paths.iter().map(|path| view.column(path)).collect();
        let (mut which, mut misses) = (Vec::with_capacity(view.node_count()), Vec::new());
        for (node, slot) in view.slots().iter().enumerate() {
            let node = node as u32;
            let read = |path: u32| key(&columns[path as usize], &self.paths[path as usize], view, node, *slot);
            which.push(self.trie.walk(read).unwrap_or_else(|| {
                misses.push(node);
                MISS
            }));
        }
        (which, misses)
    }
}

#[inline]
fn key(column: &Column, path: &Path, view: &View, node: u32, slot: u32) -> Key {
    column.peek(slot).unwrap_or_else(|| column.fill(path, view, node, slot))
}
