//! Threads that others wait for: what may take long makes room for them first.
//!
//! Whether a thread may be held up is a property of the thread, so it is kept there: no decision knows where it runs.

use std::cell::Cell;

/// Runs the work that it is given, once, while somebody else takes over what the thread does for others.
pub type Aside = fn(work: &mut dyn FnMut());

thread_local! {
    static ASIDE: Cell<Option<Aside>> = const { Cell::new(None) };
}

/// Puts back what was there before.
struct Before(Option<Aside>);

impl Drop for Before {
    fn drop(&mut self) {
        ASIDE.set(self.0);
    }
}

/// Decides on a thread that others wait for: whatever of it may take long is put aside.
pub fn on_shared_thread<T>(aside: Aside, decide: impl FnOnce() -> T) -> T {
    let _before = Before(ASIDE.replace(Some(aside)));
    decide()
}

/// Does what may take long.
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    let Some(aside) = ASIDE.take() else { return work() };
    // What is done within is aside already.
    let _before = Before(Some(aside));
    let (mut work, mut done) = (Some(work), None);
    aside(&mut || done = work.take().map(|work| work()));
    // It cannot be: an `Aside` runs what it is given, and a panic in there goes on to here.
    done.unwrap_or_else(|| unreachable!("work that was put aside was not done"))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    thread_local! {
        static ASIDES: Cell<u32> = const { Cell::new(0) };
    }

    fn counted(work: &mut dyn FnMut()) {
        ASIDES.set(ASIDES.get() + 1);
        work();
    }

    /// How often something is put aside.
    fn asides(work: impl FnOnce()) -> u32 {
        ASIDES.set(0);
        work();
        ASIDES.get()
    }

    #[test]
    fn what_may_take_long_is_put_aside_on_a_shared_thread_and_there_alone() {
        let twice = || assert_eq!((aside(|| 1), aside(|| aside(|| 2))), (1, 2));
        assert_eq!(asides(twice), 0);
        assert_eq!(asides(|| on_shared_thread(counted, twice)), 2);
        assert_eq!(asides(twice), 0);
    }

    #[test]
    fn a_panic_leaves_the_thread_as_it_was() {
        let panics = || on_shared_thread(counted, || aside(|| panic!("as it should")));
        assert_eq!(asides(|| assert!(catch_unwind(panics).is_err())), 1);
        assert_eq!(asides(|| aside(|| ())), 0);
        let caught = || drop(catch_unwind(|| aside(|| panic!("as it should"))));
        assert_eq!(asides(|| on_shared_thread(counted, || [caught(), caught()].into_iter().for_each(drop))), 2);
    }
}
