//! Tells settled changes of a file from those that are still being written.

use std::mem;

/// Two reads in a row must give the same state before it is judged, so that a file that is being written is not. Each
/// state is judged once.
#[derive(Debug)]
pub struct Debouncer<T> {
    last: T,
    judged: T,
}

// === impl Debouncer ===

impl<T: Clone + PartialEq> Debouncer<T> {
    /// Begins with a state that was judged.
    pub fn new(judged: T) -> Self {
        Self { last: judged.clone(), judged }
    }

    /// Adds the state of one read, and returns it if it has settled and must be judged. If `again` is set, it must be
    /// even if it is the one that was judged last.
    pub fn add(&mut self, state: T, again: bool) -> Option<&T> {
        let before = mem::replace(&mut self.last, state);
        if before != self.last || self.last == self.judged && !again {
            return None;
        }
        self.judged.clone_from(&self.last);
        Some(&self.judged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_judged_once_when_it_has_settled() {
        let mut debouncer = Debouncer::new(Ok("a"));
        let story = [
            (Ok("a"), false),
            (Ok("b"), false),
            (Ok("c"), false),
            (Ok("c"), true),
            (Ok("c"), false),
            (Err("gone"), false),
            (Ok("c"), false),
            (Ok("c"), false),
            (Err("gone"), false),
            (Err("gone"), true),
            (Err("gone"), false),
            (Ok("c"), false),
            (Ok("c"), true),
        ];
        for (at, (state, is_judged)) in story.into_iter().enumerate() {
            assert_eq!(debouncer.add(state, false).is_some(), is_judged, "read {at}");
        }
        assert_eq!(debouncer.add(Ok("c"), true), Some(&Ok("c")), "again");
        assert_eq!(debouncer.add(Ok("d"), true), None, "not settled");
    }
}
