//! The order of the compiles that wait for one class: by priority, then first come, first served.

use std::cmp::Reverse;

use crate::compile::priority::{Priority, SharedPriority};

/// Urgent compiles that may begin one after another while a normal one waits; then that one is next. Policies in force
/// whose files change all the time would otherwise keep new ones out for good.
const MAX_PASSES: u32 = 4;

/// The compiles that wait.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// In the order of their arrival.
    waiting: Vec<(Turn, SharedPriority)>,
    next: u64,
    /// Urgent ones that have begun since a normal one last began or none waited.
    passes: u32,
}

/// The place of one that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn(u64);

// === impl Turns ===

impl Turns {
    /// Adds one.
    pub(super) fn join(&mut self, priority: &SharedPriority) -> Turn {
        let turn = Turn(self.next);
        self.next += 1;
        self.waiting.push((turn, priority.clone()));
        turn
    }

    /// The one that is next.
    pub(super) fn first(&self) -> Option<Turn> {
        let passed = self.first_normal().filter(|_| self.passes == MAX_PASSES);
        let rank = |(turn, priority): &&(Turn, SharedPriority)| (Reverse(priority.get()), *turn);
        passed.or_else(|| self.waiting.iter().min_by_key(rank).map(|(turn, _)| *turn))
    }

    /// Removes the one that begins.
    pub(super) fn begin(&mut self, turn: Turn) {
        let is_urgent = self.waiting.iter().any(|(at, priority)| *at == turn && priority.get() == Priority::Urgent);
        self.leave(turn);
        let passes = is_urgent && self.first_normal().is_some();
        self.passes = if passes { self.passes + 1 } else { 0 };
    }

    /// Removes one that may have begun, or gives up.
    pub(super) fn leave(&mut self, turn: Turn) {
        self.waiting.retain(|(at, _)| *at != turn);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn first_normal(&self) -> Option<Turn> {
        self.waiting.iter().find(|(_, priority)| priority.get() == Priority::Normal).map(|(turn, _)| *turn)
    }
}

#[cfg(test)]
mod tests {
    use super::Priority::{Background, Normal, Urgent};
    use super::*;

    fn join_all(turns: &mut Turns, all: impl IntoIterator<Item = Priority>) -> Vec<SharedPriority> {
        let join = |priority| {
            let shared = SharedPriority::new(priority);
            turns.join(&shared);
            shared
        };
        all.into_iter().map(join).collect()
    }

    /// Begins all that wait, and returns their numbers in that order.
    fn order(turns: &mut Turns) -> Vec<u64> {
        std::iter::from_fn(|| {
            let first = turns.first()?;
            turns.begin(first);
            Some(first.0)
        })
        .collect()
    }

    #[test]
    fn urgent_ones_go_first_and_pre_initialisation_last_each_in_the_order_of_their_arrival() {
        let mut turns = Turns::default();
        join_all(&mut turns, [Background, Normal, Urgent, Background, Normal, Urgent]);
        assert_eq!(order(&mut turns), [2, 5, 1, 4, 0, 3]);
    }

    #[test]
    fn a_normal_one_waits_for_four_urgent_ones_in_a_row_at_most() {
        let mut turns = Turns::default();
        join_all(&mut turns, [Background, Normal, Normal].into_iter().chain([Urgent; 12]));
        assert_eq!(order(&mut turns), [3, 4, 5, 6, 1, 7, 8, 9, 10, 2, 11, 12, 13, 14, 0]);
        // Those that nobody waited behind do not count.
        join_all(&mut turns, [Urgent; 4]);
        order(&mut turns);
        join_all(&mut turns, [Normal, Urgent]);
        assert_eq!(order(&mut turns), [20, 19]);
    }

    #[test]
    fn one_that_a_more_urgent_load_comes_to_wait_for_is_as_urgent() {
        let mut turns = Turns::default();
        let all = join_all(&mut turns, [Normal, Normal, Background]);
        all[1].raise(Urgent);
        all[2].raise(Background);
        all[1].raise(Normal);
        assert_eq!(order(&mut turns), [1, 0, 2]);
    }
}
