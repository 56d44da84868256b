//! Work that may take long, on a thread that others wait for.

/// The way to run such work. Only the caller of a decision knows its thread and its runtime; core does not.
#[derive(Debug, Clone, Copy)]
pub struct Blocking(fn(&mut dyn FnMut()));

// === impl Blocking ===

impl Blocking {
    /// By a function that runs the work once, while another thread takes over the work that this one does for others.
    pub const fn new(run: fn(work: &mut dyn FnMut())) -> Self {
        Self(run)
    }

    /// Runs work that may take long.
    pub(crate) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        let (mut work, mut done) = (Some(work), None);
        (self.0)(&mut || done = work.take().map(|work| work()));
        // It cannot be: the function runs the work that it is given, and a panic in there goes on to here.
        done.unwrap_or_else(|| unreachable!("work that may take long was not run"))
    }
}

impl Default for Blocking {
    /// On the thread as it is: nobody waits for it.
    fn default() -> Self {
        Self(|work| work())
    }
}
